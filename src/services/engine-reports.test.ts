// Reports on an engine change the state of its service at once.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PaperEngine, startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { connectionFailure, engineFailure } from '../engine/engine-failure.ts'
import { EgressError } from '../lib/egress.ts'
import type { Configuration } from '../runner/configuration.ts'
import { makeReportWork } from '../runner/reporting-sink.ts'

onBothDatabases('reads from engines', (app) => {
  let engine: PaperEngine
  before(async () => {
    engine = await startPaperEngine()
  })
  after(() => engine.close())

  /** A service that was checked, and is not due. */
  async function setUp(state: string, password = engine.password) {
    const { organizationId, admin } = await app().addOrganization()
    const services = `/v1/organizations/${organizationId}/services`
    const { url, username } = engine
    const body = { name: 'x', provider: 'aws', region: 'eu-west-1', endpoint: { url, username, password } }
    const { id } = (await app().request('POST', services, { key: admin, body })).body.result
    const later = new Date(Date.now() + 30_000).toISOString()
    await app().query(
      `UPDATE services SET state = '${state}', engine_version = '26.5', next_check_at = '${later}' WHERE id = '${id}'`,
    )
    // The report is written after the answer.
    const found = async (isFound: (row: { state: string; isDue: boolean }) => boolean) => {
      for (let waits = 0; ; waits++) {
        const [row] = await app().query<{ state: string; next_check_at: string }>(
          `SELECT * FROM services WHERE id = '${id}'`,
        )
        const seen = { state: row!.state, isDue: row!.next_check_at <= new Date().toISOString() }
        if (isFound(seen)) return
        assert.ok(waits < 200, JSON.stringify(seen))
        await sleep(20)
      }
    }
    const read = async () => {
      const destination = { database: 'default', table: 'orders', columns: [] }
      return app().request('POST', `${services}/${id}/pipes/destinationCheck`, { key: admin, body: destination })
    }
    return { read, found }
  }

  it('that are answered make the service run', async () => {
    const { read, found } = await setUp('failed')
    const { status, text } = await read()
    assert.equal(status, 200, text)
    await found(({ state }) => state === 'running')
  })

  it('that are not let in have it checked now', async () => {
    const { read, found } = await setUp('running', 'another password')
    assert.match((await read()).body.error, /refused the user name or the password/)
    await found(({ isDue }) => isDue)
  })

  it('that nobody answers have it checked now', async () => {
    const { read, found } = await setUp('running')
    await engine.stop()
    try {
      assert.equal((await read()).status, 503)
      await found(({ isDue }) => isDue)
    } finally {
      await engine.start()
    }
  })
})

describe('work of pipes on an engine', () => {
  const address = { protocol: 'http', host: 'engine.example', port: 8123 } as const
  const configuration = {
    pipe: { organizationId: 'o', serviceId: 's' },
    endpoint: { url: 'http://engine.example:8123' },
  } as Configuration

  async function reportOf(work: Promise<unknown>): Promise<string[]> {
    const reports: string[] = []
    const reportWork = makeReportWork(configuration, async ({ outcome }) => void reports.push(outcome))
    await reportWork(work).catch(() => undefined)
    return reports
  }
  const failWith = (parts: { code?: number; status?: number; hasRows?: boolean }) =>
    reportOf(Promise.reject(engineFailure(address, { code: 0, status: 500, text: '', hasRows: false, ...parts })))

  it('is reported when it succeeds, and when the engine is away', async () => {
    assert.deepEqual(await reportOf(Promise.resolve()), ['answered'])
    assert.deepEqual(await reportOf(Promise.reject(connectionFailure(address, new EgressError('refused')))), ['failed'])
    assert.deepEqual(await failWith({ code: 202 }), ['failed'])
  })

  it('is reported when the engine does not let its user in', async () => {
    for (const code of [192, 193, 194, 516]) {
      assert.deepEqual(await failWith({ code }), ['failed'])
      assert.deepEqual(await failWith({ code, hasRows: true }), ['failed'])
    }
    for (const status of [401, 403]) assert.deepEqual(await failWith({ status }), ['failed'])
  })

  it('is reported when the engine may not be connected to', async () => {
    const denied = new EgressError('denied', { denial: 'loopback' })
    assert.deepEqual(await reportOf(Promise.reject(connectionFailure(address, denied))), ['failed'])
  })

  it('is not reported when the pipe has an error', async () => {
    assert.deepEqual(await failWith({ code: 60 }), [])
    assert.deepEqual(await failWith({ code: 6, hasRows: true }), [])
  })
})
