import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FakeWorkers, makeFakeWorkers, until } from '../../test/fake-workers.ts'
import { onBothDatabases } from '../../test/harness.ts'
import { leastPipes, serviceOfPipes } from '../../test/pipes.ts'
import { type App, openApp } from '../app.ts'
import { EngineError } from '../engine/engine.ts'
import { Log } from '../lib/log.ts'
import { VaultError } from '../lib/vault.ts'
import { listWorkers } from '../progress/workers/store.ts'
import { NotConnected, ProbeFailure } from '../sources/source.ts'
import { Runner, type RunnerParts, type RunnerTimes } from './runner.ts'
import { LeaseLost } from './worker.ts'
import { makeWorkerStore, type RunnerDatabase } from './worker-store.ts'

const times: RunnerTimes = {
  lookEveryMs: 20,
  leaseMs: 6_000,
  renewEveryMs: 200,
  giveUpMs: 5_000,
  doingEveryMs: 40,
  stopMs: 300,
  graceMs: 100,
  replayAgainMs: 50,
}
const backOff = { firstMs: 5, longestMs: 20 }
const endpoint = { url: 'http://127.0.0.1:1', username: 'default', password: 'hush' }

/** The database, with something between it and the runner. */
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

  type More = Partial<Pick<RunnerParts, 'database' | 'times' | 'replay' | 'isAlone' | 'chores'>>
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
    const places = async () =>
      (await listWorkers(app().app.database.reader)).filter((worker) => worker.pipeId === pipeId)
    return { ...service, servicePath, pipeId, command, is, states, reason, places }
  }

  describe('commands', () => {
    it('do not call a failed pipe stopped while one of its workers still works', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, command, load } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.isStubborn = true
      const [one, other] = workers.running(pipeId)
      one!.end({ end: 'failed', reason: 'the topic is gone' })
      await is('Failed')
      await until(() => other!.did.includes('stop'), 'the other is told to stop')
      await command('stop')
      assert.ok(other!.isRunning)
      assert.equal((await load(pipeId)).state, 'Stopping')
      other!.end({ end: 'stopped' })
      await is('Stopped')
    })

    it('starts a pipe, stops it and starts it again', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, command, places } = await makePipe()
      await is('Running')
      assert.equal(workers.running(pipeId).length, 1)
      await command('stop')
      await is('Stopped')
      assert.deepEqual(workers.running(pipeId), [])
      assert.deepEqual(await places(), [])
      await command('start')
      await is('Running')
      const epochs = workers.made.map(({ order }) => order.place.epoch)
      assert.deepEqual(epochs, [1, 2])
    })

    it('waits with Stopped for a worker that has something under way', async () => {
      const workers = makeFakeWorkers()
      workers.isStubborn = true
      startRunner(workers)
      const { pipeId, is, command, load } = await makePipe()
      await is('Running')
      await command('stop')
      const worker = workers.running(pipeId)[0]!
      await until(() => worker.did.includes('stop'), 'the worker is told to stop')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Stopping')
      worker.end({ end: 'stopped' })
      await is('Stopped')
    })

    it('waits with Stopped also for workers of a pipe that is only being begun', async () => {
      const workers = makeFakeWorkers()
      workers.isStubborn = true
      workers.whenRunning = ({ slot, order }) => {
        if (slot === 0) order.tell({ state: 'running', doing: 'Inserting' })
      }
      startRunner(workers)
      const { pipeId, is, command, load } = await makePipe({ scaling: { replicas: 2 } })
      await until(() => workers.running(pipeId).length === 2, 'both work')
      assert.equal((await load(pipeId)).state, 'Provisioning')
      await command('stop')
      const working = workers.running(pipeId)
      await until(() => working.every(({ did }) => did.includes('stop')), 'both are told to stop')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Stopping')
      for (const worker of working) worker.end({ end: 'stopped' })
      await is('Stopped')
    })

    it('does nothing for a pipe that rests', async () => {
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

    it('has a postgres pipe go on where it was, after it was paused and after it has failed', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, organizationId, is, reason, command } = await makePipe(leastPipes.postgres)
      await is('Running')
      const { reader, write } = app().app.database
      const kept = async (position?: string) => {
        const { epoch } = workers.running(pipeId)[0]!.order.place
        const store = makeWorkerStore({ reader, write }, { organizationId, pipeId, slot: 0, epoch })
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

    it('gives its chores to do to the first of several runners, and ends them with itself', async () => {
      const did: { runner: string; what: string }[] = []
      const choreOf = (runner: string) => ({
        consider: ({ isFirst }: { isFirst: boolean }) => void did.push({ runner, what: isFirst ? 'first' : 'other' }),
        close: async () => void did.push({ runner, what: 'closed' }),
      })
      const runners = ['a', 'b'].map((name) => startRunner(makeFakeWorkers(), { chores: [choreOf(name)] }))
      const last = (name: string) => did.findLast(({ runner }) => runner === name)?.what
      await until(() => [last('a'), last('b')].toSorted().join() === 'first,other', 'one is the first')
      const [first, other] = last('a') === 'first' ? ['a', 'b'] : ['b', 'a']
      await runners[first === 'a' ? 0 : 1]!.stop()
      assert.equal(last(first!), 'closed')
      await until(() => last(other!) === 'first', 'the other one is the first now')
    })

    it('says that a service without an endpoint takes no data', async () => {
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
      const { tell } = workers.running(pipeId)[1]!.order
      tell({ state: 'degraded', reason: 'the broker is away', doing: 'Waiting 5 s' })
      await is('Degraded')
      assert.equal(await reason(), 'the broker is away')
      tell({ state: 'running', doing: 'Reading' })
      await is('Running')
      assert.equal(await reason(), null)
    })

    it('is what a worker does before it merely follows its source', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is } = await makePipe()
      await is('Running')
      const { tell } = workers.running(pipeId)[0]!.order
      tell({ state: 'running', doing: 'Loading', phase: 'snapshot', retainedBytes: 5 })
      await is('Snapshot')
      const retained = async () =>
        (
          await app().query<{ retained_bytes: unknown }>(
            `SELECT retained_bytes FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        ).map((row) => Number(row.retained_bytes))
      assert.deepEqual(await retained(), [5])
      tell({ state: 'running', doing: 'Loading', phase: 'snapshot', retainedBytes: 6_000_000_000 })
      await until(async () => (await retained())[0] === 6_000_000_000, 'the log that is kept is told')
      tell({ state: 'running', doing: 'Following' })
      await is('Running')
    })

    it('keeps what workers do, how far they are behind and how sure the delivery is', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is } = await makePipe()
      await is('Running')
      const { tell, tellDelivery } = workers.running(pipeId)[0]!.order
      tell({ state: 'running', doing: 'Inserting 3 rows', lag: 12 })
      tellDelivery({ delivery: 'at_least_once', reason: 'the table keeps no tokens' })
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

    it('keeps another reason for the same delivery, and nothing of a worker that is only being prepared', async () => {
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
      before.order.tellDelivery({ delivery: 'at_least_once', reason: 'one' })
      await until(async () => (await keptReason()) === 'one', 'the first reason')
      before.order.tellDelivery({ delivery: 'at_least_once', reason: 'another' })
      await until(async () => (await keptReason()) === 'another', 'the other reason')

      workers.whenPreparing = ({ tellDelivery }) => {
        tellDelivery({ delivery: 'at_least_once', reason: 'of the change' })
        throw new NotConnected()
      }
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      await is('Degraded')
      await sleep(100)
      assert.equal(await keptReason(), 'another')
      workers.whenPreparing = ({ tellDelivery }) => tellDelivery({ delivery: 'at_least_once', reason: 'of the change' })
      await until(async () => (await keptReason()) === 'of the change', 'it holds with the change')
      assert.equal(before.isRunning, false)
    })

    it('is Completed when all slots are, and loads on when it is started again', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, command, load, places } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.running(pipeId)[0]!.end({ end: 'completed' })
      await until(async () => (await places()).some(({ state }) => state === 'completed'), 'one has completed')
      await sleep(100)
      assert.equal((await load(pipeId)).state, 'Running')
      assert.equal(workers.made.length, 2, 'nobody works on what is complete')
      workers.running(pipeId)[0]!.end({ end: 'completed' })
      await is('Completed')
      assert.deepEqual(await places(), [])
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

    it('begins anew after a defect, and is an InternalError when that is of no use', async () => {
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

    it('fails when the secrets cannot be opened', async () => {
      const workers = makeFakeWorkers()
      workers.make = async () => {
        throw new VaultError('damaged')
      }
      startRunner(workers)
      const { is, reason } = await makePipe()
      await is('Failed')
      assert.match((await reason())!, /set the credentials anew/)
    })
  })

  describe('changes', () => {
    it('never works by what was taken back while the worker before came to its end', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, places } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      // It has a long insert under way.
      workers.isStubborn = true
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      await until(() => before.did.includes('stop'), 'the one before is told to stop')
      await send('PUT', `/${pipeId}/settings`, { streaming_max_insert_wait_ms: null })
      await until(async () => (await places())[0]?.pipeVersion === 3, 'it is known that it is taken back')
      workers.isStubborn = false
      before.end({ end: 'stopped' })
      const isNext = (worker: (typeof workers.made)[number]): boolean =>
        worker !== before && worker.order.configuration.pipe.version === 3
      await until(() => workers.running(pipeId).some(isNext), 'the next one runs')
      const ran = workers.made.filter(({ did }) => did.includes('run'))
      assert.deepEqual(
        ran.map(({ order }) => order.configuration.pipe.settings),
        [{}, {}],
      )
    })

    const settings = { settings: { streaming_max_insert_wait_ms: 700 } }

    it('come into effect with a worker that was prepared while the one before worked', async () => {
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
      assert.equal(after.order.place.epoch, before.order.place.epoch)
      assert.deepEqual(after.order.configuration.pipe.settings, settings.settings)
      await is('Running')
      assert.ok(
        states.every((state) => ['Provisioning', 'Running', 'Modifying'].includes(state)),
        states.join(),
      )
    })

    it('that cannot be prepared leave the worker at work, and say why', async () => {
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
      assert.deepEqual(after.order.configuration.pipe.settings, settings.settings)
      await is('Running')
      assert.equal(await reason(), null)
    })

    it('that are taken back need no other worker', async () => {
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
      it(`that are being prepared do not hold up a ${how}`, async () => {
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
        const { pipeId, is, send, command, reason, places } = await makePipe()
        await is('Running')
        await send('PATCH', `/${pipeId}`, settings)
        await is('Modifying')
        // With the change taken back, what the worker comes to is told.
        if (how === 'stop') await command('stop')
        else {
          await send('PUT', `/${pipeId}/settings`, { streaming_max_insert_wait_ms: null })
          await until(() => workers.made.length === 2, 'the change is being prepared')
          await until(async () => (await places())[0]?.pipeVersion === 3, 'it is known that it is taken back')
          workers.running(pipeId)[0]!.end({ end: 'failed', reason: 'the topic is gone' })
        }
        await is(state)
        assert.equal(await reason(), how === 'stop' ? null : 'the topic is gone')
        assert.ok(workers.made[1]!.did.includes('abort'))
      })
    }

    it('of the name disturb nobody', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, places } = await makePipe()
      await is('Running')
      await send('PATCH', `/${pipeId}`, { name: 'renamed' })
      await until(async () => (await places())[0]?.pipeVersion === 2, 'the version is known')
      assert.equal(workers.made.length, 1)
      assert.deepEqual(workers.made[0]!.did, ['run'])
    })

    it('of the endpoint of the service are followed', async () => {
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

    it('of the number of replicas wait until all have stopped, and share anew', async () => {
      const workers = makeFakeWorkers()
      startRunner(workers)
      const { pipeId, is, send, places } = await makePipe({ scaling: { replicas: 2 } })
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
      assert.deepEqual((await places()).map(({ slot, slots }) => [slot, slots]).sort(), [
        [0, 3],
        [1, 3],
        [2, 3],
      ])
    })
  })

  describe('rows that were refused', () => {
    it('are tried again by what the pipe is, not by what its worker still works by', async () => {
      const workers = makeFakeWorkers()
      const versions: number[] = []
      startRunner(workers, { replay: async ({ configuration }) => void versions.push(configuration.pipe.version) })
      const { pipeId, is, send } = await makePipe()
      await is('Running')
      const before = workers.running(pipeId)[0]!
      workers.isStubborn = true
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      await until(() => before.did.includes('stop'), 'the one before is told to stop')
      assert.equal((await send('POST', `/${pipeId}/errorReplay`)).status, 200)
      await sleep(10 * times.lookEveryMs)
      assert.deepEqual(versions, [])
      workers.isStubborn = false
      before.end({ end: 'stopped' })
      const asked = () => app().query<{ at: string | null }>('SELECT replay_requested_at AS at FROM pipes')
      await until(async () => (await asked())[0]?.at === null, 'it is done')
      assert.deepEqual(versions, [2])
    })

    it('are tried again by the first place, until it succeeds or only the user can help', async () => {
      const outcomes = [new NotConnected(), undefined, new EngineError('user', 'the table is gone')]
      const orders: number[] = []
      startRunner(makeFakeWorkers(), {
        replay: async ({ place }) => {
          orders.push(place.slot)
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
      const [figures] = await app().query<{ last_error: string }>(
        `SELECT last_error FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
      )
      assert.equal(figures?.last_error, 'the rows that were refused could not be tried again: the table is gone')
    })

    it('are tried again before a pipe that loads everything at once is Completed', async () => {
      const workers = makeFakeWorkers()
      workers.whenRunning = (worker) => {
        worker.order.tell({ state: 'running', doing: 'Loading' })
        worker.end({ end: 'completed' })
      }
      let done = 0
      startRunner(workers, {
        replay: async ({ place }) => {
          await sleep(100)
          await makeWorkerStore(app().app.database, place).setPositions([])
          done++
        },
      })
      const { pipeId, is, command, send, places } = await makePipe()
      await is('Completed')
      assert.equal((await send('POST', `/${pipeId}/errorReplay`)).status, 200)
      await command('start')
      await is('Completed')
      assert.equal(done, 1)
      const { replayRequestedAt } = (await send('GET', `/${pipeId}/metrics`)).body.result
      assert.equal(replayRequestedAt, null)
      assert.deepEqual(await places(), [])
    })

    it('are tried again once, also when a look began before it was done', async () => {
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

    it('are left alone when the pipe is stopped, and it is Stopped when that has ended', async () => {
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

  describe('places', () => {
    it('are given back when the process ends, also by workers that do not come to a boundary', async () => {
      const workers = makeFakeWorkers()
      // Time enough to look before the one that does not stop is aborted, and for the last writes on a busy machine.
      const runner = startRunner(workers, { times: { stopMs: 3_000, graceMs: 5_000 } })
      const { pipeId, is, places, load } = await makePipe({ scaling: { replicas: 2 } })
      await is('Running')
      workers.isStubborn = true
      const [one, other] = workers.running(pipeId)
      const stopping = runner.stop()
      await until(() => one!.did.includes('stop') && other!.did.includes('stop'), 'they are told to stop')
      assert.equal((await places()).length, 2)
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
      assert.deepEqual(await places(), [])
      assert.deepEqual(await app().query('SELECT id FROM runners'), [])
    })

    it('are taken over when their runner does not renew them, and what it still writes is refused (R19)', async () => {
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
      assert.ok(successor.order.place.epoch > paused.order.place.epoch)

      const delivery = { id: 'token', number: 1, ranges: [{ partition: 'orders/0', from: '0', next: '9' }] }
      const storeOf = (place: typeof paused.order.place) => makeWorkerStore(database, place)
      await assert.rejects(storeOf(paused.order.place).begin(delivery), LeaseLost)
      await assert.rejects(storeOf(paused.order.place).setPositions([]), LeaseLost)
      await storeOf(successor.order.place).begin(delivery)
      const told = {
        doing: '',
        lag: null,
        phase: null,
        retainedBytes: null,
        deliveredUntil: null,
        now: new Date().toISOString(),
      }
      const status = {
        ...told,
        place: paused.order.place,
        pipeVersion: 1,
        state: 'degraded' as const,
        reason: 'stale',
      }
      assert.equal(await database.write('tellWorker', status, organizationId), false)
      isFrozen = false
      doThaw()
      await until(() => paused.did.includes('abort'), 'the one that was paused learns it and ends')
      assert.deepEqual(next.running(pipeId), [successor])
    })

    it('are held though something of one pipe cannot be kept', async () => {
      const { database } = app().app
      let refused = 0
      let isPicky = true
      const picky = around(database, async (name, write) => {
        if (name !== 'keepDoing' || !isPicky) return write()
        refused++
        throw new Error('it cannot be kept')
      })
      const workers = makeFakeWorkers()
      startRunner(workers, { database: picky })
      const pipes = [await makePipe(), await makePipe()]
      for (const { is } of pipes) await is('Running')
      const [one, other] = pipes.map(({ pipeId }) => workers.running(pipeId)[0]!)
      one!.order.tell({ state: 'running', doing: 'Loading a/\0b.json' })
      await until(() => refused > 0, 'it was tried')
      const expiries = async () =>
        (await Promise.all(pipes.map(({ places }) => places()))).map(([place]) => place!.expiresAt)
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

    it('are left by a runner whose database does not answer, before others may take them', async () => {
      const { database } = app().app
      let isAway = false
      const away = around(database, (_, write) => (isAway ? new Promise(() => undefined) : write()))
      const workers = makeFakeWorkers()
      // A machine that stands still for a moment is no reason to give up, and none to be late.
      startRunner(workers, { database: away, times: { giveUpMs: 2_500, leaseMs: 10_000 } })
      const { pipeId, is, places } = await makePipe()
      await is('Running')
      const worker = workers.running(pipeId)[0]!
      isAway = true
      await until(() => worker.did.includes('abort'), 'it ends by itself')
      const [place] = await places()
      assert.ok(place!.expiresAt > new Date().toISOString(), 'while the lease still holds')
    })

    it('are found again after an answer that was lost', async () => {
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
      assert.equal(workers.made[0]!.order.place.epoch, 2)
    })

    it('are taken at once by a process that is alone on its database', async () => {
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

    it('are shared fairly between two processes, and all are worked on when one ends', async () => {
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
      const slots = [...left.made, ...right.made].filter(({ isRunning }) => isRunning)
      assert.equal(new Set(slots.map(({ pipeId, slot }) => `${pipeId}/${slot}`)).size, 5)
      await first.stop()
      await until(() => working(right) === 5, 'all five there')
    })

    it('are claimed by one of two processes, however often they race', async () => {
      const other = app().dialect === 'postgres' ? await openOther() : app().app
      const [left, right] = [makeFakeWorkers(), makeFakeWorkers()]
      startRunner(left)
      startRunner(right, { database: other.database })
      for (let round = 0; round < 5; round++) {
        const { is, command, pipeId } = await makePipe({ scaling: { replicas: 4 } })
        await is('Running')
        await until(() => {
          const slots = [...left.running(pipeId), ...right.running(pipeId)].map(({ slot }) => slot)
          assert.equal(new Set(slots).size, slots.length, 'nobody works where another does')
          return slots.length === 4
        }, 'all slots are worked on')
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
