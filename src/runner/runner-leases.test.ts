// Each worker of a pipe runs once, on whichever runner holds its lease.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FakeWorkers, makeFakeWorkers, until } from '../../test/fakes/fake-workers.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { around, runnersOn, times } from '../../test/runner-world/runners.ts'
import { LeaseLost } from './worker.ts'
import { makeWorkerStore } from './worker-store.ts'

onBothDatabases('the runner', (app) => {
  const { started, startRunner, makePipe, openOther } = runnersOn(app)

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
})
