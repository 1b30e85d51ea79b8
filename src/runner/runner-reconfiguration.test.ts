// Changes of a pipe while it runs.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFakeWorkers, until } from '../../test/fakes/fake-workers.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { runnersOn } from '../../test/runner-world/runners.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { NotConnected, ProbeFailure } from '../source-shapes/source-failure.ts'

onBothDatabases('the runner', (app) => {
  const { startRunner, makePipe } = runnersOn(app)

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
})
