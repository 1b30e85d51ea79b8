// Reads the WAL stream and sends batches of whole transactions: one at a time, while the next one is gathered. The LSN is acknowledged
// to the source only when the engine has the batch.
import { hash } from 'node:crypto'
import { countOf } from '../../lib/count-text.ts'
import type { DeliveryRange } from '../../progress/delivery.ts'
import type { CounterChanges } from '../../progress/pipe-counters.ts'
import { decodeMessage, makeScratch, type Relation } from '../../sources/postgres/pgoutput.ts'
import {
  lsnText,
  type PostgresLink,
  parseLsn,
  type WalBlock,
  type WalStream,
} from '../../sources/postgres/postgres-link.ts'
import { tableName } from '../../sources/postgres/postgres-names.ts'
import { findWalEnd } from '../../sources/postgres/postgres-wal-end.ts'
import { addCounters, zeroCounters } from '../counters.ts'
import { tokenOf } from '../delivery-token.ts'
import { type Changes, type Gathered, makeChanges, type ReloadNeed } from './changes.ts'
import { completeRows } from './complete-rows.ts'
import { lineRows, shapeOf } from './line-rows.ts'
import { deletedColumn, versionColumn, walPartition } from './names.ts'
import { makeGate, type Replication, send } from './replication.ts'
import type { Target } from './target.ts'
import { makeFreshness } from './wal-freshness.ts'

/** Log per chunk, with one insert per table; a worker holds two in memory. It must not change while a batch is unfinished. */
const chunkBytes = 16 * 1024 * 1024
const readBytes = 4 * 1024 * 1024
const longestReadMs = 1_000
const insertsAtOnce = 4
/** Inserts, updates, deletes, truncates. Relation messages, which a connection may repeat, must not move a cut. */
const changeLetters = new Set([...'IUDT'].map((letter) => letter.charCodeAt(0)))

export interface StreamParts {
  wal: WalStream
  /** For values that are not in the log. */
  link: PostgresLink
  /** LSN up to which everything is durable. */
  durable: bigint
  /** A batch that was begun and not finished by an earlier attempt. */
  left: { id: string; ranges: DeliveryRange[] } | undefined
  nextNumber: number
  targetsOf(relation: Relation): Target[]
  isFilled(target: Target): boolean
  /** While true, the status reports the load. */
  isLoading(): boolean
  /** Called for a new or changed relation. Resolves when its targets are ready for it. */
  applySchemaChange(change: { relation: Relation; before: Relation | undefined; commitLsn: bigint }): Promise<void>
  partitionsOf(relationId: number): Target[]
  /** Called for changes that cannot be applied. Rejects unless the target is being replaced already. */
  reload(need: ReloadNeed): Promise<void>
}

export interface Stream {
  /** Runs until the worker stops. */
  follow(): Promise<void>
  /** Other targets are filled from now on. */
  targetsChanged(): void
}

export function makeStream(replication: Replication, parts: StreamParts): Stream {
  const { wal } = parts
  const { store, stopping, status, source, builder, well, gate } = replication
  const { pullBatchSize, syncIntervalSeconds } = source.settings
  const { durable } = parts
  let { left, nextNumber } = parts
  let lastSentMs = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | undefined
  let isBusy = false
  let failure: { error: unknown } | undefined
  const failing = new AbortController()
  const reading = AbortSignal.any([stopping, failing.signal])
  let acknowledged = durable
  /** Start LSN of the batch that is being gathered. */
  let gatheredFrom = durable
  let open: OpenBatch | undefined
  /** A link runs one query at a time. */
  const completing = makeGate()
  const changes = makeChanges({
    durable: () => gatheredFrom,
    targetsOf: parts.targetsOf,
    partitionsOf: parts.partitionsOf,
  })
  const scratch = makeScratch()
  const freshness = makeFreshness({
    everyMs: replication.times.stalledMs / 2,
    findEnd: () => completing.run(() => findWalEnd(parts.link)),
    delivered: (untilMs) => {
      if (!parts.isLoading()) status.delivered(untilMs)
    },
  })

  const begin = async (): Promise<OpenBatch> => {
    if (open) return open
    await settled()
    const ranges = [{ partition: walPartition, from: lsnText(gatheredFrom), next: lsnText(changes.commitLsn) }]
    const id = left?.id ?? tokenOf(replication.parts.pipe.id, ranges)
    if (!left) await store.begin({ id, number: nextNumber++, ranges })
    open = { id, isRepeat: left !== undefined, chunk: 0, counters: zeroCounters }
    return open
  }

  const settled = async (): Promise<void> => {
    await underWay
    if (failure) throw failure.error
  }

  /** Sends what was gathered before anything else is read. */
  const cut = async (): Promise<void> => {
    const batch = await begin()
    await gate.run(() => sendChunk(batch, changes.take()))
  }

  const sendChunk = async (batch: OpenBatch, gathered: Gathered[]): Promise<void> => {
    const chunk = batch.chunk++
    const waiting = gathered.filter(
      ({ target, lines }) => parts.isFilled(target) && lines.count + lines.incomplete.length > 0,
    )
    const sendNext = async (): Promise<void> => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        const counters = await sendLines(one, batch, chunk)
        // The send was given up because the worker stops: the batch stays recorded.
        if (!counters) throw new GivenUp()
        batch.counters = addCounters(batch.counters, counters)
      }
    }
    await Promise.all(Array.from({ length: Math.min(insertsAtOnce, waiting.length) }, sendNext))
  }

  const sendLines = async (
    { target, number, columns, keyColumns, lines }: Gathered,
    { id, isRepeat }: OpenBatch,
    chunk: number,
  ): Promise<CounterChanges | undefined> => {
    if (lines.incomplete.length > 0) {
      await completing.run(() => completeRows(parts.link, target.mapping, keyColumns, lines.incomplete))
    }
    const rows = lineRows({
      shape: shapeOf(columns),
      ...lines.take(),
      loadId: target.stored.loadId,
      partition: tableName(target.mapping),
      position: (index) => `change ${index + 1} of ${id}`,
    })
    const digest = hash('sha256', JSON.stringify([id, target.stored.loadId, chunk, number]), 'hex')
    const token = `penstock-${digest.slice(0, 40)}`
    // Completed values were read from the source, which may have changed since an earlier attempt: compare rows by key and version.
    return send(replication, target, { token, rows, isRepeat, identity: [...keyColumns, versionColumn] })
  }

  /** Called at the end of a transaction: what was gathered is one batch, or the last chunk of one. */
  const finish = async (): Promise<void> => {
    const isNothing = !open && !left && changes.isEmpty
    const { commitLsn, committedAtMs, endLsn } = changes
    if (isNothing) return
    const batch = await begin()
    const gathered = changes.take()
    open = undefined
    left = undefined
    gatheredFrom = commitLsn
    lastSentMs = performance.now()
    isBusy = true
    underWay = gate
      .run(async () => {
        await sendChunk(batch, gathered)
        const positions = [{ partition: walPartition, position: lsnText(commitLsn) }]
        await store.finish({ done: [], behind: [batch.id], positions, counters: withRetries(batch.counters) })
        wal.acknowledge(endLsn)
        acknowledged = endLsn
        well()
        if (!parts.isLoading()) status.delivered(committedAtMs)
      })
      .catch((error: unknown) => {
        // No later batch may overtake this one, also when it was given up.
        failure ??= { error }
        failing.abort()
      })
      .finally(() => {
        isBusy = false
      })
    if (batch.isRepeat) await settled()
  }

  const withRetries = (counters: CounterChanges): CounterChanges =>
    addCounters(counters, { retries: replication.takeRetries() })

  const dueInMs = (): number =>
    changes.count >= pullBatchSize ? 0 : lastSentMs + syncIntervalSeconds * 1_000 - performance.now()

  /** After each message. */
  const step = async (): Promise<void> => {
    const need = changes.takeNeed()
    if (need?.kind === 'relation') {
      const { relation } = need
      await parts.applySchemaChange({
        relation,
        before: changes.findRelation(relation.id),
        commitLsn: changes.commitLsn,
      })
      changes.know(relation)
    } else if (need?.kind === 'truncate') {
      await cut()
      await gate.run(() => buryRows(replication, need.targets.filter(parts.isFilled), need.version))
    } else if (need?.kind === 'reload') {
      await gate.run(() => parts.reload(need))
    }
    if (changes.isInTransaction) {
      if (changes.rawBytes >= chunkBytes) await cut()
      return
    }
    if (left) return await finishLeft(left)
    if (open || changes.count >= pullBatchSize) await finish()
  }

  const finishLeft = async ({ ranges }: NonNullable<StreamParts['left']>): Promise<void> => {
    const until = parseLsn(ranges[0]?.next ?? '')
    if (changes.commitLsn < until) return
    if (changes.commitLsn > until) throw new LogLost()
    await finish()
  }

  const readBlock = async ({ bytes, count, starts, ends }: WalBlock): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const [start, stop] = [starts[index]!, ends[index]!]
      decodeMessage(bytes, start, stop, changes, scratch)
      if (changeLetters.has(bytes[start]!)) changes.addRawBytes(stop - start)
      if (needsStep(changes)) await step()
    }
  }

  const needsStep = ({ hasNeed, isInTransaction, rawBytes }: Changes): boolean =>
    hasNeed || !isInTransaction || rawBytes >= chunkBytes

  /** Whether there are gathered changes, all of whole transactions. */
  const isBetween = (): boolean => !changes.isEmpty && !changes.isInTransaction && !left && !open

  return {
    targetsChanged: () => changes.targetsChanged(),
    async follow() {
      try {
        while (!stopping.aborted) {
          const waitMs = isBetween() ? Math.max(0, Math.min(longestReadMs, dueInMs())) : longestReadMs
          const block = await wal.read({ maxBytes: readBytes, waitMs, signal: reading })
          await builder.build(() => readBlock(block))
          if (isBetween() && dueInMs() <= 0) await finish()
          if (block.reached > 0n && changes.isEmpty && !changes.isInTransaction && !isBusy && !left && !failure) {
            wal.acknowledge(block.reached)
            acknowledged = block.reached
            well()
          }
          freshness.look(acknowledged)
          status.retained(Math.max(0, Number(wal.serverEnd - acknowledged)))
          if (parts.isLoading()) continue
          if (changes.isEmpty) status.doing('Waiting for changes')
          else status.doing(`Gathering changes: ${countOf(changes.count, 'change')} so far`)
        }
      } catch (error) {
        // An aborted read fails because of the failure or stop that aborted it.
        if (!reading.aborted) failure ??= { error }
      } finally {
        await underWay
      }
      if (failure && !(failure.error instanceof GivenUp)) throw failure.error
    },
  }
}

interface OpenBatch {
  id: string
  isRepeat: boolean
  chunk: number
  counters: CounterChanges
}

/** The log no longer has the transactions of an unfinished delivery. */
export class LogLost extends Error {
  constructor() {
    super('the log of the source does not go on where it was left')
    this.name = 'LogLost'
  }
}

/** The worker stops; the open batch is recorded. */
class GivenUp extends Error {}

async function buryRows({ engine, tables, signal }: Replication, targets: Target[], version: bigint): Promise<void> {
  for (const target of targets) {
    // Rows of a load and replayed rows may arrive later although they are older than the TRUNCATE.
    target.stored = { ...target.stored, truncatedVersion: String(version) }
    await tables.saveTable(target.stored)
    await markOlderDeleted({ engine, signal }, target, version)
  }
}

export async function markOlderDeleted(
  { engine, signal }: Pick<Replication, 'engine' | 'signal'>,
  { table, keyColumns }: Target,
  version: bigint,
): Promise<void> {
  await engine.markOlderDeleted(table, { keyColumns, versionColumn, deletedColumn, version }, signal)
}
