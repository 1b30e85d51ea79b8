import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import { hasPipesToRun, listPipesToRun } from '../pipes/store.ts'
import { finishedPosition } from '../sources/source.ts'
import type { StoredPosition } from './delivery.ts'
import type { CounterChanges } from './pipe-counters.ts'
import { listRunners } from './runners/store.ts'
import { settledState, type WorkerOfPipe } from './settled-state.ts'
import { listDeliveries, listPositions, type WorkerLease } from './store.ts'
import { listWorkers } from './workers/store.ts'

const minuteMs = 60_000
const begin = Date.parse('2026-11-02T10:00:30.000Z')
const at = (ms: number): string => new Date(begin + ms).toISOString()

const zeroCounters: CounterChanges = {
  rowsRead: 0,
  bytesRead: 0,
  rowsWritten: 0,
  bytesWritten: 0,
  rowsRefused: 0,
  rowsReplayed: 0,
  inserts: 0,
  retries: 0,
}
const someCounters: CounterChanges = {
  rowsRead: 10,
  bytesRead: 1000,
  rowsWritten: 8,
  bytesWritten: 300,
  rowsRefused: 2,
  rowsReplayed: 0,
  inserts: 1,
  retries: 3,
}
const ranges = [{ partition: 'orders/0', from: '0', next: '10' }]

onBothDatabases('the progress of pipes', (app) => {
  const write: ReturnType<typeof app>['app']['database']['write'] = (...args) => app().app.database.write(...args)

  async function makePipe(scaling: { replicas?: number } = {}, kind: 'kafka' | 'objectStorage' | 'postgres' = 'kafka') {
    const service = await serviceOfPipes(app())
    const { organizationId } = service
    const { id: pipeId } = await service.create({ ...leastPipes[kind], scaling })
    const claim = (runnerId: string, nowMs = 0, limit = 40) =>
      write(
        'claimWorkers',
        { organizationId, pipeId, runnerId, now: at(nowMs), expiresAt: at(nowMs + 15_000), limit },
        organizationId,
      )
    const leaseOf = (epoch: number, workerIndex = 0): WorkerLease => ({ organizationId, pipeId, workerIndex, epoch })
    const reportStatus = (lease: WorkerLease, state: WorkerOfPipe['state'], more: object = {}) =>
      write(
        'reportWorker',
        {
          lease,
          pipeVersion: 1,
          state,
          reason: null,
          doing: '',
          lag: null,
          phase: null,
          retainedBytes: null,
          deliveredUntil: null,
          now: at(0),
          ...more,
        },
        organizationId,
      )
    const stored = async () => (await service.load(pipeId)).state
    const reasonOf = async () =>
      (await app().query<{ state_reason: string | null }>(`SELECT state_reason FROM pipes WHERE id = '${pipeId}'`))[0]
        ?.state_reason
    return { ...service, pipeId, claim, leaseOf, reportStatus, stored, reasonOf }
  }

  const workersOf = async (pipeId: string) =>
    (await listWorkers(app().app.database.reader)).filter((worker) => worker.pipeId === pipeId)

  describe('claims', () => {
    it('give a worker index to one of many concurrent claims', async () => {
      const { claim } = await makePipe({ replicas: 3 })
      const answers = await Promise.all(Array.from({ length: 8 }, () => claim(newId(), 0, 1)))
      const slots = answers.flatMap(({ claimed }) => claimed).sort()
      assert.deepEqual(slots, [0, 1, 2])
      assert.equal(new Set(answers.filter(({ claimed }) => claimed.length > 0).map(({ epoch }) => epoch)).size, 3)
    })

    it('take over expired leases with another epoch, and none before', async () => {
      const { claim, pipeId } = await makePipe()
      const first = await claim('runner-a')
      assert.deepEqual(first, { workerCount: 1, epoch: 1, claimed: [0] })
      assert.deepEqual((await claim('runner-b', 14_999)).claimed, [])
      assert.deepEqual(await claim('runner-b', 15_000), { workerCount: 1, epoch: 2, claimed: [0] })
      assert.deepEqual(
        (await workersOf(pipeId)).map(({ runnerId, epoch, state }) => [runnerId, epoch, state]),
        [['runner-b', 2, 'starting']],
      )
    })

    it('are for one worker when the files of object storage must not be shared', async () => {
      const { claim, send, pipeId } = await makePipe({ replicas: 3 }, 'objectStorage')
      const { status } = await send('PUT', `/${pipeId}/settings`, { object_storage_use_cluster_function: false })
      assert.equal(status, 200)
      assert.deepEqual((await claim('runner-a')).claimed, [0])
    })

    it('wait until no worker has another worker count', async () => {
      const { claim, send, pipeId, organizationId } = await makePipe({ replicas: 2 })
      const { epoch } = await claim('runner-a')
      await send('PATCH', `/${pipeId}/scaling`, { replicas: 3 })
      assert.deepEqual((await claim('runner-b')).claimed, [])
      const release = { organizationId, pipeId, leases: [{ workerIndex: 0, epoch }], now: at(0) }
      await write('releaseWorkers', release, organizationId)
      assert.deepEqual((await claim('runner-b')).claimed, [], 'the other slot is still worked on')
      assert.deepEqual(await claim('runner-b', 15_000), { workerCount: 3, epoch: epoch + 1, claimed: [0, 1, 2] })
    })

    it('give nothing for a pipe that is stopped or deleted', async () => {
      const { claim, send, pipeId } = await makePipe()
      await send('PATCH', `/${pipeId}/state`, { command: 'stop' })
      assert.deepEqual((await claim('runner-a')).claimed, [])
      await send('DELETE', `/${pipeId}`)
      assert.deepEqual((await claim('runner-a')).claimed, [])
    })

    it('skip a worker that has loaded everything, until the pipe is changed', async () => {
      const { claim, send, reportStatus, leaseOf, pipeId } = await makePipe({ replicas: 2 })
      const { epoch } = await claim('runner-a')
      await reportStatus(leaseOf(epoch, 1), 'completed')
      assert.deepEqual((await claim('runner-b', 20_000)).claimed, [0])
      await send('PATCH', `/${pipeId}`, { settings: { streaming_max_insert_wait_ms: 700 } })
      assert.deepEqual((await claim('runner-b', 20_000)).claimed, [1])
    })
  })

  describe('leases', () => {
    it('are renewed all at once, and those that were taken over are not returned', async () => {
      const one = await makePipe()
      const other = await makePipe()
      const runnerId = newId()
      const { epoch } = await one.claim(runnerId)
      await other.claim(runnerId)
      await other.claim('runner-b', 15_000)
      const doing = {
        pipeId: one.pipeId,
        slot: 0,
        epoch,
        doing: 'Reading',
        lag: 7,
        retainedBytes: null,
        deliveredUntil: null,
      }
      const lost = {
        pipeId: other.pipeId,
        slot: 0,
        epoch: 1,
        doing: 'Writing',
        lag: 9,
        retainedBytes: null,
        deliveredUntil: null,
      }
      const report = { runnerId, startedAt: at(0), now: at(15_000), expiresAt: at(30_000) }
      const held = await write('reportRunner', report, 'runner')
      assert.deepEqual(held, [one.leaseOf(epoch)])
      for (const one of [doing, lost]) await write('keepDoing', one, 'runner')
      const expiries = [...(await workersOf(one.pipeId)), ...(await workersOf(other.pipeId))]
      assert.deepEqual(
        expiries.map(({ expiresAt, runnerId }) => [expiresAt, runnerId === 'runner-b']),
        [
          [at(30_000), false],
          [at(30_000), true],
        ],
      )
      const rows = await app().query(
        `SELECT doing, lag_records FROM pipe_workers WHERE pipe_id IN ('${one.pipeId}', '${other.pipeId}') ORDER BY doing`,
      )
      assert.deepEqual(
        rows.map((row) => Object.values(row as object).map((value) => (value === null ? null : String(value)))),
        [
          ['', null],
          ['Reading', '7'],
        ],
      )
      assert.deepEqual((await listRunners(app().app.database.reader, at(14_000))).includes(runnerId), true)
      assert.deepEqual((await listRunners(app().app.database.reader, at(15_000))).includes(runnerId), false)
      await write('endRunner', runnerId, 'runner')
      assert.deepEqual((await listRunners(app().app.database.reader, at(0))).includes(runnerId), false)
    })
  })

  describe('writes of a worker', () => {
    const writesOf = (lease: WorkerLease) => {
      const { organizationId } = lease
      const delivery = { id: 'token-1', number: 1, ranges, shape: 'of these columns' }
      const positions = [{ partition: 'orders/0', position: '10' }]
      const finish = { lease, done: [], behind: ['token-1'], positions, counters: someCounters, now: at(0) }
      return [
        () =>
          write(
            'setPositions',
            { lease, positions: [{ partition: 'orders/0', position: '0' }], now: at(0) },
            organizationId,
          ),
        () => write('beginDelivery', { lease, delivery }, organizationId),
        () =>
          write('rejectRows', { lease, deliveryId: 'token-1', badRows: [{ index: 3, reason: 'no' }] }, organizationId),
        () => write('finishDeliveries', finish, organizationId),
      ]
    }

    it('are stored while it holds the lease', async () => {
      const { claim, leaseOf, pipeId } = await makePipe({ replicas: 2 })
      const lease = leaseOf((await claim('runner-a')).epoch, 1)
      const { reader } = app().app.database
      const [setPositions, begin, refuse, finish] = writesOf(lease)
      assert.equal(await setPositions!(), true)
      assert.deepEqual(await listPositions(reader, pipeId), [{ partition: 'orders/0', position: '0' }])
      assert.equal(await begin!(), true)
      const shape = 'of these columns'
      const delivery = { id: 'token-1', workerIndex: 1, workerCount: 2, number: 1, ranges, shape, isDone: false }
      assert.deepEqual(await listDeliveries(reader, pipeId), [delivery])
      assert.equal(await refuse!(), true)
      assert.deepEqual(await listDeliveries(reader, pipeId), [{ ...delivery, badRows: [{ index: 3, reason: 'no' }] }])
      assert.equal(await finish!(), true)
      assert.deepEqual(await listDeliveries(reader, pipeId), [])
      assert.deepEqual(await listPositions(reader, pipeId), [{ partition: 'orders/0', position: '10' }])
    })

    it('are rejected after another worker has taken the lease, and change nothing', async () => {
      const { claim, leaseOf, pipeId } = await makePipe()
      const old = leaseOf((await claim('runner-a')).epoch)
      const next = leaseOf((await claim('runner-b', 15_000)).epoch)
      for (const refused of writesOf(old)) assert.equal(await refused(), false)
      const { reader } = app().app.database
      assert.deepEqual([await listPositions(reader, pipeId), await listDeliveries(reader, pipeId)], [[], []])
      for (const made of writesOf(next)) assert.equal(await made(), true)
      for (const refused of writesOf(old)) assert.equal(await refused(), false)
      assert.deepEqual(await listPositions(reader, pipeId), [{ partition: 'orders/0', position: '10' }])
    })

    it('are rejected when the pipe has been deleted', async () => {
      const { claim, leaseOf, send, pipeId, reportStatus } = await makePipe()
      const lease = leaseOf((await claim('runner-a')).epoch)
      for (const made of writesOf(lease)) assert.equal(await made(), true)
      assert.equal((await send('DELETE', `/${pipeId}`)).status, 200)
      for (const refused of writesOf(lease)) assert.equal(await refused(), false)
      assert.equal(await reportStatus(lease, 'running'), false)
      assert.deepEqual(await listPositions(app().app.database.reader, pipeId), [])
    })

    it('keep an earlier delivery open while a later one is done, and resume within an object', async () => {
      const { claim, leaseOf, pipeId, organizationId } = await makePipe()
      const lease = leaseOf((await claim('runner-a')).epoch)
      const { reader } = app().app.database
      for (const number of [1, 2]) {
        const delivery = { id: `token-${number}`, number, ranges: [{ ...ranges[0]!, beginByte: 5, endByte: null }] }
        await write('beginDelivery', { lease, delivery }, organizationId)
      }
      const nothing = { lease, positions: [], counters: zeroCounters, now: at(0) }
      await write('finishDeliveries', { ...nothing, done: ['token-2'], behind: [] }, organizationId)
      assert.deepEqual(
        (await listDeliveries(reader, pipeId)).map(({ id, isDone }) => [id, isDone]),
        [
          ['token-1', false],
          ['token-2', true],
        ],
      )
      const positions = [{ partition: 'objects', position: 'a', within: 'b', offsetBytes: 5_000_000_000 }]
      await write(
        'finishDeliveries',
        { ...nothing, done: [], behind: ['token-1', 'token-2'], positions },
        organizationId,
      )
      assert.deepEqual(await listDeliveries(reader, pipeId), [])
      assert.deepEqual(await listPositions(reader, pipeId), positions)
      const whole = [{ partition: 'objects', position: 'b' }]
      await write('setPositions', { lease, positions: whole, now: at(0) }, organizationId)
      assert.deepEqual(await listPositions(reader, pipeId), whole)
    })

    it('return names that a database cannot store unchanged, and report them in a readable form', async () => {
      const { claim, leaseOf, pipeId, organizationId, reportStatus, reasonOf } = await makePipe()
      const lease = leaseOf((await claim('runner-a')).epoch)
      const { reader } = app().app.database
      for (const key of ['a/\0b', '\ud800 lone \udfff', '"a"', '"', 'plain %00 \\u0000', '']) {
        const positions = [{ partition: `objects ${key}`, position: `%22etag%22 ${key}`, within: key, offsetBytes: 1 }]
        await app().query(`DELETE FROM pipe_positions WHERE pipe_id = '${pipeId}'`)
        await write('setPositions', { lease, positions, now: at(0) }, organizationId)
        assert.deepEqual(await listPositions(reader, pipeId), positions)
        const delivery = { id: 'token', number: 1, ranges: [{ partition: key, from: key, next: key }] }
        await write('beginDelivery', { lease, delivery }, organizationId)
        assert.deepEqual((await listDeliveries(reader, pipeId))[0]!.ranges, delivery.ranges)
        const counters = { lease, done: [], behind: ['token'], positions: [], counters: zeroCounters, now: at(0) }
        await write('finishDeliveries', counters, organizationId)
      }
      const poison = `a/\0b\ud800 ${'x'.repeat(5_000)}`
      const clean = `a/\ufffdb\ufffd ${'x'.repeat(994)}`
      const kept = { doing: poison, delivery: { delivery: 'at_least_once', reason: poison } }
      assert.equal(await reportStatus(lease, 'degraded', { ...kept, reason: poison }), true)
      assert.equal(await reasonOf(), clean)
      const shown = async () =>
        Object.values(
          (
            await app().query<object>(
              `SELECT doing, delivery_reason, last_error FROM pipe_workers
               JOIN pipe_figures ON pipe_figures.pipe_id = pipe_workers.pipe_id
               WHERE pipe_workers.pipe_id = '${pipeId}'`,
            )
          )[0]!,
        )
      assert.deepEqual(await shown(), [clean, clean, clean])
      const doing = {
        pipeId,
        slot: 0,
        epoch: lease.epoch,
        doing: 'b\0',
        lag: null,
        retainedBytes: null,
        deliveredUntil: null,
      }
      await write('keepDoing', doing, 'runner')
      assert.equal((await shown())[0], 'b\ufffd')
      const failure = { organizationId, pipeId, state: 'Failed' as const, reason: `c${poison}`, now: at(0) }
      assert.equal(await write('failPipe', failure, organizationId), true)
      assert.equal(await reasonOf(), `c${clean}`.slice(0, 1_000))
    })

    it('are counted once, also when repeated, and by the minute', async () => {
      const { claim, leaseOf, pipeId, organizationId } = await makePipe()
      const lease = leaseOf((await claim('runner-a')).epoch)
      for (const [index, ms] of [0, 10, minuteMs].entries()) {
        const id = `token-${index}`
        await write('beginDelivery', { lease, delivery: { id, number: index, ranges } }, organizationId)
        const finish = { lease, done: [], behind: [id], positions: [], counters: someCounters, now: at(ms) }
        for (let time = 0; time < 2; time++) await write('finishDeliveries', finish, organizationId)
      }
      const retried = {
        lease,
        done: [],
        behind: [],
        positions: [],
        counters: { ...zeroCounters, retries: 1 },
        now: at(0),
      }
      await write('finishDeliveries', retried, organizationId)
      const [counters] = await app().query<Record<string, unknown>>(
        `SELECT rows_read, bytes_read, rows_written, bytes_written, rows_refused, inserts, retries, last_insert_at
         FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
      )
      assert.deepEqual(Object.values(counters!).map(String), ['30', '3000', '24', '900', '6', '3', '10', at(minuteMs)])
      const throughput = async () =>
        (
          await app().query<object>(
            `SELECT minute, rows_read, rows_written FROM pipe_throughput WHERE pipe_id = '${pipeId}' ORDER BY minute`,
          )
        ).map((row) => Object.values(row).map(String))
      assert.deepEqual(await throughput(), [
        ['2026-11-02T10:00:00.000Z', '20', '16'],
        ['2026-11-02T10:01:00.000Z', '10', '8'],
      ])
      const dayMs = 24 * 60 * minuteMs
      const rejections = async () =>
        (
          await app().query<object>(
            `SELECT day, rejected FROM pipe_rejections WHERE pipe_id = '${pipeId}' ORDER BY day`,
          )
        ).map((row) => Object.values(row).map(String))
      assert.deepEqual(await rejections(), [['2026-11-02', '6']])
      // Days that the engine no longer keeps are deleted with the next rejection.
      for (const days of [1, 6, 7]) {
        const delivery = { id: `day-${days}`, number: days, ranges }
        await write('beginDelivery', { lease, delivery }, organizationId)
        const finish = { lease, done: [], behind: [delivery.id], positions: [], counters: someCounters }
        await write('finishDeliveries', { ...finish, now: at(days * dayMs) }, organizationId)
      }
      assert.deepEqual(await rejections(), [
        ['2026-11-03', '2'],
        ['2026-11-08', '2'],
        ['2026-11-09', '2'],
      ])
      const left = { lease, countByDay: { '2026-11-08': 1 } }
      assert.equal(await write('setRejections', left, organizationId), true)
      assert.deepEqual(await rejections(), [['2026-11-08', '1']])
      const lost = { lease: { ...lease, epoch: lease.epoch + 1 }, countByDay: {} }
      assert.equal(await write('setRejections', lost, organizationId), false)
      assert.deepEqual(await rejections(), [['2026-11-08', '1']])
      await write('forgetOldThroughput', { now: '2026-11-03T11:00:59.000Z' }, 'maintenance')
      assert.deepEqual((await throughput())[0], ['2026-11-02T10:01:00.000Z', '10', '8'])
    })
  })

  describe('claimed partitions', () => {
    const dayMs = 24 * 60 * minuteMs
    const taking = (lease: WorkerLease, ...partitions: string[]) =>
      write('claimPositions', { lease, partitions }, lease.organizationId)
    const finish = (lease: WorkerLease, positions: StoredPosition[], nowMs = 0) =>
      write(
        'finishDeliveries',
        { lease, done: [], behind: [], positions, counters: zeroCounters, now: at(nowMs) },
        lease.organizationId,
      )
    const finished = (partition: string): StoredPosition => ({ partition, position: finishedPosition })
    const positionsOf = (pipeId: string) => listPositions(app().app.database.reader, pipeId)
    const forget = (nowMs: number) => write('forgetFinishedPartitions', { now: at(nowMs) }, 'maintenance')

    async function makeQueue(replicas: number) {
      const pipe = await makePipe({ replicas }, 'objectStorage')
      const { epoch } = await pipe.claim('runner-a')
      return { ...pipe, epoch, leases: Array.from({ length: replicas }, (_, slot) => pipe.leaseOf(epoch, slot)) }
    }

    it('belong to one of several workers that claim them at once', async () => {
      const { leases, pipeId } = await makeQueue(3)
      const answers = await Promise.all(leases.map((lease) => taking(lease, 'a', 'b')))
      assert.deepEqual(answers.flat().toSorted(), ['mine', 'mine', 'others', 'others', 'others', 'others'])
      const workerIndex = answers.findIndex((claims) => claims?.[0] === 'mine')
      assert.deepEqual(await positionsOf(pipeId), [
        { partition: 'a', position: '', workerIndex },
        { partition: 'b', position: '', workerIndex },
      ])
      for (const lease of leases) {
        const [claim] = (await taking(lease, 'a'))!
        assert.equal(claim, lease.workerIndex === workerIndex ? 'mine' : 'others')
      }
    })

    it('are returned in the order of the request', async () => {
      const { leases } = await makeQueue(2)
      const [first, second] = leases as [WorkerLease, WorkerLease]
      assert.deepEqual(await taking(first, 'b', 'd'), ['mine', 'mine'])
      assert.deepEqual(await finish(first, [finished('d')]), true)
      assert.deepEqual(await taking(second, 'd', 'c', 'b', 'a', 'c'), ['finished', 'mine', 'others', 'mine', 'mine'])
      assert.deepEqual(await taking(second), [])
    })

    it('can be a thousand at once, including names that a database cannot store', async () => {
      const { leases, pipeId } = await makeQueue(1)
      const partitions = Array.from({ length: 1_000 }, (_, index) => `object:"${index}" \0 \ud800 "${index}`)
      assert.deepEqual(new Set(await taking(leases[0]!, ...partitions)), new Set(['mine']))
      const kept = (await positionsOf(pipeId)).map(({ partition }) => partition)
      assert.deepEqual(kept.toSorted(), partitions.toSorted())
    })

    it('are rejected after another worker has taken the lease', async () => {
      const { claim, leaseOf, leases, pipeId } = await makeQueue(1)
      const next = leaseOf((await claim('runner-b', 15_000)).epoch)
      assert.ok(!(await taking(leases[0]!, 'a')))
      assert.deepEqual(await positionsOf(pipeId), [])
      assert.deepEqual(await taking(next, 'a'), ['mine'])
      assert.ok(!(await taking(leases[0]!, 'a')))
      assert.equal(await finish(leases[0]!, [finished('a')]), false)
      assert.deepEqual(await taking(next, 'a'), ['mine'])
    })

    it('stay with the next worker of the same index, whatever their position', async () => {
      const { claim, leaseOf, leases, pipeId } = await makeQueue(2)
      await taking(leases[1]!, 'a')
      const part = { partition: 'a', position: '', within: finishedPosition, offsetBytes: 7 }
      await finish(leases[1]!, [part])
      assert.deepEqual(await positionsOf(pipeId), [{ ...part, workerIndex: 1 }])
      const { epoch } = await claim('runner-b', 15_000)
      assert.deepEqual(await taking(leaseOf(epoch, 0), 'a'), ['others'])
      assert.deepEqual(await taking(leaseOf(epoch, 1), 'a'), ['mine'])
      assert.deepEqual(await positionsOf(pipeId), [{ ...part, workerIndex: 1 }])
    })

    it('are not listed when they are finished, and stay finished', async () => {
      const { leases, pipeId, organizationId } = await makeQueue(2)
      const [first, second] = leases as [WorkerLease, WorkerLease]
      await taking(first, 'a', 'b')
      await finish(first, [finished('a'), { partition: 'objects', position: 'z' }])
      await write('setPositions', { lease: first, positions: [finished('b')], now: at(0) }, organizationId)
      assert.deepEqual(await positionsOf(pipeId), [{ partition: 'objects', position: 'z' }])
      await finish(first, [{ partition: 'a', position: '', within: finishedPosition, offsetBytes: 1 }])
      for (const lease of [first, second]) assert.deepEqual(await taking(lease, 'a', 'b'), ['finished', 'finished'])
      assert.deepEqual(await positionsOf(pipeId), [{ partition: 'objects', position: 'z' }])
    })

    it('differ from ordinary positions, which are neither claimed nor finished', async () => {
      const { leases, pipeId } = await makeQueue(1)
      const lease = leases[0]!
      await finish(lease, [finished('objects')])
      await assert.rejects(taking(lease, 'a', 'objects'))
      await forget(100 * dayMs)
      assert.deepEqual(await positionsOf(pipeId), [finished('objects')])
    })

    it('are deleted 15 days after they were finished, a thousand at a time, and nothing else is', async () => {
      const { leases, pipeId } = await makeQueue(1)
      const lease = leases[0]!
      const partitions = Array.from({ length: 1_001 }, (_, index) => `object ${index}`)
      await taking(lease, 'open', 'late', ...partitions)
      await finish(lease, partitions.map(finished))
      await finish(lease, partitions.map(finished), dayMs)
      await finish(lease, [finished('late')], dayMs)
      await finish(lease, [{ partition: 'objects', position: 'z' }])
      while ((await forget(15 * dayMs)) > 0) {}
      assert.deepEqual(await taking(lease, 'object 0', 'late', 'open'), ['finished', 'finished', 'mine'])
      const counts = [await forget(15 * dayMs + 1), await forget(15 * dayMs + 1), await forget(15 * dayMs + 1)]
      assert.deepEqual(counts, [1_000, 1, 0])
      assert.deepEqual(await taking(lease, 'object 0', 'late', 'open'), ['mine', 'finished', 'mine'])
      assert.deepEqual(
        (await positionsOf(pipeId)).map(({ partition }) => partition),
        ['object 0', 'objects', 'open'],
      )
    })

    it('of workers that no longer exist go to the first worker', async () => {
      const { leases, claim, leaseOf, send, pipeId, organizationId, epoch } = await makeQueue(3)
      for (const [slot, lease] of leases.entries()) await taking(lease, `of ${slot}`, `done by ${slot}`)
      for (const [slot, lease] of leases.entries()) await finish(lease, [finished(`done by ${slot}`)])
      await send('PATCH', `/${pipeId}/scaling`, { replicas: 2 })
      const released = leases.map(({ workerIndex }) => ({ workerIndex, epoch }))
      await write('releaseWorkers', { organizationId, pipeId, leases: released, now: at(0) }, organizationId)
      const next = await claim('runner-b')
      assert.deepEqual(next, { workerCount: 2, epoch: epoch + 1, claimed: [0, 1] })
      const all = [0, 1, 2].flatMap((slot) => [`of ${slot}`, `done by ${slot}`])
      const [first, second] = [leaseOf(next.epoch, 0), leaseOf(next.epoch, 1)]
      const ofFirst = ['mine', 'finished', 'others', 'finished', 'mine', 'finished']
      const ofSecond = ['others', 'finished', 'mine', 'finished', 'others', 'finished']
      assert.deepEqual(await taking(second, ...all), ofSecond, 'before the first has taken it')
      assert.deepEqual(await taking(first, ...all), ofFirst)
      assert.deepEqual(await taking(second, ...all), ofSecond)
      assert.deepEqual(
        (await positionsOf(pipeId)).map(({ partition, workerIndex }) => [partition, workerIndex]),
        [
          ['of 0', 0],
          ['of 1', 1],
          ['of 2', 0],
        ],
      )
    })

    it('are deleted with their pipe, and are separate from those of others', async () => {
      const one = await makeQueue(1)
      const other = await makeQueue(1)
      await taking(one.leases[0]!, 'a', 'b')
      await finish(one.leases[0]!, [finished('a')])
      assert.deepEqual(await taking(other.leases[0]!, 'a', 'b'), ['mine', 'mine'])
      assert.equal((await one.send('DELETE', `/${one.pipeId}`)).status, 200)
      const left = await app().query(`SELECT 1 FROM pipe_positions WHERE pipe_id = '${one.pipeId}'`)
      assert.deepEqual(left, [])
      assert.equal((await positionsOf(other.pipeId)).length, 2)
    })
  })

  describe('the log that a source keeps', () => {
    it('has the last reported size, without reports of workers that have lost their lease', async () => {
      const { claim, leaseOf, reportStatus, pipeId } = await makePipe({}, 'postgres')
      const { epoch } = await claim('runner-a')
      const doing = { pipeId, slot: 0, epoch, doing: '', lag: null }
      const retained = async () =>
        (
          await app().query<{ retained_bytes: number | string | null }>(
            `SELECT retained_bytes FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        ).map((row) => Number(row.retained_bytes))
      await write('keepDoing', { ...doing, retainedBytes: 1, deliveredUntil: null }, 'runner')
      assert.deepEqual(await retained(), [], 'what has no counters yet gets none')
      await reportStatus(leaseOf(epoch), 'running', { retainedBytes: 5_000_000_000, deliveredUntil: null })
      assert.deepEqual(await retained(), [5_000_000_000])
      await write('keepDoing', { ...doing, retainedBytes: 7, deliveredUntil: null }, 'runner')
      assert.deepEqual(await retained(), [7])
      await write('keepDoing', { ...doing, retainedBytes: null, deliveredUntil: null }, 'runner')
      await reportStatus(leaseOf(epoch), 'degraded', { reason: 'the source is away' })
      assert.deepEqual(await retained(), [7])
      await claim('runner-b', 20_000)
      await write('keepDoing', { ...doing, retainedBytes: 8, deliveredUntil: null }, 'runner')
      assert.deepEqual(await retained(), [7])
    })
  })

  describe('the time up to which the source is delivered', () => {
    it('is the earliest of all workers, stays while one does not know it, and never goes back', async () => {
      const { claim, leaseOf, reportStatus, pipeId } = await makePipe({ replicas: 2 })
      const delivered = async () =>
        (
          await app().query<{ until: string | null }>(
            `SELECT delivered_until AS until FROM pipe_figures WHERE pipe_id = '${pipeId}'`,
          )
        )[0]?.until
      const { epoch } = await claim('runner-a')
      const delivery = { delivery: 'exactly_once', reason: null }
      await reportStatus(leaseOf(epoch, 0), 'running', { deliveredUntil: at(5_000), delivery })
      assert.equal(await delivered(), null)
      await reportStatus(leaseOf(epoch, 1), 'running', { deliveredUntil: at(3_000) })
      assert.equal(await delivered(), at(3_000))
      const doing = { pipeId, slot: 1, epoch, doing: '', lag: null, retainedBytes: null, deliveredUntil: at(7_000) }
      await write('keepDoing', doing, 'runner')
      assert.equal(await delivered(), at(5_000))
      // Another runner has the leases, and has not reported the time yet.
      const next = await claim('runner-b', 20_000)
      await write('keepDoing', { ...doing, epoch: next.epoch, deliveredUntil: at(9_000) }, 'runner')
      assert.equal(await delivered(), at(5_000))
      await write('keepDoing', { ...doing, slot: 0, epoch: next.epoch, deliveredUntil: at(4_000) }, 'runner')
      assert.equal(await delivered(), at(5_000))
      await write('keepDoing', { ...doing, slot: 0, epoch: next.epoch, deliveredUntil: at(8_000) }, 'runner')
      assert.equal(await delivered(), at(8_000))
    })
  })

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
