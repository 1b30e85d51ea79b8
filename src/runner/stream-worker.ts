// Moves the records of a stream: reads, groups records into deliveries, and continues reading while they are inserted.
//
// Concurrent inserts: `scaling.concurrency`. With 0 there is one, so that the rows of a partition arrive in order, or two when the
// order does not matter to the table. With more than one, a partition can be in several inserts at once; positions still move in order.

import type { RecordEncoder } from '../formats/encode/encoder.ts'
import type { Rows } from '../formats/encode/rows.ts'
import { countOf } from '../lib/count-text.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import type { StoredDelivery } from '../progress/delivery.ts'
import { lossText } from '../progress/losses.ts'
import { type Batch, EndOfInput, type SourceReader } from '../sources/source.ts'
import { Unrecoverable } from './classify-failure.ts'
import { tokenOf } from './delivery-token.ts'
import { makeDispatch } from './dispatch.ts'
import { type Recovered, recover } from './recover.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'
import { timeOf } from './status.ts'
import { makeStreamGroup } from './stream-group.ts'

/** Longest read while a batch waits for a free insert. */
const busyReadMs = 50
const rebuildReadMs = 5_000

/** Resolves when the worker was stopped, or when the source has ended. */
export async function moveStream(session: Session): Promise<'stopped' | 'completed'> {
  const encoder = session.encoders.makeRecordEncoder(encoderPartsOf(session.parts))
  try {
    const recovered = await recover(
      session,
      async (delivery, use) => use(await rebuild(session, encoder, delivery)),
      async () => 'done',
    )
    if (!recovered) return 'stopped'
    const { workerIndex, workerCount } = session.parts
    const selection = { assignment: { index: workerIndex, count: workerCount } }
    return await withReader(session, positionsOf(recovered.positions), selection, (reader) =>
      readOn(session, encoder, reader, recovered),
    )
  } finally {
    await encoder.close()
  }
}

async function readOn(
  session: Session,
  encoder: RecordEncoder,
  reader: SourceReader,
  { positions, nextNumber }: Recovered,
): Promise<'stopped' | 'completed'> {
  const { parts, store, settings, stopping, status, times, builder, batchSize, signal } = session
  const waitMs = settings.streaming_max_insert_wait_ms
  const dispatch = makeDispatch(session, { firstNumber: nextNumber, inserts: streamConcurrency(parts.pipe), reader })
  /** Partitions with a stored position in the pipe, and those that this worker has read. */
  const known = new Set(positions.map(({ partition }) => partition))
  const read = new Set<string>()
  let group = makeStreamGroup(waitMs)

  const send = (): void => {
    const { ranges, parts: encoded, newestMs } = group.take()
    group = makeStreamGroup(waitMs)
    const rows = encoder.join(encoded)
    dispatch.start(tokenOf(parts.pipe.id, ranges), ranges, rows, newestMs)
  }

  /** Waits until earlier records are durable: their positions precede those of the losses. */
  const keepLosses = async (batches: Batch[]): Promise<void> => {
    if (batches.length === 0) return
    if (!group.isEmpty) {
      await dispatch.limit.free()
      send()
    }
    await dispatch.limit.settled()
    dispatch.limit.check()
    // When stopping, a delivery may have been given up; the next worker sends it and finds the losses again.
    if (!stopping.aborted) await keepLossesOf(session, batches)
  }

  const take = async (batches: Batch[]): Promise<void> => {
    await keepLosses(batches.filter(({ lost }) => lost))
    // The start position must be stored before anything is sent: a later reader might start elsewhere.
    const newPartitions = batches.filter(({ partition, lost }) => !lost && !known.has(partition))
    if (newPartitions.length > 0) {
      await store.setPositions(newPartitions.map(({ partition, from }) => ({ partition, position: from })))
      for (const { partition } of newPartitions) known.add(partition)
    }
    for (const batch of batches.filter(({ lost }) => !lost)) {
      read.add(batch.partition)
      const rows = await builder.build(() => encoder.encode(batch.partition, batch.records ?? [], signal))
      group.add(batch, rows)
    }
  }

  const readOnce = async (isWaiting: boolean): Promise<void> => {
    const dueMs = group.dueInMs()
    const longestMs = isWaiting ? busyReadMs : Math.min(times.idleReadMs, Math.max(dueMs, 0))
    const askedAtMs = Date.now()
    const batches = await reader.read({
      maxRecords: Math.max(1, batchSize.rows - group.rowCount),
      maxBytes: Math.max(1, batchSize.bytes - group.sizeBytes),
      waitMs: longestMs,
      signal: stopping,
    })
    await take(batches)
    dispatch.limit.check()
    if (dispatch.limit.busyCount === 0) {
      // Records that wait for an insert are not durable yet: the engine may still reject them.
      if (group.isEmpty) {
        session.well()
        if (reader.lag() === 0) status.delivered(askedAtMs)
      }
      const due = `Reading ${countOf(read.size, 'partition')}; the next insert is due within ${timeOf(group.dueInMs())}`
      const note = reader.note?.()
      status.doing(`${group.isEmpty ? 'Waiting for records' : due}${note === undefined ? '' : `; ${note}`}`)
    }
    status.lag(reader.lag())
  }

  const loop = async (): Promise<'stopped' | 'completed'> => {
    while (!stopping.aborted) {
      dispatch.limit.check()
      const isFull = group.rowCount >= batchSize.rows || group.sizeBytes >= batchSize.bytes
      const isDue = !group.isEmpty && (isFull || group.dueInMs() <= 0)
      if (isDue && dispatch.limit.isFree) send()
      else if (isFull) await dispatch.limit.free()
      else await readOnce(isDue)
    }
    return 'stopped'
  }
  return dispatch.run(async () => {
    try {
      return await loop()
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
      await dispatch.limit.free()
      if (!group.isEmpty) send()
      return 'completed'
    }
  })
}

export function streamConcurrency({ scaling: { concurrency }, destination }: ConcurrencyOf): number {
  if (concurrency > 0) return concurrency
  return isOrdered(destination) ? 1 : 2
}

type ConcurrencyOf = Pick<StoredPipe, 'scaling' | 'destination'>

/** Whether the order of rows matters to the table. Assumed for a table that Penstock does not manage. */
function isOrdered({ managedTable, tableDefinition }: StoredPipe['destination']): boolean {
  if (managedTable === false || !tableDefinition) return true
  const { type, versionColumnId } = tableDefinition.engine
  if (type === 'ReplacingMergeTree') return versionColumnId === undefined
  return type === 'Null'
}

/** Stores the losses with the positions after them, or with the given ones. */
async function keepLossesOf(
  { store, parts }: Session,
  batches: Batch[],
  positions = batches.map(({ partition, next }) => ({ partition, position: next })),
): Promise<void> {
  // A batch that is read again finds the same losses; by their key they are counted once.
  const losses = batches.flatMap(({ partition, from, lost }) => (lost ? { ...lost, key: `${partition} ${from}` } : []))
  if (losses.length === 0) return
  await store.keepLosses({ positions, losses })
  const { id: pipeId, organizationId } = parts.pipe
  for (const { partition, from, next, lost } of batches) {
    const reason = `${partition} from position ${from} to ${next}: ${lossText(lost!)}`
    parts.log.warn('records of a source are gone', { organizationId, pipeId, reason })
  }
}

/** Reads and encodes the same records again. */
async function rebuild(session: Session, encoder: RecordEncoder, delivery: StoredDelivery): Promise<Rows> {
  const { signal, stopping, builder, batchSize } = session
  const { ranges } = delivery
  const parts = new Map<string, Rows[]>(ranges.map(({ partition }) => [partition, []]))
  const from = Object.fromEntries(ranges.map((range) => [range.partition, range.from]))
  const until = Object.fromEntries(ranges.map((range) => [range.partition, range.next]))
  const lost: Batch[] = []
  await withReader(session, from, { until }, async (reader) => {
    try {
      for (;;) {
        const limits = {
          maxRecords: batchSize.rows,
          maxBytes: batchSize.bytes,
          waitMs: rebuildReadMs,
          signal: stopping,
        }
        const batches = await reader.read(limits)
        lost.push(...batches.filter((batch) => batch.lost))
        for (const { partition, records = [] } of batches) {
          const ofPartition = parts.get(partition)
          if (!ofPartition) throw new Unrecoverable(`the source gave records of ${partition}, which were not asked for`)
          ofPartition.push(await builder.build(() => encoder.encode(partition, records, signal)))
        }
      }
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
    }
  })
  // No positions: the delivery moves them when it is finished. Whether the engine has the lost rows is unknown.
  await keepLossesOf(session, lost, [])
  const encoded = [...parts.values()].flat()
  return encoded.length > 0 ? encoder.join(encoded) : encoder.encode(ranges[0]?.partition ?? '', [], signal)
}
