import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { at, minuteMs, progressOf, zeroCounters } from '../../test/harness/progress.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { CounterChanges } from './pipe-counters.ts'
import { listRunners } from './runners/store.ts'
import { listDeliveries, listPositions, type WorkerLease } from './store.ts'

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
  const { write, makePipe, workersOf } = progressOf(app)

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
      const isListed = async (seenSince: string) =>
        (await listRunners(app().app.database.reader, seenSince)).some(({ id }) => id === runnerId)
      assert.equal(await isListed(at(14_000)), true)
      assert.equal(await isListed(at(15_000)), false)
      const endDead = (seenAt: string) => write('endDeadRunner', { id: runnerId, seenAt, now: at(20_000) }, 'runner')
      assert.equal(await endDead(at(14_000)), false)
      assert.equal((await workersOf(one.pipeId))[0]?.expiresAt, at(30_000))
      assert.equal(await isListed(at(14_000)), true)
      assert.equal(await endDead(at(15_000)), true)
      assert.equal(await isListed(at(0)), false)
      assert.equal((await workersOf(one.pipeId))[0]?.expiresAt, at(20_000))
      assert.equal((await workersOf(other.pipeId))[0]?.expiresAt, at(30_000))
      await write('reportRunner', report, 'runner')
      assert.equal(await isListed(at(0)), true)
      await write('endRunner', runnerId, 'runner')
      assert.equal(await isListed(at(0)), false)
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
})
