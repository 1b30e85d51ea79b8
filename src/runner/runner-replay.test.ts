// Rejected rows are replayed by the runner of their pipe.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFakeWorkers, until } from '../../test/fakes/fake-workers.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { runnersOn, times } from '../../test/runner-world/runners.ts'
import { EngineError } from '../engine/engine.ts'
import { NotConnected } from '../source-shapes/source-failure.ts'
import { makeWorkerStore, type RunnerDatabase } from './worker-store.ts'

onBothDatabases('the runner', (app) => {
  const { startRunner, makePipe } = runnersOn(app)

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
      const asked = () =>
        app().query<{ at: string | null }>(`SELECT replay_requested_at AS at FROM pipes WHERE id = '${pipeId}'`)
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
})
