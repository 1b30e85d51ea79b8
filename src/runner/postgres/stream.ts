// Follows the log of the source: gathers whole transactions into batches and sends them, one batch at a time while the next one is
// gathered. What the engine has is told to the source only then.
import { hash } from 'node:crypto'
import { countOf } from '../../lib/count-text.ts'
import { decodeMessage, makeScratch, type Relation } from '../../sources/postgres/pgoutput.ts'
import {
  lsnText,
  type PostgresLink,
  parseLsn,
  type WalBlock,
  type WalStream,
} from '../../sources/postgres/postgres-link.ts'
import { findWalEnd } from '../../sources/postgres/postgres-wal-end.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import { addCounters, zeroCounters } from '../counters.ts'
import { type DeliveryRange, tokenOf } from '../delivery.ts'
import type { CounterChanges } from '../worker.ts'
import { type Changes, type Gathered, makeChanges, type ReloadNeed } from './changes.ts'
import { completeRows } from './completer.ts'
import { lineRows, shapeOf } from './line-rows.ts'
import { deletedColumn, versionColumn, walPartition } from './names.ts'
import { makeGate, type Replication, send } from './replication.ts'
import type { Target } from './target.ts'
import { makeFreshness } from './wal-freshness.ts'

/** Of the log, in one insert for each table: what the memory of a worker holds twice. Must stay what it is while a batch is under way. */
const chunkBytes = 16 * 1024 * 1024
const readBytes = 4 * 1024 * 1024
const longestReadMs = 1_000
const insertsAtOnce = 4
/** Inserts, updates, deletes, truncates: what a connection says once more of relations must not move a cut. */
const changeLetters = new Set([...'IUDT'].map((letter) => letter.charCodeAt(0)))

export interface StreamParts {
  wal: WalStream
  /** For what is not in the log. */
  link: PostgresLink
  /** Up to here everything is durable. */
  durable: bigint
  /** A batch that was begun and not finished. */
  left: { id: string; ranges: DeliveryRange[] } | undefined
  nextNumber: number
  targetsOf(relation: Relation): Target[]
  isFilled(target: Target): boolean
  /** Whether there is more to tell of than of changes. */
  isLoading(): boolean
  /** The shape of a relation is not known yet. Resolves when its targets can take it. */
  reshape(change: { relation: Relation; before: Relation | undefined; commitLsn: bigint }): Promise<void>
  partitionsOf(relationId: number): Target[]
  /** The log has changes that cannot be made. Rejects for a target that is not replaced anyhow. */
  reload(need: ReloadNeed): Promise<void>
}

export interface Stream {
  /** Until the worker is to stop. */
  follow(): Promise<void>
  /** Other targets are filled from now on. */
  lookAgain(): void
}

export function makeStream(replication: Replication, parts: StreamParts): Stream {
  const { wal } = parts
  const { store, stopping, status, source, turn, well, gate } = replication
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
  /** Where the batch that is being gathered begins. */
  let gatheredFrom = durable
  let open: OpenBatch | undefined
  /** A link does one thing at a time. */
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
    open = { id, isRepeat: left !== undefined, chunk: 0, figures: zeroCounters }
    return open
  }

  const settled = async (): Promise<void> => {
    await underWay
    if (failure) throw failure.error
  }

  /** What was gathered so far goes to the engine before anything else is read. */
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
        const figures = await sendLines(one, batch, chunk)
        // It was given up because the worker is to stop: the batch stays recorded.
        if (!figures) throw new GivenUp()
        batch.figures = addCounters(batch.figures, figures)
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
    // What the log does not have was read from the source, which may have gone on since it was sent before.
    return send(replication, target, { token, rows, isRepeat, identity: [...keyColumns, versionColumn] })
  }

  /** At the end of a transaction: everything that was gathered is one batch, or the end of one. */
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
        await store.finish({ done: [], behind: [batch.id], positions, figures: withRetries(batch.figures) })
        wal.acknowledge(endLsn)
        acknowledged = endLsn
        well()
        if (!parts.isLoading()) status.delivered(committedAtMs)
      })
      .catch((error: unknown) => {
        // Nothing that was gathered after it may overtake it, also when it was given up.
        failure ??= { error }
        failing.abort()
      })
      .finally(() => {
        isBusy = false
      })
    if (batch.isRepeat) await settled()
  }

  const withRetries = (figures: CounterChanges): CounterChanges =>
    addCounters(figures, { retries: replication.takeRetries() })

  const dueInMs = (): number =>
    changes.count >= pullBatchSize ? 0 : lastSentMs + syncIntervalSeconds * 1_000 - performance.now()

  /** After each message. */
  const step = async (): Promise<void> => {
    const need = changes.takeNeed()
    if (need?.kind === 'relation') {
      const { relation } = need
      await parts.reshape({ relation, before: changes.findRelation(relation.id), commitLsn: changes.commitLsn })
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

  /** There is something to send, and all of it is of whole transactions. */
  const isBetween = (): boolean => !changes.isEmpty && !changes.isInTransaction && !left && !open

  return {
    lookAgain: () => changes.lookAgain(),
    async follow() {
      try {
        while (!stopping.aborted) {
          const waitMs = isBetween() ? Math.max(0, Math.min(longestReadMs, dueInMs())) : longestReadMs
          const block = await wal.read({ maxBytes: readBytes, waitMs, signal: reading })
          await turn.build(() => readBlock(block))
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
        // A read that was broken off, because of a failure or a stop, says nothing.
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
  figures: CounterChanges
}

/** The log does not have the transactions any more that were on their way. */
export class LogLost extends Error {
  constructor() {
    super('the log of the source does not go on where it was left')
    this.name = 'LogLost'
  }
}

/** The worker is to stop; what was begun is recorded. */
class GivenUp extends Error {}

async function buryRows({ engine, tables, signal }: Replication, targets: Target[], version: bigint): Promise<void> {
  for (const target of targets) {
    // Rows that come later may be older, too: those of a load, and those that are tried again after they were refused.
    target.stored = { ...target.stored, truncatedVersion: String(version) }
    await tables.saveTable(target.stored)
    await bury({ engine, signal }, target, version)
  }
}

export async function bury(
  { engine, signal }: Pick<Replication, 'engine' | 'signal'>,
  { table, keyColumns }: Target,
  version: bigint,
): Promise<void> {
  await engine.bury(table, { keyColumns, versionColumn, deletedColumn, version }, signal)
}
