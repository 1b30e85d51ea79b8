// The states of pipes, and the pipes to run.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { at, progressOf, zeroCounters } from '../../test/harness/progress.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { hasPipesToRun, listPipesToRun } from '../pipes/store.ts'
import type { CounterChanges } from './pipe-counters.ts'
import { settledState, type WorkerOfPipe } from './settled-state.ts'
import type { WorkerLease } from './store.ts'

onBothDatabases('the progress of pipes', (app) => {
  const { write, makePipe, workersOf } = progressOf(app)

  describe('states', () => {
    it('are those of the workers, and leave version and updatedAt alone', async () => {
      const { claim, leaseOf, reportStatus, stored, reasonOf, load, pipeId } = await makePipe({ replicas: 2 })
      const { updatedAt, version } = await load(pipeId)
      const { epoch } = await claim('runner-a')
      await reportStatus(leaseOf(epoch, 0), 'running')
      assert.equal(await stored(), 'Provisioning')
      await reportStatus(leaseOf(epoch, 1), 'running')
      assert.equal(await stored(), 'Running')
      await reportStatus(leaseOf(epoch, 1), 'degraded', { reason: 'the source is away' })
      assert.deepEqual([await stored(), await reasonOf()], ['Degraded', 'the source is away'])
      await reportStatus(leaseOf(epoch, 1), 'running')
      assert.deepEqual([await stored(), await reasonOf()], ['Running', null])
      await reportStatus(leaseOf(epoch, 0), 'completed')
      assert.equal(await stored(), 'Running')
      await reportStatus(leaseOf(epoch, 1), 'completed')
      assert.equal(await stored(), 'Completed')
      assert.deepEqual(await workersOf(pipeId), [])
      const pipe = await load(pipeId)
      assert.deepEqual([pipe.updatedAt, pipe.version], [updatedAt, version])
    })

    it('clear the last error when its cause is gone, and keep another one', async () => {
      const { claim, leaseOf, reportStatus, pipeId } = await makePipe({ replicas: 2 })
      const lastError = async () =>
        (
          await app().query<{ error: string | null }>(
            `SELECT last_error AS error FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        )[0]?.error
      const { epoch } = await claim('runner-a')
      await reportStatus(leaseOf(epoch, 0), 'degraded', { reason: 'the engine is away' })
      await reportStatus(leaseOf(epoch, 1), 'degraded', { reason: 'the source is away' })
      await reportStatus(leaseOf(epoch, 0), 'running')
      assert.equal(await lastError(), 'the source is away')
      await reportStatus(leaseOf(epoch, 1), 'running')
      assert.equal(await lastError(), null)
      await reportStatus(leaseOf(epoch, 0), 'degraded', { reason: 'the engine is away' })
      await reportStatus(leaseOf(epoch, 1), 'degraded', { reason: 'the source is away' })
      for (const slot of [1, 0]) await reportStatus(leaseOf(epoch, slot), 'running')
      assert.equal(await lastError(), null)
      for (const slot of [0, 1]) await reportStatus(leaseOf(epoch, slot), 'degraded', { reason: 'the engine is away' })
      await reportStatus(leaseOf(epoch, 0), 'running')
      assert.equal(await lastError(), 'the engine is away', 'another worker has the same reason')
      await reportStatus(leaseOf(epoch, 1), 'running')
      assert.equal(await lastError(), null)
      await reportStatus(leaseOf(epoch, 0), 'degraded', { reason: 'the engine is away' })
      await app().query(`UPDATE pipe_figures SET last_error = 'a table was created again' WHERE pipe_id = '${pipeId}'`)
      await reportStatus(leaseOf(epoch, 0), 'running')
      assert.equal(await lastError(), 'a table was created again')
      await reportStatus(leaseOf(epoch, 0), 'degraded', { reason: 'the engine is away' })
      // Its lease expires before it recovers.
      const next = await claim('runner-b', 20_000)
      for (const slot of [0, 1]) await reportStatus(leaseOf(next.epoch, slot), 'running', { now: at(20_000) })
      assert.equal(await lastError(), null)
    })

    it('show the phases of a worker before it only reads changes', async () => {
      const { claim, leaseOf, reportStatus, stored, pipeId } = await makePipe({}, 'postgres')
      const { epoch } = await claim('runner-a')
      const lease = leaseOf(epoch)
      const phases = async () =>
        (await app().query<{ phase: string | null }>(`SELECT phase FROM pipe_workers WHERE pipe_id = '${pipeId}'`)).map(
          ({ phase }) => phase,
        )
      await reportStatus(lease, 'starting', { phase: 'setup' })
      assert.equal(await stored(), 'Setup')
      await reportStatus(lease, 'running', { phase: 'snapshot' })
      assert.equal(await stored(), 'Snapshot')
      await reportStatus(lease, 'degraded', { phase: 'snapshot', reason: 'the source is away' })
      assert.equal(await stored(), 'Degraded')
      await reportStatus(lease, 'running', { phase: 'snapshot' })
      assert.deepEqual([await stored(), await phases()], ['Snapshot', ['snapshot']])
      const successor = await claim('runner-b', 20_000)
      assert.deepEqual([await stored(), await phases()], ['Snapshot', [null]], 'until it has found out')
      await reportStatus(leaseOf(successor.epoch), 'running', { now: at(20_000) })
      assert.equal(await stored(), 'Running')
      await reportStatus(leaseOf(successor.epoch), 'running', { phase: 'resync', now: at(20_000) })
      assert.equal(await stored(), 'Resync')
    })

    it('do not override a concurrent stop', async () => {
      const { claim, leaseOf, reportStatus, stored, send, pipeId, organizationId } = await makePipe()
      const { epoch } = await claim('runner-a')
      await reportStatus(leaseOf(epoch), 'running')
      await send('PATCH', `/${pipeId}/state`, { command: 'stop' })
      await reportStatus(leaseOf(epoch), 'degraded', { reason: 'the source is away' })
      assert.equal(await stored(), 'Stopping')
      const failure = { organizationId, pipeId, lease: { workerIndex: 0, epoch }, reason: 'no', now: at(0) }
      assert.equal(await write('failPipe', { ...failure, state: 'Failed' }, organizationId), true)
      assert.equal(await stored(), 'Stopped')
    })

    it('end with Stopped when the last worker has ended, or its lease has expired', async () => {
      const { claim, leaseOf, reportStatus, stored, send, pipeId, organizationId } = await makePipe({ replicas: 2 })
      const { epoch } = await claim('runner-a')
      for (const slot of [0, 1]) await reportStatus(leaseOf(epoch, slot), 'running')
      await send('PATCH', `/${pipeId}/state`, { command: 'stop' })
      const release = { organizationId, pipeId, leases: [{ workerIndex: 0, epoch }], now: at(1_000) }
      await write('releaseWorkers', release, organizationId)
      assert.equal(await stored(), 'Stopping')
      await write('settlePipe', { organizationId, pipeId, now: at(14_999) }, organizationId)
      assert.equal(await stored(), 'Stopping')
      await write('settlePipe', { organizationId, pipeId, now: at(15_000) }, organizationId)
      assert.equal(await stored(), 'Stopped')
      assert.deepEqual(await workersOf(pipeId), [])
    })

    it('keep the reason of a failed pipe until it is started again', async () => {
      const { claim, reportStatus, leaseOf, stored, reasonOf, send, pipeId, organizationId } = await makePipe()
      const { epoch } = await claim('runner-a')
      await reportStatus(leaseOf(epoch), 'running')
      const failure = { organizationId, pipeId, state: 'Failed' as const, reason: 'the topic is gone', now: at(0) }
      const stale = { ...failure, lease: { workerIndex: 0, epoch: epoch + 1 } }
      assert.equal(await write('failPipe', stale, organizationId), false)
      assert.equal(await stored(), 'Running')
      assert.equal(await write('failPipe', { ...failure, lease: { workerIndex: 0, epoch } }, organizationId), true)
      assert.deepEqual([await stored(), await reasonOf()], ['Failed', 'the topic is gone'])
      await send('PATCH', `/${pipeId}`, { name: 'renamed' })
      assert.deepEqual([await stored(), await reasonOf()], ['Failed', 'the topic is gone'])
      await send('PATCH', `/${pipeId}/state`, { command: 'start' })
      assert.deepEqual([await stored(), await reasonOf()], ['Provisioning', null])
    })
  })

  describe('pipes to run', () => {
    it('are listed with the fields that the runner plans with', async () => {
      const { pipeId, organizationId, serviceId, send } = await makePipe({ replicas: 4 })
      const { reader } = app().app.database
      assert.equal(await hasPipesToRun(reader), true)
      const listed = (await listPipesToRun(reader)).find((pipe) => pipe.pipeId === pipeId)
      assert.deepEqual(listed, {
        pipeId,
        organizationId,
        serviceId,
        kind: 'kafka',
        state: 'Provisioning',
        workerCount: 4,
        version: 1,
        serviceVersion: 1,
        replayRequestedAt: null,
      })
      await send('PATCH', `/${pipeId}/state`, { command: 'stop' })
      assert.equal(
        (await listPipesToRun(reader)).some((pipe) => pipe.pipeId === pipeId),
        false,
      )
    })

    it('clear a replay that is done, and keep one that was requested since', async () => {
      const { pipeId, organizationId } = await makePipe()
      const requested = async () =>
        (await listPipesToRun(app().app.database.reader)).find((pipe) => pipe.pipeId === pipeId)?.replayRequestedAt
      await app().query(`UPDATE pipes SET replay_requested_at = '${at(5)}' WHERE id = '${pipeId}'`)
      await write('endReplay', { organizationId, pipeId, requestedAt: at(0), error: null, now: at(9) }, organizationId)
      assert.equal(await requested(), at(5))
      await write('endReplay', { organizationId, pipeId, requestedAt: at(5), error: 'no', now: at(9) }, organizationId)
      assert.equal(await requested(), null)
      const [counters] = await app().query<{ last_error: string }>(
        `SELECT last_error FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
      )
      assert.equal(counters?.last_error, 'no')
    })

    it('clear the error of a replay, and the rows that a later one inserted', async () => {
      const { pipeId, organizationId, claim, leaseOf, reportStatus, stored, reasonOf } = await makePipe(
        {},
        'objectStorage',
      )
      const lastError = async () =>
        (
          await app().query<{ last_error: string | null }>(
            `SELECT last_error FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        )[0]?.last_error
      const finish = async (lease: WorkerLease, counters: Partial<CounterChanges>) => {
        const change = {
          lease,
          done: [],
          behind: [],
          positions: [],
          counters: { ...zeroCounters, ...counters },
          now: at(1),
        }
        await write('finishDeliveries', change, organizationId)
      }
      const replay = async (error: string | null, rowsReplayed: number) => {
        await app().query(`UPDATE pipes SET replay_requested_at = '${at(5)}', state = 'Running' WHERE id = '${pipeId}'`)
        const lease = leaseOf((await claim('runner-a', 60_000)).epoch)
        await finish(lease, { rowsReplayed })
        await reportStatus(lease, 'completed')
        await write('endReplay', { organizationId, pipeId, requestedAt: at(5), error, now: at(90_000) }, organizationId)
      }
      const { epoch } = await claim('runner-a')
      await finish(leaseOf(epoch), { rowsRefused: 7, rowsWritten: 5 })
      await reportStatus(leaseOf(epoch), 'completed')
      assert.match((await reasonOf()) ?? '', /^7 rows/)
      await replay('the column is missing', 0)
      assert.equal(await lastError(), 'the column is missing')
      await replay(null, 6)
      assert.equal(await lastError(), null)
      assert.match((await reasonOf()) ?? '', /^1 row or file was rejected/)
      await replay(null, 1)
      assert.deepEqual([await stored(), await reasonOf()], ['Completed', null])
      // An error that is not of a replay stays.
      await app().query(`UPDATE pipe_figures SET last_error = 'a table was created again' WHERE pipe_id = '${pipeId}'`)
      await replay(null, 0)
      assert.equal(await lastError(), 'a table was created again')
    })
  })
})

describe('the state of a pipe with workers', () => {
  const worker = (slot: number, state: WorkerOfPipe['state'], more: Partial<WorkerOfPipe> = {}): WorkerOfPipe => ({
    workerIndex: slot,
    workerCount: 2,
    state,
    reason: null,
    phase: null,
    pipeVersion: 3,
    isHeld: true,
    ...more,
  })
  const noRows = { rowsWritten: 0, rowsRejected: 0 }
  const settled = (state: Parameters<typeof settledState>[0]['state'], ...workers: WorkerOfPipe[]) =>
    settledState({ state, version: 3, workerCount: 2, replayRequestedAt: null, lossReason: null, ...noRows }, workers)
      ?.state

  it('stays the same while some of them are missing or starting', () => {
    assert.equal(settled('Provisioning', worker(0, 'running')), undefined)
    assert.equal(settled('Running', worker(0, 'running'), worker(1, 'starting')), undefined)
    assert.equal(settled('Degraded', worker(0, 'running'), worker(1, 'running', { isHeld: false })), undefined)
  })

  it('is Degraded before Modifying', () => {
    assert.equal(settled('Running', worker(0, 'modifying'), worker(1, 'running')), 'Modifying')
    assert.equal(settled('Running', worker(0, 'modifying'), worker(1, 'degraded')), 'Degraded')
    assert.equal(settled('Running', worker(0, 'degraded', { isHeld: false }), worker(1, 'running')), undefined)
  })

  it('is Degraded while records are missing, with a current error as the reason first', () => {
    const pipe = {
      state: 'Running' as const,
      version: 3,
      workerCount: 2,
      replayRequestedAt: null,
      lossReason: 'lost',
      ...noRows,
    }
    const all = [worker(0, 'running'), worker(1, 'running')]
    assert.deepEqual(settledState(pipe, all), { state: 'Degraded', reason: 'lost', isAtRest: false })
    const trouble = worker(1, 'degraded', { reason: 'away' })
    assert.equal(settledState(pipe, [worker(0, 'running'), trouble])?.reason, 'away')
    assert.equal(settledState({ ...pipe, state: 'Stopping' }, [])?.state, 'Stopped')
  })

  it('shows the phase of a worker, unless it is Degraded or Modifying', () => {
    const state = (...workers: WorkerOfPipe[]) =>
      settledState(
        { state: 'Running', version: 3, workerCount: 1, replayRequestedAt: null, lossReason: null, ...noRows },
        workers,
      )?.state
    const only = (state: WorkerOfPipe['state'], more: Partial<WorkerOfPipe>) =>
      worker(0, state, { workerCount: 1, ...more })
    assert.equal(state(only('starting', { phase: 'setup' })), 'Setup')
    assert.equal(state(only('running', { phase: 'snapshot' })), 'Snapshot')
    assert.equal(state(only('running', { phase: 'resync' })), 'Resync')
    assert.equal(state(only('running', { phase: null })), 'Running')
    assert.equal(state(only('modifying', { phase: 'snapshot' })), 'Modifying')
    assert.equal(state(only('degraded', { phase: 'snapshot' })), 'Degraded')
    assert.equal(state(only('running', { phase: 'resync', isHeld: false })), undefined)
    assert.equal(settled('Pausing', only('running', { phase: 'resync' })), undefined)
  })

  it('is Completed with a reason when rows were rejected', () => {
    const pipe = { state: 'Running' as const, version: 3, workerCount: 2, replayRequestedAt: null, lossReason: null }
    const reason = (rowsRejected: number, rowsWritten: number) =>
      settledState({ ...pipe, rowsRejected, rowsWritten }, [worker(0, 'completed'), worker(1, 'completed')])?.reason
    assert.equal(reason(0, 5), null)
    const where = 'see the rejected rows for the reasons'
    assert.equal(reason(1, 5), `1 row or file was rejected, and 5 rows were written; ${where}`)
    assert.equal(reason(7, 0), `7 rows or files were rejected, and nothing was written; ${where}`)
  })

  it('is not Completed by workers of an earlier version or with another worker count', () => {
    assert.equal(settled('Running', worker(0, 'completed'), worker(1, 'completed')), 'Completed')
    assert.equal(settled('Running', worker(0, 'completed', { pipeVersion: 2 }), worker(1, 'completed')), undefined)
    assert.equal(settled('Running', worker(0, 'completed', { workerCount: 1 }), worker(1, 'completed')), undefined)
  })

  it('is not Completed while the first worker must replay rejected rows and holds its lease', () => {
    const pipe = {
      state: 'Running' as const,
      version: 3,
      workerCount: 2,
      replayRequestedAt: at(0),
      lossReason: null,
      ...noRows,
    }
    const state = (...workers: WorkerOfPipe[]) => settledState(pipe, workers)?.state
    const other = worker(1, 'completed')
    assert.equal(state(worker(0, 'completed'), other), 'Running')
    assert.equal(state(worker(0, 'completed', { isHeld: false }), other), 'Completed')
  })

  it('is never changed in states without workers', () => {
    for (const state of ['Stopped', 'Paused', 'Completed', 'Failed', 'InternalError'] as const) {
      assert.equal(settled(state, worker(0, 'running'), worker(1, 'degraded')), undefined)
    }
  })

  it('does not wait for workers that have completed or ended', () => {
    assert.equal(settled('Stopping', worker(0, 'completed'), worker(1, 'running', { isHeld: false })), 'Stopped')
    assert.equal(settled('Pausing'), 'Paused')
    assert.equal(settled('Stopping', worker(0, 'starting')), undefined)
  })
})
