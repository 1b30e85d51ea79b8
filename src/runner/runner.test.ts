import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFakeWorkers, until } from '../../test/fakes/fake-workers.ts'
import { leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { runnersOn } from '../../test/runner-world/runners.ts'
import { VaultError } from '../lib/vault.ts'
import { NotConnected } from '../source-shapes/source-failure.ts'
import { makeWorkerStore } from './worker-store.ts'

onBothDatabases('the runner', (app) => {
  const { startRunner, makePipe } = runnersOn(app)

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
})
