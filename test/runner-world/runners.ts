// Runners with fake workers, on the database of a test.
import assert from 'node:assert/strict'
import { afterEach } from 'node:test'
import { type App, openApp } from '../../src/app.ts'
import { Log } from '../../src/lib/log.ts'
import { listWorkers } from '../../src/progress/workers/store.ts'
import { Runner, type RunnerParts, type RunnerTimes } from '../../src/runner/runner.ts'
import type { RunnerDatabase } from '../../src/runner/worker-store.ts'
import { type FakeWorkers, until } from '../fakes/fake-workers.ts'
import { leastPipes, serviceOfPipes } from '../harness/pipes.ts'
import type { TestApp } from '../harness/test-app.ts'

export const times: RunnerTimes = {
  lookEveryMs: 20,
  leaseMs: 6_000,
  renewEveryMs: 200,
  giveUpMs: 5_000,
  activityEveryMs: 40,
  stopMs: 300,
  graceMs: 100,
  replayAgainMs: 50,
}
const backOff = { firstMs: 5, longestMs: 20 }
const endpoint = { url: 'http://127.0.0.1:1', username: 'default', password: 'hush' }

/** The database behind a hook that can fail its calls. */
export function around(
  { reader, write }: RunnerDatabase,
  between: (name: string, write: () => Promise<unknown>) => Promise<unknown>,
): RunnerDatabase {
  const call = (...args: Parameters<typeof write>) => between(args[0], () => write(...args))
  return { reader, write: call as RunnerDatabase['write'] }
}

/** With what stops them, and deletes their pipes, after each test. */
export function runnersOn(app: () => TestApp) {
  const started: Runner[] = []
  const otherApps: App[] = []

  afterEach(async () => {
    await Promise.all(started.splice(0).map((runner) => runner.stop()))
    for (const other of otherApps.splice(0)) await other.close()
    await app().query('DELETE FROM pipes')
    await app().query('DELETE FROM runners')
  })

  type More = Partial<Pick<RunnerParts, 'database' | 'times' | 'replay' | 'isAlone' | 'tasks'>>
  function startRunner(workers: FakeWorkers, more: More = {}) {
    const runner = new Runner({
      database: app().app.database,
      makeWorker: (order) => workers.make(order),
      isAlone: false,
      log: new Log('silent'),
      backOff,
      ...more,
      times: { ...times, ...more.times },
    })
    started.push(runner)
    runner.start()
    return runner
  }

  async function makePipe(body: object = {}) {
    const service = await serviceOfPipes(app())
    const { organizationId, serviceId, admin: key } = service
    const servicePath = `/v1/organizations/${organizationId}/services/${serviceId}`
    assert.equal((await app().request('PATCH', servicePath, { key, body: { endpoint } })).status, 200)
    const { id: pipeId } = await service.create({ ...leastPipes.kafka, ...body })
    const command = async (command: string) => {
      const answer = await service.send('PATCH', `/${pipeId}/state`, { command })
      assert.equal(answer.status, 200, answer.text)
    }
    const states: string[] = []
    const is = (state: string) =>
      until(
        async () => {
          const now = (await service.load(pipeId)).state
          if (states.at(-1) !== now) states.push(now)
          return now === state
        },
        `${state}, not ${states.join(', ')}`,
      )
    const reason = async () =>
      (await app().query<{ state_reason: string | null }>(`SELECT state_reason FROM pipes WHERE id = '${pipeId}'`))[0]
        ?.state_reason
    const storedWorkers = async () =>
      (await listWorkers(app().app.database.reader)).filter((worker) => worker.pipeId === pipeId)
    return { ...service, servicePath, pipeId, command, is, states, reason, storedWorkers }
  }

  async function openOther(): Promise<App> {
    const other = await openApp(app().config, {
      log: new Log('silent'),
      mayCreateKeys: false,
      onFatal: () => undefined,
    })
    otherApps.push(other)
    return other
  }

  return { started, startRunner, makePipe, openOther }
}
