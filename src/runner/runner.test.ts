import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FakeWorkers, makeFakeWorkers, until } from '../../test/fakes/fake-workers.ts'
import { leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { type App, openApp } from '../app.ts'
import { EngineError } from '../engine/engine.ts'
import { Log } from '../lib/log.ts'
import { VaultError } from '../lib/vault.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { listWorkers } from '../progress/workers/store.ts'
import { NotConnected, ProbeFailure } from '../source-shapes/source-failure.ts'
import { Runner, type RunnerParts, type RunnerTimes } from './runner.ts'
import { LeaseLost } from './worker.ts'
import { makeWorkerStore, type RunnerDatabase } from './worker-store.ts'

const times: RunnerTimes = {
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
function around(
  { reader, write }: RunnerDatabase,
  between: (name: string, write: () => Promise<unknown>) => Promise<unknown>,
): RunnerDatabase {
  const call = (...args: Parameters<typeof write>) => between(args[0], () => write(...args))
  return { reader, write: call as RunnerDatabase['write'] }
}

onBothDatabases('the runner', (app) => {
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

  describe('commands', () => {
    it('do not report a failed pipe as Stopped while one of its workers still runs', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, command, load } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.isStubborn = true
      const [one, other] = workers.running(pipeId)
      one!.end({ end: 'failed', reason: 'the topic is gone' })
      await is('Failed')
      await until(() => other!.did.includes('stop'), 'the other is stopped')
      await command('stop')
      assert.ok(other!.isRunning)
      assert.equal((await load(pipeId)).state, 'Stopping')
      other!.end({ end: 'stopped' })
      await is('Stopped')
    })

    it('starts a pipe, stops it and starts it again', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, command, storedWorkers } = await makePipe()
      await is('Running')
      assert.equal(workers.running(pipeId).length, 1)
      await command('stop')
      await is('Stopped')
      assert.deepEqual(workers.running(pipeId), [])
      assert.deepEqual(await storedWorkers(), [])
      await command('start')
      await is('Running')
      const epochs = workers.made.map(({ order }) => order.lease.epoch)
      assert.deepEqual(epochs, [1, 2])
    })

    it('is Stopped only after a worker has finished its deliveries', async () => {
      const workers = makeFakeWorkers()
      workers.isStubborn = true
      startRunner(workers)
      const { pipeId, is, command, load } = await makePipe()
      await is('Running')
      await command('stop')
      const worker = workers.running(pipeId)[0]!
      await until(() => worker.did.includes('stop'), 'the worker is stopped')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Stopping')
      worker.end({ end: 'stopped' })
      await is('Stopped')
    })

    it('is Stopped only after workers that are still starting have ended', async () => {
      const workers = makeFakeWorkers()
      workers.isStubborn = true
      workers.whenRunning = ({ workerIndex, order }) => {
        if (workerIndex === 0) order.report({ state: 'running', doing: 'Inserting' })
      }
      startRunner(workers)
      const { pipeId, is, command, load } = await makePipe({ scaling: { replicas: 2 } })
      await until(() => workers.running(pipeId).length === 2, 'both work')
      assert.equal((await load(pipeId)).state, 'Provisioning')
      await command('stop')
      const working = workers.running(pipeId)
      await until(() => working.every(({ did }) => did.includes('stop')), 'both are stopped')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Stopping')
      for (const worker of working) worker.end({ end: 'stopped' })
      await is('Stopped')
    })

    it('does nothing for a pipe that should not run', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { is } = await makePipe({ startPaused: true })
      await is('Stopped')
      await sleep(100)
      assert.deepEqual(workers.made, [])
    })

    it('ends the workers of a pipe that was deleted', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      assert.equal((await send('DELETE', `/${pipeId}`)).status, 200)
      await until(() => workers.running(pipeId).length === 0, 'no worker runs')
    })

    it('lets a postgres pipe continue from its position after a pause and after a failure', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, organizationId, is, reason, command } = await makePipe(leastPipes.postgres)
      await is('Running')
      const { reader, write } = app().app.database
      const kept = async (position?: string) => {
        const { epoch } = workers.running(pipeId)[0]!.order.lease
        const store = makeWorkerStore({ reader, write }, { organizationId, pipeId, workerIndex: 0, epoch })
        if (position !== undefined) await store.setPositions([{ partition: 'wal', position }])
        return (await store.listPositions()).map((one) => one.position)
      }
      await kept('0/1A')
      await command('stop')
      await is('Paused')
      assert.deepEqual(workers.running(pipeId), [])
      await command('start')
      await is('Running')
      assert.deepEqual(await kept(), ['0/1A'])
      await kept('0/2B')
      workers.running(pipeId)[0]!.end({ end: 'failed', reason: 'the slot is gone' })
      await is('Failed')
      assert.equal(await reason(), 'the slot is gone')
      await command('start')
      await is('Running')
      assert.deepEqual([await kept(), await reason()], [['0/2B'], null])
    })

    it('runs periodic tasks in the first of several runners, and ends them with that runner', async () => {
      const did: { runner: string; what: string }[] = []
      const taskOf = (runner: string) => ({
        consider: ({ isFirst }: { isFirst: boolean }) => void did.push({ runner, what: isFirst ? 'first' : 'other' }),
        close: async () => void did.push({ runner, what: 'closed' }),
      })
      const runners = ['a', 'b'].map((name) => startRunner(makeFakeWorkers(), { tasks: [taskOf(name)] }))
      const last = (name: string) => did.findLast(({ runner }) => runner === name)?.what
      await until(() => [last('a'), last('b')].toSorted().join() === 'first,other', 'one is the first')
      const [first, other] = last('a') === 'first' ? ['a', 'b'] : ['b', 'a']
      await runners[first === 'a' ? 0 : 1]!.stop()
      assert.equal(last(first!), 'closed')
      await until(() => last(other!) === 'first', 'the other one is the first now')
    })

    it('fails a pipe whose service has no endpoint', async () => {
      startRunner(makeFakeWorkers())
      const service = await serviceOfPipes(app())
      const { id } = await service.create(leastPipes.kafka)
      await until(async () => (await service.load(id)).state === 'Failed', 'Failed')
    })
  })

  describe('states', () => {
    it('is Degraded with a reason while a worker is, and Running again', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, reason } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      const { report } = workers.running(pipeId)[1]!.order
      report({ state: 'degraded', reason: 'the broker is away', doing: 'Waiting 5 s' })
      await is('Degraded')
      assert.equal(await reason(), 'the broker is away')
      report({ state: 'running', doing: 'Reading' })
      await is('Running')
      assert.equal(await reason(), null)
    })

    it('is Snapshot or Setup while a worker reports such a phase', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is } = await makePipe()
      await is('Running')
      const { report } = workers.running(pipeId)[0]!.order
      report({ state: 'running', doing: 'Loading', phase: 'snapshot', retainedBytes: 5 })
      await is('Snapshot')
      const retained = async () =>
        (
          await app().query<{ retained_bytes: unknown }>(
            `SELECT retained_bytes FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        ).map((row) => Number(row.retained_bytes))
      assert.deepEqual(await retained(), [5])
      report({ state: 'running', doing: 'Loading', phase: 'snapshot', retainedBytes: 6_000_000_000 })
      await until(async () => (await retained())[0] === 6_000_000_000, 'the retained log is reported')
      report({ state: 'running', doing: 'Following' })
      await is('Running')
    })

    it('stores the activity, the lag and the delivery guarantee of workers', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is } = await makePipe()
      await is('Running')
      const { report, reportDelivery } = workers.running(pipeId)[0]!.order
      report({ state: 'running', doing: 'Inserting 3 rows', lag: 12 })
      reportDelivery({ delivery: 'at_least_once', reason: 'the table keeps no tokens' })
      await until(async () => {
        const [row] = await app().query<{ doing: string; lag_records: unknown }>(
          `SELECT doing, lag_records FROM pipe_workers WHERE pipe_id = '${pipeId}'`,
        )
        return row?.doing === 'Inserting 3 rows' && Number(row.lag_records) === 12
      }, 'what it does is kept')
      await until(async () => {
        const [row] = await app().query<{ delivery: string; delivery_reason: string }>(
          `SELECT delivery, delivery_reason FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
        )
        return row?.delivery === 'at_least_once' && row.delivery_reason === 'the table keeps no tokens'
      }, 'the delivery is kept')
    })

    it('stores another reason for the same guarantee, and nothing of a worker that is only being prepared', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send } = await makePipe()
      await is('Running')
      const keptReason = async () =>
        (
          await app().query<{ delivery_reason: string | null }>(
            `SELECT delivery_reason FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        )[0]?.delivery_reason
      const before = workers.running(pipeId)[0]!
      before.order.reportDelivery({ delivery: 'at_least_once', reason: 'one' })
      await until(async () => (await keptReason()) === 'one', 'the first reason')
      before.order.reportDelivery({ delivery: 'at_least_once', reason: 'another' })
      await until(async () => (await keptReason()) === 'another', 'the other reason')

      workers.whenPreparing = ({ reportDelivery }) => {
        reportDelivery({ delivery: 'at_least_once', reason: 'of the change' })
        throw new NotConnected()
      }
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      await is('Degraded')
      await sleep(100)
      assert.equal(await keptReason(), 'another')
      workers.whenPreparing = ({ reportDelivery }) =>
        reportDelivery({ delivery: 'at_least_once', reason: 'of the change' })
      await until(async () => (await keptReason()) === 'of the change', 'it holds with the change')
      assert.equal(before.isRunning, false)
    })

    it('is Completed when all workers are, and continues to load when it is started again', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, command, load, storedWorkers } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.running(pipeId)[0]!.end({ end: 'completed' })
      await until(async () => (await storedWorkers()).some(({ state }) => state === 'completed'), 'one has completed')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Running')
      assert.equal(workers.made.length, 2, 'nobody works on what is complete')
      workers.running(pipeId)[0]!.end({ end: 'completed' })
      await is('Completed')
      assert.deepEqual(await storedWorkers(), [])
      await command('start')
      await is('Running')
    })

    it('is Failed when one worker is, and the others stop', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, reason, command } = await makePipe({ scaling: { replicas: 3 } })
      await is('Running')
      workers.running(pipeId)[1]!.end({ end: 'failed', reason: 'the topic is gone; make it again' })
      await is('Failed')
      assert.equal(await reason(), 'the topic is gone; make it again')
      await until(() => workers.running(pipeId).length === 0, 'no worker runs')
      await command('start')
      await is('Running')
      assert.equal(await reason(), null)
    })

    it('starts a new worker after a defect, and is InternalError when defects repeat', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { is, reason } = await makePipe()
      await is('Running')
      for (let crash = 1; crash <= 5; crash++) {
        const worker = await until(() => workers.made[crash - 1], `worker ${crash} is made`)
        await until(() => worker.isRunning, `worker ${crash} runs`)
        worker.crash()
      }
      await is('InternalError')
      assert.match((await reason())!, /its log has more/)
      assert.equal(workers.made.length, 5)
    })

    it('fails when the secrets cannot be decrypted', async () => {
      const workers = makeFakeWorkers()
      workers.make = async () => {
        throw new VaultError('damaged')
      }
      startRunner(workers)
      const { is, reason } = await makePipe()
      await is('Failed')
      assert.match((await reason())!, /set the credentials again/)
    })
  })

  describe('changes', () => {
    it('never uses a configuration that was reverted while the previous worker was ending', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, storedWorkers } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      // It has a long insert.
      workers.isStubborn = true
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      await until(() => before.did.includes('stop'), 'the previous worker is stopped')
      await send('PUT', `/${pipeId}/settings`, { streaming_max_insert_wait_ms: null })
      await until(async () => (await storedWorkers())[0]?.pipeVersion === 3, 'it is known that it is taken back')
      workers.isStubborn = false
      before.end({ end: 'stopped' })
      const isNext = (worker: (typeof workers.made)[number]): boolean =>
        worker !== before && worker.order.configuration.pipe.version === 3
      await until(() => workers.running(pipeId).some(isNext), 'the next one runs')
      const ran = workers.made.filter(({ did }) => did.includes('run'))
      assert.deepEqual(
        ran.map(({ order }) => order.configuration.pipe.settings),
        [defaultSettings, defaultSettings],
      )
    })

    const settings = { settings: { streaming_max_insert_wait_ms: 700 } }

    it('take effect with a worker that was prepared while the previous one ran', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, states } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      let wasRunning: boolean | undefined
      workers.whenPreparing = () => {
        wasRunning = before.isRunning
      }
      await send('PATCH', `/${pipeId}`, settings)
      const after = await until(() => workers.running(pipeId).find((worker) => worker !== before), 'the next one runs')
      assert.equal(wasRunning, true)
      assert.deepEqual(before.did, ['run', 'stop'])
      assert.deepEqual(after.did, ['prepare', 'run'])
      assert.equal(after.order.lease.epoch, before.order.lease.epoch)
      assert.deepEqual(after.order.configuration.pipe.settings, { ...defaultSettings, ...settings.settings })
      await is('Running')
      assert.ok(
        states.every((state) => ['Provisioning', 'Running', 'Modifying'].includes(state)),
        states.join(),
      )
    })

    it('that cannot be prepared leave the worker running, and report why', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, reason, send } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      const failures = [
        new ProbeFailure({ step: 'authenticate', code: 'credentials_refused', reason: 'no', remedy: 'send others' }),
        new NotConnected(),
      ]
      workers.whenPreparing = () => {
        const failure = failures.length > 1 ? failures.shift() : failures[0]
        throw failure
      }
      await send('PATCH', `/${pipeId}`, settings)
      await is('Degraded')
      await until(async () => /^the change is not in effect: Kafka at /.test((await reason()) ?? ''), 'the reason')
      assert.deepEqual(before.did, ['run'])
      assert.equal(before.isRunning, true)
      workers.whenPreparing = undefined
      const after = await until(() => workers.running(pipeId).find((worker) => worker !== before), 'the next one runs')
      assert.deepEqual(after.order.configuration.pipe.settings, { ...defaultSettings, ...settings.settings })
      await is('Running')
      assert.equal(await reason(), null)
    })

    it('that are reverted need no new worker', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      workers.whenPreparing = () => {
        throw new NotConnected()
      }
      await send('PATCH', `/${pipeId}`, settings)
      await is('Degraded')
      await send('PUT', `/${pipeId}/settings`, { streaming_max_insert_wait_ms: null })
      await is('Running')
      assert.deepEqual(workers.running(pipeId), [before])
    })

    for (const [how, state] of [
      ['stop', 'Stopped'],
      ['failure', 'Failed'],
    ] as const) {
      it(`that are being prepared do not delay a ${how}`, async () => {
        const workers = makeFakeWorkers()
        const { make } = workers
        const { promise: never, reject } = Promise.withResolvers<void>()
        workers.make = async (order) => {
          const worker = await make(order)
          const abort = () => {
            worker.abort()
            reject(new Error('aborted'))
          }
          return { ...worker, prepare: () => never, abort }
        }
        startRunner(workers)
        const { pipeId, is, send, command, reason, storedWorkers } = await makePipe()
        await is('Running')
        await send('PATCH', `/${pipeId}`, settings)
        await is('Modifying')
        // After the change is reverted, the end of the worker is reported.
        if (how === 'stop') await command('stop')
        else {
          await send('PUT', `/${pipeId}/settings`, { streaming_max_insert_wait_ms: null })
          await until(() => workers.made.length === 2, 'the change is being prepared')
          await until(async () => (await storedWorkers())[0]?.pipeVersion === 3, 'it is known that it is taken back')
          workers.running(pipeId)[0]!.end({ end: 'failed', reason: 'the topic is gone' })
        }
        await is(state)
        assert.equal(await reason(), how === 'stop' ? null : 'the topic is gone')
        assert.ok(workers.made[1]!.did.includes('abort'))
      })
    }

    it('of the name do not affect the worker', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, storedWorkers } = await makePipe()
      await is('Running')
      await send('PATCH', `/${pipeId}`, { name: 'renamed' })
      await until(async () => (await storedWorkers())[0]?.pipeVersion === 2, 'the version is known')
      assert.equal(workers.made.length, 1)
      assert.deepEqual(workers.made[0]!.did, ['run'])
    })

    it('of the endpoint of the service take effect', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, admin: key, servicePath } = await makePipe()
      await is('Running')
      const body = { endpoint: { password: 'another' } }
      assert.equal((await app().request('PATCH', servicePath, { key, body })).status, 200)
      await until(
        () => workers.made.length === 2 && workers.running(pipeId)[0] === workers.made[1],
        'the next one runs',
      )
    })

    it('of the number of replicas take effect after all workers have stopped', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, storedWorkers } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.isStubborn = true
      const before = workers.running(pipeId)
      await send('PATCH', `/${pipeId}/scaling`, { replicas: 3 })
      await is('Modifying')
      before[0]!.end({ end: 'stopped' })
      await sleep(100)
      assert.equal(workers.made.length, 2, 'one of the layout before still works')
      before[1]!.end({ end: 'stopped' })
      await until(() => workers.running(pipeId).length === 3, 'three work')
      await is('Running')
      assert.deepEqual(
        (await storedWorkers()).map(({ workerIndex, workerCount }) => [workerIndex, workerCount]).sort(),
        [
          [0, 3],
          [1, 3],
          [2, 3],
        ],
      )
    })
  })

  describe('rejected rows', () => {
    it('are replayed with the configuration of the pipe, not with the old one of its worker', async () => {
      const workers = makeFakeWorkers()
      const versions: number[] = []
      startRunner(workers, { replay: async ({ configuration }) => void versions.push(configuration.pipe.version) })
      const { pipeId, is, send } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      workers.isStubborn = true
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      await until(() => before.did.includes('stop'), 'the previous worker is stopped')
      assert.equal((await send('POST', `/${pipeId}/errorReplay`)).status, 200)
      await sleep(10 * times.lookEveryMs)
      assert.deepEqual(versions, [])
      workers.isStubborn = false
      before.end({ end: 'stopped' })
      const asked = () => app().query<{ at: string | null }>('SELECT replay_requested_at AS at FROM pipes')
      await until(async () => (await asked())[0]?.at === null, 'it is done')
      assert.deepEqual(versions, [2])
    })

    it('are replayed by worker index 0, until that succeeds or the user has to fix an error', async () => {
      const outcomes = [new NotConnected(), undefined, new EngineError('user', 'the table is gone')]
      const orders: number[] = []
      startRunner(makeFakeWorkers(), {
        replay: async ({ lease }) => {
          orders.push(lease.workerIndex)
          const outcome = outcomes.shift()
          if (outcome) throw outcome
        },
      })
      const { pipeId, is } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      const ask = (at: string) => app().query(`UPDATE pipes SET replay_requested_at = '${at}' WHERE id = '${pipeId}'`)
      const isDone = async () =>
        (
          await app().query<{ replay_requested_at: string | null }>(
            `SELECT replay_requested_at FROM pipes WHERE id = '${pipeId}'`,
          )
        )[0]?.replay_requested_at === null
      await ask('2026-11-02T10:00:00.000Z')
      await until(isDone, 'it is done')
      assert.deepEqual(orders, [0, 0])
      await ask('2026-11-02T11:00:00.000Z')
      await until(isDone, 'it is given up')
      const [row] = await app().query<{ last_error: string }>(
        `SELECT last_error FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
      )
      assert.equal(row?.last_error, 'the rejected rows could not be replayed: the table is gone')
    })

    it('are replayed before a pipe that loads once is Completed', async () => {
      const workers = makeFakeWorkers()
      workers.whenRunning = (worker) => {
        worker.order.report({ state: 'running', doing: 'Loading' })
        worker.end({ end: 'completed' })
      }
      let done = 0
      startRunner(workers, {
        replay: async ({ lease }) => {
          await sleep(100)
          await makeWorkerStore(app().app.database, lease).setPositions([])
          done++
        },
      })
      const { pipeId, is, command, send, storedWorkers } = await makePipe()
      await is('Completed')
      assert.equal((await send('POST', `/${pipeId}/errorReplay`)).status, 200)
      await command('start')
      await is('Completed')
      assert.equal(done, 1)
      const { replayRequestedAt } = (await send('GET', `/${pipeId}/metrics`)).body.result
      assert.equal(replayRequestedAt, null)
      assert.deepEqual(await storedWorkers(), [])
    })

    it('are replayed once, also when a look began before the replay ended', async () => {
      const { database } = app().app
      let replays = 0
      let holdsLooks = false
      const { promise: isDone, resolve: done } = Promise.withResolvers<void>()
      const reader: RunnerDatabase['reader'] = {
        dialect: database.reader.dialect,
        first: (...args) => database.reader.first(...args),
        run: (...args) => database.reader.run(...args),
        async all(...args) {
          const rows = await database.reader.all(...args)
          if (holdsLooks) await isDone.then(() => sleep(100))
          return rows
        },
      }
      const runner = startRunner(makeFakeWorkers(), {
        database: { reader, write: (...args) => database.write(...args) },
        replay: async () => {
          replays++
          holdsLooks = true
          await sleep(100)
          done()
        },
      })
      const { pipeId, is, send } = await makePipe()
      await is('Running')
      await send('POST', `/${pipeId}/errorReplay`)
      await until(async () => (await send('GET', `/${pipeId}/metrics`)).body.result.replayRequestedAt === null, 'done')
      holdsLooks = false
      await sleep(300)
      runner.poke()
      await sleep(100)
      assert.equal(replays, 1)
    })

    it('are not replayed further when the pipe is stopped, which is Stopped after the replay has ended', async () => {
      const workers = makeFakeWorkers()
      const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
      let replays = 0
      let isBrokenOff = false
      startRunner(workers, {
        times: { graceMs: 5_000 },
        replay: async ({ signal }) => {
          if (++replays > 1) return
          await once(signal, 'abort')
          isBrokenOff = true
          await mayEnd
          signal.throwIfAborted()
        },
      })
      const { pipeId, is, command, send, load } = await makePipe()
      await is('Running')
      await send('POST', `/${pipeId}/errorReplay`)
      await until(() => replays === 1, 'it has begun')
      await command('stop')
      await until(() => isBrokenOff, 'it is broken off')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Stopping')
      end()
      await is('Stopped')
      assert.equal(replays, 1)
      const isAsked = async () => (await send('GET', `/${pipeId}/metrics`)).body.result.replayRequestedAt !== null
      assert.equal(await isAsked(), true)
      await command('start')
      await until(async () => !(await isAsked()), 'it is done when the pipe runs again')
      assert.equal(replays, 2)
    })
  })

  describe('leases', () => {
    it('are released when the process ends, also by workers that do not reach a boundary', async () => {
      const workers = makeFakeWorkers()
      // Enough time for a look before the worker that does not stop is aborted, and for the last writes on a busy machine.
      const runner = startRunner(workers, { times: { stopMs: 3_000, graceMs: 5_000 } })
      const { pipeId, is, storedWorkers, load } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.isStubborn = true
      const [one, other] = workers.running(pipeId)
      const stopping = runner.stop()
      await until(() => one!.did.includes('stop') && other!.did.includes('stop'), 'they are stopped')
      assert.equal((await storedWorkers()).length, 2)
      one!.end({ end: 'stopped' })
      await stopping
      assert.deepEqual(
        [one!.did, other!.did],
        [
          ['run', 'stop'],
          ['run', 'stop', 'abort'],
        ],
      )
      assert.equal((await load(pipeId)).state, 'Running')
      assert.deepEqual(await storedWorkers(), [])
      assert.deepEqual(await app().query('SELECT id FROM runners'), [])
    })

    it('are taken over when their runner does not renew them, and its later writes are rejected (R19)', async () => {
      const { database } = app().app
      let isFrozen = false
      const { promise: thaw, resolve: doThaw } = Promise.withResolvers<void>()
      const frozen = around(database, async (_, write) => {
        if (isFrozen) await thaw
        return write()
      })
      const [old, next] = [makeFakeWorkers(), makeFakeWorkers()]
      startRunner(old, { database: frozen, times: { leaseMs: 600, renewEveryMs: 100, giveUpMs: 3_600_000 } })
      const { pipeId, is, organizationId } = await makePipe()
      await is('Running')
      const paused = old.running(pipeId)[0]!
      isFrozen = true
      startRunner(next)
      const successor = await until(() => next.running(pipeId)[0], 'the other takes over')
      assert.ok(successor.order.lease.epoch > paused.order.lease.epoch)

      const delivery = { id: 'token', number: 1, ranges: [{ partition: 'orders/0', from: '0', next: '9' }] }
      const storeOf = (lease: typeof paused.order.lease) => makeWorkerStore(database, lease)
      await assert.rejects(storeOf(paused.order.lease).begin(delivery), LeaseLost)
      await assert.rejects(storeOf(paused.order.lease).setPositions([]), LeaseLost)
      await storeOf(successor.order.lease).begin(delivery)
      const report = {
        doing: '',
        lag: null,
        phase: null,
        retainedBytes: null,
        deliveredUntil: null,
        now: new Date().toISOString(),
      }
      const status = {
        ...report,
        lease: paused.order.lease,
        pipeVersion: 1,
        state: 'degraded' as const,
        reason: 'stale',
      }
      assert.equal(await database.write('reportWorker', status, organizationId), false)
      isFrozen = false
      doThaw()
      await until(() => paused.did.includes('abort'), 'the one that was paused learns it and ends')
      assert.deepEqual(next.running(pipeId), [successor])
    })

    it('are taken over after the clock was set back, but not from a machine whose clock is ahead', async () => {
      let isFrozen = false
      const { promise: thaw, resolve: doThaw } = Promise.withResolvers<void>()
      const frozen = around(app().app.database, async (_, write) => {
        if (isFrozen) await thaw
        return write()
      })
      const [old, next] = [makeFakeWorkers(), makeFakeWorkers()]
      const { id: oldId } = startRunner(old, { database: frozen, times: { giveUpMs: 3_600_000 } })
      const { pipeId, is } = await makePipe()
      await is('Running')
      isFrozen = true
      const renewAhead = async () => {
        const aheadMs = Date.now() + 3_600_000
        const [seenAt, expiresAt] = [aheadMs, aheadMs + times.leaseMs].map((ms) => new Date(ms).toISOString())
        await app().query(`UPDATE runners SET seen_at = '${seenAt}' WHERE id = '${oldId}'`)
        await app().query(`UPDATE pipe_workers SET expires_at = '${expiresAt}' WHERE runner_id = '${oldId}'`)
      }
      await renewAhead()
      startRunner(next, { times: { leaseMs: 2_000, giveUpMs: 1_500 } })
      for (let round = 0; round < 10; round++) {
        await sleep(300)
        await renewAhead()
      }
      assert.equal(next.running(pipeId).length, 0, 'it is renewed')
      await until(() => next.running(pipeId)[0], 'the other takes over')
      isFrozen = false
      doThaw()
    })

    it('are held although a write for one pipe fails', async () => {
      const { database } = app().app
      let failures = 0
      let isPicky = true
      const picky = around(database, async (name, write) => {
        if (name !== 'keepDoing' || !isPicky) return write()
        failures++
        throw new Error('it cannot be kept')
      })
      const workers = makeFakeWorkers()
      startRunner(workers, { database: picky })
      const pipes = [await makePipe(), await makePipe()]
      for (const { is } of pipes) await is('Running')
      const [one, other] = pipes.map(({ pipeId }) => workers.running(pipeId)[0]!)
      one!.order.report({ state: 'running', doing: 'Loading a/\0b.json' })
      await until(() => failures > 0, 'it was tried')
      const expiries = async () =>
        (await Promise.all(pipes.map(({ storedWorkers }) => storedWorkers()))).map(([lease]) => lease!.expiresAt)
      const before = await expiries()
      await until(async () => (await expiries()).every((expiry, index) => expiry > before[index]!), 'a renewal')
      isPicky = false
      await until(async () => {
        const [row] = await app().query<{ doing: string }>(
          `SELECT doing FROM pipe_workers WHERE pipe_id = '${one!.pipeId}'`,
        )
        return row?.doing === 'Loading a/\ufffdb.json'
      }, 'it is kept in the end')
      assert.deepEqual([one!.did, other!.did], [['run'], ['run']])
    })

    it('are given up by a runner whose database does not answer, before others may claim them', async () => {
      const { database } = app().app
      let isAway = false
      const away = around(database, (_, write) => (isAway ? new Promise(() => undefined) : write()))
      const workers = makeFakeWorkers()
      // A short pause of the machine must neither end the leases nor delay giving them up.
      startRunner(workers, { database: away, times: { giveUpMs: 2_500, leaseMs: 10_000 } })
      const { pipeId, is, storedWorkers } = await makePipe()
      await is('Running')
      const worker = workers.running(pipeId)[0]!
      isAway = true
      await until(() => worker.did.includes('abort'), 'it aborts its worker')
      const [lease] = await storedWorkers()
      assert.ok(lease!.expiresAt > new Date().toISOString(), 'while the lease still holds')
    })

    it('are found again after a lost answer', async () => {
      const { database } = app().app
      let losses = 1
      const lossy = around(database, async (name, write) => {
        const answer = await write()
        if (name === 'claimWorkers' && losses-- > 0) throw new Error('the connection was lost')
        return answer
      })
      const workers = makeFakeWorkers()
      startRunner(workers, { database: lossy, times: { leaseMs: 3_600_000 } })
      const { is } = await makePipe()
      await is('Running')
      assert.equal(workers.made[0]!.order.lease.epoch, 2)
    })

    it('are claimed at once by a process that is alone on its database', async () => {
      const { database } = app().app
      const killed = makeFakeWorkers()
      startRunner(killed, { times: { leaseMs: 3_600_000, lookEveryMs: 3_600_000 } })
      const { pipeId, is } = await makePipe()
      started[0]!.poke()
      await is('Running')
      const next = makeFakeWorkers()
      startRunner(next, { database, isAlone: true })
      await until(() => next.running(pipeId)[0], 'the next one works')
    })

    it('are shared evenly between two processes, and all are claimed when one ends', async () => {
      const other = app().dialect === 'postgres' ? await openOther() : app().app
      const [left, right] = [makeFakeWorkers(), makeFakeWorkers()]
      const first = startRunner(left)
      const pipes = [await makePipe({ scaling: { replicas: 3 } }), await makePipe({ scaling: { replicas: 2 } })]
      for (const { is } of pipes) await is('Running')
      const working = (workers: FakeWorkers) => workers.made.filter(({ isRunning }) => isRunning).length
      assert.equal(working(left), 5)
      startRunner(right, { database: other.database })
      await until(() => working(left) === 3 && working(right) === 2, 'three here and two there')
      await sleep(150)
      assert.deepEqual([working(left), working(right)], [3, 2], 'and it stays so')
      const workerCount = [...left.made, ...right.made].filter(({ isRunning }) => isRunning)
      assert.equal(new Set(workerCount.map(({ pipeId, workerIndex }) => `${pipeId}/${workerIndex}`)).size, 5)
      await first.stop()
      await until(() => working(right) === 5, 'all five there')
    })

    it('are claimed by only one of two racing processes', async () => {
      const other = app().dialect === 'postgres' ? await openOther() : app().app
      const [left, right] = [makeFakeWorkers(), makeFakeWorkers()]
      startRunner(left)
      startRunner(right, { database: other.database })
      for (let round = 0; round < 5; round++) {
        const { is, command, pipeId } = await makePipe({ scaling: { replicas: 4 } })
        await is('Running')
        await until(() => {
          const workerCount = [...left.running(pipeId), ...right.running(pipeId)].map(({ workerIndex }) => workerIndex)
          assert.equal(new Set(workerCount).size, workerCount.length, 'nobody works where another does')
          return workerCount.length === 4
        }, 'all workers run')
        await command('stop')
        await is('Stopped')
      }
    })
  })

  async function openOther(): Promise<App> {
    const other = await openApp(app().config, {
      log: new Log('silent'),
      mayCreateKeys: false,
      onFatal: () => undefined,
    })
    otherApps.push(other)
    return other
  }
})
