import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../test/fakes/fake-workers.ts'
import { leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases, openTestApp } from '../../test/harness/test-app.ts'
import type { Sql } from '../database/sql.ts'
import { Log } from '../lib/log.ts'
import { LazyRunner } from './lazy-runner.ts'

describe('the runner of an idle Penstock', () => {
  function makeLazy() {
    const did: string[] = []
    const seen = { hasPipe: false, isAway: false }
    const reader = {
      first: async () => {
        if (seen.isAway) throw new Error('away')
        return seen.hasPipe ? { id: 'a' } : undefined
      },
    } as unknown as Sql
    const load = async () => {
      did.push('load')
      return {
        start: () => void did.push('start'),
        poke: () => void did.push('poke'),
        stop: async () => void did.push('stop'),
      }
    }
    const logged: string[] = []
    const log = new Log('info', { write: (line: string) => logged.push(line) } as unknown as NodeJS.WritableStream)
    return { did, seen, logged, lazy: new LazyRunner(reader, load, log) }
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5))

  it('is loaded with the first pipe, and poked afterwards', async () => {
    const { did, seen, lazy } = makeLazy()
    lazy.poke()
    lazy.start()
    await settle()
    assert.deepEqual(did, [])
    seen.hasPipe = true
    lazy.poke()
    lazy.poke()
    await settle()
    assert.deepEqual(did, ['load', 'start'])
    lazy.poke()
    await lazy.stop()
    assert.deepEqual(did, ['load', 'start', 'poke', 'stop'])
  })

  it('is not loaded by a process that stops', async () => {
    const { did, seen, lazy } = makeLazy()
    lazy.start()
    seen.hasPipe = true
    await lazy.stop()
    lazy.poke()
    await settle()
    assert.deepEqual(did.includes('start'), false)
  })

  it('is tried again after a failure, which is logged once', async () => {
    const { did, seen, lazy, logged } = makeLazy()
    seen.isAway = true
    lazy.start()
    for (let look = 0; look < 3; look++) {
      lazy.poke()
      await settle()
    }
    assert.equal(logged.length, 1)
    seen.isAway = false
    seen.hasPipe = true
    lazy.poke()
    await settle()
    assert.deepEqual(did, ['load', 'start'])
    await lazy.stop()
  })
})

onBothDatabases(
  'a Penstock that runs pipes',
  (app) => {
    it('connects to the engine and the source of a new pipe, and reports the error there', async () => {
      await app().app.listen()
      const service = await serviceOfPipes(app())
      const { organizationId, serviceId, admin: key } = service
      // Nothing listens on this port.
      const endpoint = { url: 'http://127.0.0.1:1', username: 'default', password: 'hush' }
      const path = `/v1/organizations/${organizationId}/services/${serviceId}`
      assert.equal((await app().request('PATCH', path, { key, body: { endpoint } })).status, 200)
      const { id } = await service.create(leastPipes.kafka)
      const pipe = await until(async () => {
        const [row] = await app().query<{ state: string; state_reason: string | null }>(
          `SELECT state, state_reason FROM pipes WHERE id = '${id}'`,
        )
        return row?.state === 'Provisioning' ? undefined : row
      }, 'a state that says something')
      assert.equal(pipe.state, 'Degraded')
      assert.match(pipe.state_reason!, /127\.0\.0\.1:1/)
      assert.equal((await service.send('PATCH', `/${id}/state`, { command: 'stop' })).body.result.state, 'Stopping')
      await until(async () => (await service.load(id)).state === 'Stopped', 'Stopped')
    })
  },
  { role: 'all' },
)

describe('a process that only runs pipes', () => {
  it('serves health endpoints only', async () => {
    const app = await openTestApp('postgres', { role: 'runner' })
    try {
      for (const [path, status] of [
        ['/health', 200],
        ['/ready', 200],
        ['/metrics', 200],
        ['/v1', 404],
        ['/console', 404],
        ['/docs', 404],
        [`/v1/organizations/${app.sample.organizationId}`, 404],
      ] as const) {
        assert.equal((await app.request('GET', path)).status, status, path)
      }
    } finally {
      await app.close()
    }
  })
})
