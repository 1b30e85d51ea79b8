// Partitions that workers claim, the log of a source, and the time up to which it is delivered.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { at, minuteMs, progressOf, zeroCounters } from '../../test/harness/progress.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { finishedPosition } from '../sources/source.ts'
import type { StoredPosition } from './delivery.ts'
import { listPositions, type WorkerLease } from './store.ts'

onBothDatabases('the progress of pipes', (app) => {
  const { write, makePipe } = progressOf(app)

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
})
