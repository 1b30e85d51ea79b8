// Moves the records of a stream: reads, groups what comes into deliveries, and reads on while they are inserted.
//
// How many inserts are under way: `scaling.concurrency` as the user says. With 0 it is one while the next one is being read, so that
// the rows of a partition arrive in their order; or two, where the order says nothing to the table. With more than one, a partition
// can be in several inserts at once; its positions move in order all the same.

import type { RecordEncoder } from '../formats/encode/encoder.ts'
import { countOf } from '../lib/count-text.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import { lossText } from '../progress/losses.ts'
import { type Batch, EndOfInput, type SourceReader } from '../sources/source.ts'
import { Unrecoverable } from './classify-failure.ts'
import { type StoredDelivery, tokenOf } from './delivery.ts'
import { makeDispatch } from './dispatch.ts'
import { type Left, recover } from './recover.ts'
import type { Rows } from './rows.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'
import { timeOf } from './status.ts'
import { makeStreamGroup } from './stream-group.ts'

/** While everything that was read waits for a free lane. */
const busyReadMs = 50
const rebuildReadMs = 5_000

/** Resolves when the worker was told to stop, or when the source has ended. */
export async function moveStream(session: Session): Promise<'stopped' | 'completed'> {
  const encoder = session.encoders.makeRecordEncoder(encoderPartsOf(session.parts))
  try {
    const left = await recover(
      session,
      async (delivery, use) => use(await rebuild(session, encoder, delivery)),
      async () => 'done',
    )
    if (!left) return 'stopped'
    const { slot, slots } = session.parts
    const selection = { share: { index: slot, count: slots } }
    return await withReader(session, positionsOf(left.positions), selection, (reader) =>
      readOn(session, encoder, reader, left),
    )
  } finally {
    await encoder.close()
  }
}

async function readOn(
  session: Session,
  encoder: RecordEncoder,
  reader: SourceReader,
  { positions, nextNumber }: Left,
): Promise<'stopped' | 'completed'> {
  const { parts, store, settings, stopping, status, times, turn, batchSize, signal } = session
  const waitMs = settings.streaming_max_insert_wait_ms
  const dispatch = makeDispatch(session, { firstNumber: nextNumber, inserts: streamLanes(parts.pipe), reader })
  /** Of the whole pipe, and those of them that are read here. */
  const placed = new Set(positions.map(({ partition }) => partition))
  const read = new Set<string>()
  let group = makeStreamGroup(waitMs)

  const send = (): void => {
    const { ranges, parts: encoded, newestMs } = group.take()
    group = makeStreamGroup(waitMs)
    const rows = encoder.join(encoded)
    dispatch.start(tokenOf(parts.pipe.id, ranges), ranges, rows, newestMs)
  }

  /** What was read before is durable first: its positions lie before those that the losses lead to. */
  const keepLosses = async (batches: Batch[]): Promise<void> => {
    if (batches.length === 0) return
    if (!group.isEmpty) {
      await dispatch.lanes.free()
      send()
    }
    await dispatch.lanes.settled()
    dispatch.lanes.check()
    // What was given up is sent by the next worker, which finds the losses again.
    if (!stopping.aborted) await keepLossesOf(session, batches)
  }

  const take = async (batches: Batch[]): Promise<void> => {
    await keepLosses(batches.filter(({ lost }) => lost))
    // Where a partition begins must be known before anything of it is sent: a later reader would begin elsewhere.
    const begun = batches.filter(({ partition, lost }) => !lost && !placed.has(partition))
    if (begun.length > 0) {
      await store.setPositions(begun.map(({ partition, from }) => ({ partition, position: from })))
      for (const { partition } of begun) placed.add(partition)
    }
    for (const batch of batches.filter(({ lost }) => !lost)) {
      read.add(batch.partition)
      const rows = await turn.build(() => encoder.encode(batch.partition, batch.records ?? [], signal))
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
    dispatch.lanes.check()
    if (dispatch.lanes.busyCount === 0) {
      // What was read is well when it is durable: until then nobody knows whether the engine takes it.
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
      dispatch.lanes.check()
      const isFull = group.rowCount >= batchSize.rows || group.sizeBytes >= batchSize.bytes
      const isDue = !group.isEmpty && (isFull || group.dueInMs() <= 0)
      if (isDue && dispatch.lanes.isFree) send()
      else if (isFull) await dispatch.lanes.free()
      else await readOnce(isDue)
    }
    return 'stopped'
  }
  return dispatch.run(async () => {
    try {
      return await loop()
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
      await dispatch.lanes.free()
      if (!group.isEmpty) send()
      return 'completed'
    }
  })
}

export function streamLanes({ scaling: { concurrency }, destination }: LanesOf): number {
  if (concurrency > 0) return concurrency
  return isOrdered(destination) ? 1 : 2
}

type LanesOf = Pick<StoredPipe, 'scaling' | 'destination'>

/** Whether it matters which of two rows comes first: of a table that is not ours nobody knows. */
function isOrdered({ managedTable, tableDefinition }: StoredPipe['destination']): boolean {
  if (managedTable === false || !tableDefinition) return true
  const { type, versionColumnId } = tableDefinition.engine
  if (type === 'ReplacingMergeTree') return versionColumnId === undefined
  return type === 'Null'
}

/** The positions behind the losses, unless others are to be stored. */
async function keepLossesOf(
  { store, parts }: Session,
  batches: Batch[],
  positions = batches.map(({ partition, next }) => ({ partition, position: next })),
): Promise<void> {
  // A batch that is read again finds them again.
  const losses = batches.flatMap(({ partition, from, lost }) => (lost ? { ...lost, key: `${partition} ${from}` } : []))
  if (losses.length === 0) return
  await store.keepLosses({ positions, losses })
  const { id: pipeId, organizationId } = parts.pipe
  for (const { partition, from, next, lost } of batches) {
    const reason = `${partition} from position ${from} to ${next}: ${lossText(lost!)}`
    parts.log.warn('records of a source are gone', { organizationId, pipeId, reason })
  }
}

/** The same records again. */
async function rebuild(session: Session, encoder: RecordEncoder, delivery: StoredDelivery): Promise<Rows> {
  const { signal, stopping, turn, batchSize } = session
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
          ofPartition.push(await turn.build(() => encoder.encode(partition, records, signal)))
        }
      }
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
    }
  })
  // The range ends where it was to end: its positions are not for now. Whether the engine has its rows, nobody knows.
  await keepLossesOf(session, lost, [])
  const encoded = [...parts.values()].flat()
  return encoded.length > 0 ? encoder.join(encoded) : encoder.encode(ranges[0]?.partition ?? '', [], signal)
}
