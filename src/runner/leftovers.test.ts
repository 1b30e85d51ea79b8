import assert from 'node:assert/strict'
import { it } from 'node:test'
import { until } from '../../test/fakes/fake-workers.ts'
import { leastPipes, serviceOfPipes, withField } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { Log } from '../lib/log.ts'
import { openSecrets } from '../pipes/store.ts'
import type { Leftover } from '../progress/leftovers/store.ts'
import { type LeftoversParts, makeLeftoverTask } from './leftovers.ts'

interface LeftoverRow {
  pipe_id: string
  source: string
  secrets: string
  next_try_at: string
  since: string
  tries: number
  last_reason: string | null
}

onBothDatabases('what deleted pipes leave at their sources', (app) => {
  const rowsOf = (pipeId: string) =>
    app().query<LeftoverRow>(`SELECT * FROM source_leftovers WHERE pipe_id = '${pipeId}'`)

  /** Returns the id of a pipe that has run and was deleted. */
  async function deleteOne({ body = leastPipes.postgres, epoch = 1, lease = '' } = {}): Promise<string> {
    const service = await serviceOfPipes(app())
    const { id } = await service.create(body)
    await app().query(`UPDATE pipes SET epoch = ${epoch} WHERE id = '${id}'`)
    if (lease !== '') {
      await app().query(
        `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at) VALUES ('${id}', 0, 1, 'r', 1, '${lease}')`,
      )
    }
    assert.equal((await service.send('DELETE', `/${id}`)).status, 200)
    return id
  }

  function makePeriodicTask(
    remove: LeftoversParts['remove'],
    times: LeftoversParts['times'] = {},
    database: LeftoversParts['database'] = app().app.database,
  ) {
    const logged: Record<string, string>[] = []
    const write = (line: string) => void logged.push(JSON.parse(line))
    const task = makeLeftoverTask({
      database,
      remove,
      remedyFor: async () => 'run: DROP PUBLICATION p',
      log: new Log('info', { write } as unknown as NodeJS.WritableStream),
      times: { lookEveryMs: 1, ...times },
    })
    return { task, logged }
  }

  /** Calls `consider` repeatedly, as a runner does. */
  async function workUntil(
    task: ReturnType<typeof makePeriodicTask>['task'],
    isDone: () => Promise<boolean>,
  ): Promise<void> {
    await until(async () => {
      task.consider({ isFirst: true })
      return isDone()
    }, 'it is done')
    await task.close()
  }

  it('are stored with the secrets, which can still be decrypted', async () => {
    const id = await deleteOne()
    const [row, ...more] = await rowsOf(id)
    assert.deepEqual(more, [])
    assert.deepEqual(JSON.parse(row!.source), {
      kind: 'postgres',
      host: 'db.northwind.example',
      port: 5432,
      database: 'shop',
      hasSlot: true,
      hasPublication: true,
    })
    assert.equal(row!.next_try_at, row!.since)
    assert.doesNotMatch(JSON.stringify(row), /hush/)
    assert.notEqual(row!.secrets, null)
    let seen: Leftover | undefined
    const { task } = makePeriodicTask(async (leftover) => {
      if (leftover.pipeId === id) seen = leftover
      return undefined
    })
    await workUntil(task, async () => (await rowsOf(id)).length === 0)
    const secrets = openSecrets(app().app.vault, { ...seen!, id })
    assert.deepEqual(secrets, { credentials: { username: 'hush-user', password: 'hush-password' } })
  })

  it('do not exist for a pipe that never ran, that loads once, of another kind, or where everything is the user’s own', async () => {
    const settings = (value: object) => withField(leastPipes.postgres, 'source.postgres.settings', value)
    const theirs = { replicationMode: 'cdc_only', replicationSlotName: 'theirs' }
    for (const change of [
      { epoch: 0 },
      { body: leastPipes.kafka },
      { body: settings({ replicationMode: 'snapshot' }) },
      { body: settings({ ...theirs, publicationName: 'theirs' }) },
    ]) {
      assert.deepEqual(await rowsOf(await deleteOne(change)), [])
    }
    const [row] = await rowsOf(await deleteOne({ body: settings(theirs) }))
    const { hasSlot, hasPublication } = JSON.parse(row!.source)
    assert.deepEqual({ hasSlot, hasPublication }, { hasSlot: false, hasPublication: true })
  })

  it('are the consumer of a kinesis pipe with enhanced fan-out', async () => {
    const body = withField(leastPipes.kinesis, 'source.kinesis.useEnhancedFanOut', true)
    const id = await deleteOne({ body })
    const [row] = await rowsOf(id)
    const { kind, streamName, region } = JSON.parse(row!.source)
    const { kinesis } = leastPipes.kinesis.source as { kinesis: { streamName: string; region: string } }
    assert.deepEqual(
      { kind, streamName, region },
      { kind: 'kinesis', streamName: kinesis.streamName, region: kinesis.region },
    )
    assert.deepEqual(await rowsOf(await deleteOne({ body: leastPipes.kinesis })), [])
    await app().query(`DELETE FROM source_leftovers WHERE pipe_id = '${id}'`)
  })

  it('are of PostgreSQL when they were stored without a kind', async () => {
    const id = await deleteOne()
    const source = '{"host":"h","port":1,"database":"d","hasSlot":true,"hasPublication":false}'
    await app().query(`UPDATE source_leftovers SET source = '${source}' WHERE pipe_id = '${id}'`)
    let seen: Leftover | undefined
    const { task } = makePeriodicTask(async (leftover) => {
      if (leftover.pipeId === id) seen = leftover
      return undefined
    })
    await workUntil(task, async () => (await rowsOf(id)).length === 0)
    assert.deepEqual(seen?.source, { kind: 'postgres', ...JSON.parse(source) })
  })

  it('wait for a worker that may not know yet that its pipe was deleted', async () => {
    const [row] = await rowsOf(await deleteOne({ lease: new Date(Date.now() + 10_000).toISOString() }))
    assert.ok(Date.parse(row!.next_try_at) - Date.parse(row!.since) >= 20_000)
  })

  it('are removed and logged once, by one of several tasks', async () => {
    const id = await deleteOne()
    let tries = 0
    const remove = async (leftover: Leftover) => {
      if (leftover.pipeId === id) tries++
      return undefined
    }
    const tasks = [makePeriodicTask(remove), makePeriodicTask(remove), makePeriodicTask(remove)]
    for (const { task } of tasks) task.consider({ isFirst: true })
    await until(async () => (await rowsOf(id)).length === 0, 'it is gone')
    for (const { task } of tasks) await task.close()
    assert.equal(tries, 1)
    const warnings = tasks.flatMap(({ logged }) => logged).filter(({ pipeId }) => pipeId === id)
    assert.deepEqual(
      warnings.map(({ msg }) => msg),
      ['what a deleted pipe had left at its source was removed'],
    )
  })

  it('are not tried by a runner that is not the first', async () => {
    const id = await deleteOne()
    const { task } = makePeriodicTask(async () => assert.fail('it is not the first'))
    task.consider({ isFirst: false })
    await task.close()
    assert.equal((await rowsOf(id))[0]!.tries, 0)
  })

  it('are tried again with increasing delays while the source is unavailable', async () => {
    const id = await deleteOne()
    const times = { firstWaitMs: 60_000, longestWaitMs: 200_000 }
    for (const [tries, waitMs] of [60_000, 120_000, 200_000, 200_000].entries()) {
      const { task } = makePeriodicTask(async () => 'db.northwind.example:5432 cannot be reached', times)
      const before = Date.now()
      await workUntil(task, async () => (await rowsOf(id))[0]!.tries === tries + 1)
      const [row] = await rowsOf(id)
      const waits = Date.parse(row!.next_try_at) - before
      assert.ok(waits >= waitMs && waits < waitMs + 20_000, `${waits} ms after ${tries} tries`)
      assert.equal(row!.last_reason, 'db.northwind.example:5432 cannot be reached')
      await app().query(`UPDATE source_leftovers SET next_try_at = since WHERE pipe_id = '${id}'`)
    }
    await app().query(`DELETE FROM source_leftovers WHERE pipe_id = '${id}'`)
  })

  it('are due when the clock was set back since their next attempt was planned', async () => {
    const [waiting, stuck] = [await deleteOne(), await deleteOne()]
    const plan = async (pipeId: string, inMs: number) => {
      const at = new Date(Date.now() + inMs).toISOString()
      await app().query(`UPDATE source_leftovers SET next_try_at = '${at}' WHERE pipe_id = '${pipeId}'`)
    }
    await plan(waiting, 3_600_000)
    await plan(stuck, 3 * 3_600_000)
    const { task } = makePeriodicTask(async () => undefined)
    await workUntil(task, async () => (await rowsOf(stuck)).length === 0)
    assert.equal((await rowsOf(waiting)).length, 1)
    await app().query(`DELETE FROM source_leftovers WHERE pipe_id = '${waiting}'`)
  })

  it('are given up after 7 days, and the log contains what to run', async () => {
    const id = await deleteOne()
    const since = new Date(Date.now() - 7 * 86_400_000).toISOString()
    await app().query(`UPDATE source_leftovers SET since = '${since}' WHERE pipe_id = '${id}'`)
    const { task, logged } = makePeriodicTask(async () => 'the replication slot is in use')
    await workUntil(task, async () => (await rowsOf(id)).length === 0)
    const warnings = logged.filter(({ pipeId }) => pipeId === id)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!.reason!, /^the replication slot is in use; run: DROP PUBLICATION p$/)
    assert.doesNotMatch(JSON.stringify(logged), /hush/)
  })

  it('are logged before they are deleted from the database', async () => {
    const id = await deleteOne()
    const since = new Date(Date.now() - 7 * 86_400_000).toISOString()
    await app().query(`UPDATE source_leftovers SET since = '${since}' WHERE pipe_id = '${id}'`)
    const { database } = app().app
    const away: LeftoversParts['database'] = {
      reader: database.reader,
      write: (name, ...more) =>
        name === 'forgetLeftover' ? Promise.reject(new Error('away')) : database.write(name, ...more),
    }
    const { task, logged } = makePeriodicTask(async () => 'the replication slot is in use', {}, away)
    await workUntil(task, async () => logged.some(({ pipeId }) => pipeId === id))
    assert.match(logged.find(({ pipeId }) => pipeId === id)!.reason!, /DROP PUBLICATION p$/)
    assert.equal((await rowsOf(id)).length, 1)
    await app().query(`DELETE FROM source_leftovers WHERE pipe_id = '${id}'`)
  })

  it('are due at once when a runner ends during an attempt, and later when it dies', async () => {
    const id = await deleteOne()
    const { task } = makePeriodicTask((leftover, signal) =>
      leftover.pipeId === id
        ? new Promise((resolve) => signal.addEventListener('abort', () => resolve('it was broken off')))
        : Promise.resolve(undefined),
    )
    task.consider({ isFirst: true })
    const leased = await until(async () => {
      const [row] = await rowsOf(id)
      return row!.next_try_at > new Date(Date.now() + 60_000).toISOString() ? row : undefined
    }, 'it is claimed')
    assert.equal(leased.tries, 0)
    await task.close()
    assert.ok((await rowsOf(id))[0]!.next_try_at <= new Date().toISOString())
  })

  it('are counted for Prometheus, per organization', async () => {
    const service = await serviceOfPipes(app())
    const read = async () => {
      const path = `/v1/organizations/${service.organizationId}/prometheus`
      const { text } = await app().request('GET', path, { key: service.admin })
      return text.split('\n').filter((line) => line.startsWith('penstock_source_leftovers'))
    }
    const labels = `penstock_source_leftovers{organization="${service.organizationId}"}`
    assert.deepEqual(await read(), [`${labels} 0`])
    await deleteOne()
    const { id } = await service.create(leastPipes.postgres)
    await app().query(`UPDATE pipes SET epoch = 1 WHERE id = '${id}'`)
    await service.send('DELETE', `/${id}`)
    assert.deepEqual(await read(), [`${labels} 1`])
  })
})
