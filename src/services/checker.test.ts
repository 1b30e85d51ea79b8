import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkersOn } from '../../test/harness/service-checker.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import type { EngineCheck } from '../engine/check.ts'
import { newId } from '../lib/id.ts'
import { Log } from '../lib/log.ts'
import { stateAfter } from './checker.ts'
import { makeEngineReports } from './engine-reports.ts'
import { passwordContext } from './service.ts'
import type { CheckedState } from './store.ts'

describe('stateAfter', () => {
  const unknown: CheckedState = { state: 'provisioning', stateReason: null, engineVersion: null, failedChecks: 0 }
  const running: CheckedState = { state: 'running', stateReason: null, engineVersion: '1.2', failedChecks: 0 }
  const fail = (failure: Extract<EngineCheck, { failure: unknown }>['failure']): EngineCheck => ({
    failure,
    reason: `because ${failure}`,
  })
  const after = (known: CheckedState, ...checks: EngineCheck[]) => checks.reduce(stateAfter, known)

  it('runs as soon as the engine answers, whatever the previous state was', () => {
    for (const state of ['provisioning', 'running', 'degraded', 'failed', 'stopped'] as const) {
      const known = { state, stateReason: 'x', engineVersion: null, failedChecks: 3 }
      assert.deepEqual(after(known, { version: '2.3' }), { ...running, engineVersion: '2.3' })
    }
  })

  it('has failed at once when it was never reached', () => {
    for (const failure of ['refused', 'timed out', 'unreachable', 'not an engine', 'engine error'] as const) {
      const found = after(unknown, fail(failure))
      assert.equal(found.state, 'failed')
      assert.equal(found.stateReason, `because ${failure}`)
      assert.deepEqual(after(found, fail(failure)), found)
    }
  })

  it('has failed at once when it is not let in or may not be reached', () => {
    for (const failure of ['authentication', 'denied'] as const) {
      assert.equal(after(running, fail(failure)).state, 'failed')
      assert.equal(after(unknown, fail(failure)).state, 'failed')
    }
  })

  it('is degraded twice, then failed, or stopped when nothing accepts connections', () => {
    const late = fail('timed out')
    const refused = fail('refused')
    assert.deepEqual(after(running, late), {
      state: 'degraded',
      stateReason: 'because timed out',
      engineVersion: '1.2',
      failedChecks: 1,
    })
    assert.equal(after(running, late, late).state, 'degraded')
    assert.equal(after(running, late, late, late).state, 'failed')
    assert.equal(after(running, refused, refused).state, 'degraded')
    assert.equal(after(running, refused, refused, refused).state, 'stopped')
    assert.equal(after(running, late, late, refused).state, 'stopped')
    assert.equal(after(running, refused, refused, late).state, 'failed')
    assert.equal(after(running, late, late, late, refused).state, 'stopped')
    assert.equal(after(running, late, { version: '1.2' }, late).failedChecks, 1)
  })

  it('stays the same while the result stays the same', () => {
    const refused = fail('refused')
    const stopped = after(running, refused, refused, refused)
    assert.deepEqual(after(stopped, refused, refused), stopped)
  })
})

onBothDatabases('ServiceChecker', (app) => {
  const { engine, makeChecker, addService, round } = checkersOn(app)

  it('checks services that are due once, and stores the result', async () => {
    const service = await addService()
    const checker = makeChecker()
    const asked = engine().asked
    const started = Date.now()
    await round(checker)
    const found = await service.row()
    assert.equal(found.state, 'running')
    assert.equal(found.state_reason, null)
    assert.equal(found.engine_version, '26.5.1.882')
    assert.equal(found.version, 1)
    // The check began between the two times.
    const lookedAtMs = Date.parse(found.next_check_at) - 30_000
    assert.ok(lookedAtMs >= started && lookedAtMs <= Date.now(), found.next_check_at)
    await round(checker)
    assert.equal(engine().asked, asked + 1)
    await checker.stop()
  })

  it('checks also after the clock was set back', async () => {
    const service = await addService()
    const checker = makeChecker()
    const dueIn = (ms: number) =>
      app().query(
        `UPDATE services SET next_check_at = '${new Date(Date.now() + ms).toISOString()}' WHERE id = '${service.id}'`,
      )
    const asked = engine().asked
    await dueIn(59_000)
    await round(checker)
    assert.equal(engine().asked, asked, 'as far on as the checks of another machine may be')
    await dueIn(3_600_000)
    await round(checker)
    await round(checker)
    assert.equal(engine().asked, asked + 1)
    await checker.stop()
  })

  it('goes from running over degraded to stopped, and back, with reasons', async () => {
    const service = await addService()
    const checker = makeChecker()
    const next = async () => {
      await service.makeDue()
      await round(checker)
      const { state, state_reason, failed_checks, engine_version } = await service.row()
      return [state, state_reason, failed_checks, engine_version]
    }
    assert.deepEqual(await next(), ['running', null, 0, '26.5.1.882'])
    await engine().stop()
    const reason = `nothing accepts connections at 127.0.0.1:${engine().port}`
    assert.deepEqual(await next(), ['degraded', reason, 1, '26.5.1.882'])
    assert.deepEqual(await next(), ['degraded', reason, 2, '26.5.1.882'])
    assert.deepEqual(await next(), ['stopped', reason, 3, '26.5.1.882'])
    assert.deepEqual(await next(), ['stopped', reason, 3, '26.5.1.882'])
    await engine().start()
    assert.deepEqual(await next(), ['running', null, 0, '26.5.1.882'])
    engine().answer = 'error'
    const error = `the engine at 127.0.0.1:${engine().port} has too little memory for this right now (its error 241)`
    for (const [state, failed] of [
      ['degraded', 1],
      ['degraded', 2],
      ['failed', 3],
    ]) {
      assert.deepEqual(await next(), [state, error, failed, '26.5.1.882'])
    }
    engine().answer = 'version'
    assert.deepEqual(await next(), ['running', null, 0, '26.5.1.882'])
    await checker.stop()
  })

  it('checks an engine that does not answer again after seconds, and one that refuses the password after 30 seconds', async () => {
    const delays = async (check: EngineCheck): Promise<number[]> => {
      const service = await addService('opens', 'http://away.example:8123')
      await app().query(`UPDATE services SET engine_version = '1.2', state = 'running' WHERE id = '${service.id}'`)
      const checker = makeChecker(async () => check)
      const found: number[] = []
      for (let count = 0; count < 4; count++) {
        await service.makeDue()
        const beganMs = Date.now()
        await round(checker)
        const { next_check_at } = await service.row()
        const tookMs = Date.now() - beganMs
        const delayMs = Date.parse(next_check_at) - beganMs
        // The delay is counted from a time within the round.
        found.push(
          [1_000, 2_000, 5_000, 30_000].find((usual) => delayMs >= usual && delayMs <= usual + tookMs) ?? delayMs,
        )
      }
      await checker.stop()
      return found
    }
    assert.deepEqual(await delays({ failure: 'refused', reason: 'x' }), [1_000, 2_000, 5_000, 5_000])
    assert.deepEqual(await delays({ failure: 'timed out', reason: 'x' }), [1_000, 2_000, 5_000, 5_000])
    assert.deepEqual(await delays({ failure: 'authentication', reason: 'x' }), [30_000, 30_000, 30_000, 30_000])
    assert.deepEqual(await delays({ version: '1.2' }), [30_000, 30_000, 30_000, 30_000])
  })

  it('follows reports of pipes: a success sets the service to running at once, a failure triggers a check', async () => {
    const service = await addService()
    const checker = makeChecker()
    await round(checker)
    const { database } = app().app
    let written = 0
    const reports = () =>
      makeEngineReports({
        reader: database.reader,
        write: async (report) => {
          written++
          await database.write('reportEngine', report, report.organizationId)
        },
        log: new Log('silent'),
      })
    const { organizationId, id: serviceId } = service
    const afterReport = async (outcome: 'answered' | 'failed', url = engine().url, report = reports()) => {
      const before = written
      // What was written around Penstock in this turn is seen in the next.
      await sleep(1)
      await Promise.all(Array.from({ length: 50 }, () => report({ organizationId, serviceId, url, outcome })))
      const { state, state_reason, next_check_at } = await service.row()
      return { state, state_reason, isDue: next_check_at <= new Date().toISOString(), writes: written - before }
    }
    const runs = { state: 'running', state_reason: null, isDue: false }
    assert.deepEqual(await afterReport('answered'), { ...runs, writes: 0 })
    assert.deepEqual(await afterReport('failed', 'http://other.example:8123'), { ...runs, writes: 0 })
    assert.deepEqual(await afterReport('failed'), { ...runs, isDue: true, writes: 1 })
    await engine().stop()
    for (let count = 0; count < 3; count++) {
      await service.makeDue()
      await round(checker)
    }
    const { state } = await service.row()
    assert.equal(state, 'stopped')
    assert.equal((await afterReport('failed')).writes, 0)
    await engine().start()
    assert.equal((await afterReport('answered', 'http://other.example:8123')).state, 'stopped')
    assert.deepEqual(await afterReport('answered'), { ...runs, writes: 1 })
    await checker.stop()
  })

  it('has failed when the password is wrong, or was sealed for another service', async () => {
    const wrong = await addService('does-not-open')
    const swapped = await addService()
    const sealedElsewhere = app().app.vault.seal('opens', passwordContext({ id: newId(), organizationId: newId() }))
    await app().query(`UPDATE services SET endpoint_password = '${sealedElsewhere}' WHERE id = '${swapped.id}'`)
    const checker = makeChecker()
    await round(checker)
    assert.equal((await wrong.row()).state, 'failed')
    assert.match((await wrong.row()).state_reason!, /refused the user name or the password$/)
    assert.equal((await swapped.row()).state, 'failed')
    assert.equal(
      (await swapped.row()).state_reason,
      'the stored password cannot be opened; set endpoint.password again',
    )
    await checker.stop()
  })

  it('discards the result when the service was changed during the check', async () => {
    const service = await addService()
    const checker = makeChecker(async () => {
      await app().query(`UPDATE services SET version = version + 1 WHERE id = '${service.id}'`)
      return { version: '1.2.3' }
    })
    await round(checker)
    assert.equal((await service.row()).state, 'provisioning')
    await checker.stop()
  })

  it('discards the result when a pipe reported the engine during the check', async () => {
    const service = await addService()
    const { id: serviceId, organizationId } = service
    for (const [state, failedChecks] of [
      ['stopped', 3],
      ['failed', 3],
      ['degraded', 2],
    ] as const) {
      await app().query(
        `UPDATE services SET state = '${state}', failed_checks = ${failedChecks}, engine_version = '1', next_check_at = ''
         WHERE id = '${serviceId}'`,
      )
      const checker = makeChecker(async () => {
        const report = {
          organizationId,
          serviceId,
          url: engine().url,
          outcome: 'answered',
          now: new Date().toISOString(),
        } as const
        await app().app.database.write('reportEngine', report, organizationId)
        return { failure: 'refused', reason: 'nothing accepts connections' }
      })
      await round(checker)
      const { state: kept, failed_checks, state_reason } = await service.row()
      assert.deepEqual([kept, failed_checks, state_reason], ['running', 0, null], state)
    }
  })

  it('leaves services without an endpoint alone', async () => {
    const { serviceId } = await app().addOrganization()
    const checker = makeChecker(async () => assert.fail('nothing is to be checked'))
    await round(checker)
    const [row] = await app().query<{ state: string }>(`SELECT state FROM services WHERE id = '${serviceId}'`)
    assert.equal(row!.state, 'provisioning')
    await checker.stop()
  })

  it('stops at once, also while an engine is silent', async () => {
    const service = await addService()
    engine().answer = 'nothing'
    const checker = makeChecker()
    await sleep(1)
    const asked = engine().asked
    checker.poke()
    while (engine().asked === asked) await sleep(2)
    const started = Date.now()
    await checker.stop()
    // The timeout of the engine is 20 seconds.
    assert.ok(Date.now() - started < 10_000)
    assert.equal((await service.row()).state, 'provisioning')
    engine().answer = 'version'
    checker.poke()
    await checker.settled()
    assert.equal(engine().asked, asked + 1)
  })
})
