// Moves objects in the order of their keys, each in as many deliveries as it needs. A partly loaded object is finished before
// another one is started.

import type { ObjectEncoder } from '../formats/encode/encoder.ts'
import { type Rows, shapeDigest } from '../formats/encode/rows.ts'
import { countOf } from '../lib/count-text.ts'
import type { DeliveryRange, StoredDelivery, StoredPosition } from '../progress/delivery.ts'
import { ProbeFailure } from '../source-shapes/source-failure.ts'
import { keyOf, type ObjectAssignment } from '../sources/object-storage/object-assignment.ts'
import { objectChanged } from '../sources/object-storage/object-sample.ts'
import { ObjectUnavailable } from '../sources/object-storage/object-store.ts'
import { EndOfInput, SourceChanged, type SourceReader } from '../sources/source.ts'
import type { Damage } from './damaged-objects.ts'
import { type Dispatch, makeDispatch } from './dispatch.ts'
import { type Unfinished, unfinishedObjects } from './object-layout.ts'
import { makeObjectLoader, type ObjectToLoad } from './object-loader.ts'
import { unreadableRows } from './queue/given-up.ts'
import { findObjectFailure } from './queue/object-failure.ts'
import { makeRecording } from './queue/recording.ts'
import { makeRetryingSink } from './queue/retrying-sink.ts'
import { type RangeObjects, type RebuildParts, readSelected, rebuildObjects } from './rebuild-objects.ts'
import { type Rebuild, recover } from './recover.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'
import { timeOf } from './status.ts'

/** One object per read, regardless of its size. */
const readLimits = { maxRecords: 1, maxBytes: 1 }

/** Resolves when the worker was stopped, or when everything is loaded. `damage` outlives the session. */
export async function moveObjects(given: Session, damage: Damage): Promise<'stopped' | 'completed'> {
  const encoder = given.encoders.makeObjectEncoder(encoderPartsOf(given.parts))
  const { workerIndex, workerCount } = given.parts
  const assignment = { index: workerIndex, count: workerCount }
  if ((await given.store.listPositions()).length > 0) damage.noteLoaded()
  const recording = makeRecording(given.store)
  const session: Session = {
    ...given,
    store: recording.store,
    sink: makeRetryingSink(given, damage),
    well: () => given.well(damage.reason()),
  }
  const rebuilding = { session, encoder, recording, openObjects: () => listedRanges(session, damage) }
  const recovered = await recover(
    session,
    (delivery, use) => rebuildListed(rebuilding, delivery, use),
    (positions) => finishObjects(session, { encoder, damage }, assignment, positions),
  )
  if (!recovered) return 'stopped'
  return withReader(session, positionsOf(recovered.positions), { assignment }, (reader) =>
    readOn(session, { encoder, damage, reader, firstNumber: recovered.nextNumber }),
  )
}

export function objectConcurrency(
  { concurrency }: { concurrency: number },
  { object_storage_concurrency }: { object_storage_concurrency: number },
): number {
  return concurrency > 0 ? concurrency : object_storage_concurrency
}

export function dispatchObjects(session: Session, firstNumber: number, reader: SourceReader): Dispatch {
  const inserts = objectConcurrency(session.parts.pipe.scaling, session.settings)
  // One is prepared in advance, so that the engine does not idle while the previous delivery is finished.
  return makeDispatch(session, { firstNumber, inserts, ahead: 1, reader })
}

interface Reading {
  encoder: ObjectEncoder
  damage: Damage
  reader: SourceReader
  firstNumber: number
}

async function readOn(
  session: Session,
  { encoder, damage, reader, firstNumber }: Reading,
): Promise<'stopped' | 'completed'> {
  const { settings, stopping, status } = session
  const pollMs = settings.object_storage_polling_interval_ms
  const dispatch = dispatchObjects(session, firstNumber, reader)
  const loader = makeObjectLoader(session, encoder, dispatch)
  const waiting = `Waiting for new files; they are looked for every ${timeOf(pollMs)}`
  let isWaiting = false
  /** At most one wait for running inserts at a time. */
  let isSettling = false

  /** The last insert may end long before the next poll. */
  const reportWhenSettled = (): void => {
    if (isSettling) return
    isSettling = true
    void dispatch.limit.settled().then(() => {
      isSettling = false
      if (isWaiting) status.doing(waiting)
    })
  }

  /** An unreadable object does not block the following ones. */
  const load = async (object: ObjectToLoad): Promise<void> => {
    let beginByte: number | null = object.beginByte
    const taken = (endByte: number | null, { isDivisible, count, undecodable }: Rows): void => {
      beginByte = endByte
      // An indivisible object is not read until it is sent.
      if (isDivisible && count > undecodable.length) damage.noteRead()
    }
    try {
      await loader.load({ ...object, taken })
    } catch (error) {
      const reason = findObjectFailure(error)
      if (reason === undefined || beginByte === null) throw error
      if (!(error instanceof ProbeFailure) || error instanceof ObjectUnavailable) throw error
      if (error.code !== 'undecodable') throw new SourceChanged(`${error.reason}; ${error.remedy}`)
      if (!damage.mayGiveUp()) throw error
      const { partition, from, next } = object
      const whole = { partition, from, next }
      const range = beginByte === 0 ? whole : { ...whole, beginByte, endByte: null }
      const whatIsThere = beginByte === 0 ? 'nothing of it is in the table' : 'a part of it is in the table'
      damage.add(reason)
      await loader.take(range, unreadableRows(range, `${reason}; ${whatIsThere}`))
    }
  }

  const readOnce = async (): Promise<void> => {
    // Objects that wait to be joined are not delayed by waiting for new files.
    const waitMs = loader.isEmpty ? pollMs : 0
    isWaiting = waitMs > 0
    if (isWaiting) reportWhenSettled()
    const askedAtMs = Date.now()
    const batches = await reader.read({ ...readLimits, waitMs, signal: stopping }).finally(() => {
      isWaiting = false
    })
    dispatch.limit.check()
    if (batches.length === 0) {
      await loader.flush()
      // While inserts are running, an empty listing does not prove that files can be loaded.
      if (dispatch.limit.busyCount === 0) {
        session.well()
        status.delivered(askedAtMs)
      }
      status.doing(waiting)
    }
    const lag = reader.lag()
    status.lag(lag)
    for (const { object, ...batch } of batches) {
      const others = lag ? `; ${countOf(lag, 'file')} more ${lag === 1 ? 'is' : 'are'} waiting` : ''
      status.doing(`Loading ${object?.key ?? 'a file'}${others}`)
      if (object) await load({ ...batch, object, beginByte: 0 })
    }
  }

  return dispatch.run(async () => {
    try {
      status.doing('Looking for files')
      while (!stopping.aborted) {
        dispatch.limit.check()
        await readOnce()
      }
      return 'stopped'
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
      await loader.flush()
      return 'completed'
    }
  })
}

/** Loads the rest of partly loaded objects: those of this worker, and those started under another worker count. */
async function finishObjects(
  session: Session,
  reading: Pick<Reading, 'encoder' | 'damage'>,
  assignment: ObjectAssignment,
  positions: StoredPosition[],
): Promise<'done' | 'again' | 'wait'> {
  const { mine, ofOthers } = unfinishedObjects(positions, assignment)
  if (assignment.index > 0 && ofOthers.length > 0) return 'wait'
  const next = ofOthers[0] ?? mine
  if (!next) return 'done'
  await finishObject(session, reading, next, positions)
  return 'again'
}

async function finishObject(
  session: Session,
  { encoder, damage }: Pick<Reading, 'encoder' | 'damage'>,
  unfinished: Unfinished,
  positions: StoredPosition[],
): Promise<void> {
  const { status, stopping } = session
  const { partition, position, within, offsetBytes } = unfinished
  const selection = { until: { [partition]: within }, only: [within] }
  const range = { partition, from: position, next: within }
  await withReader(session, positionsOf(positions), selection, async (reader) => {
    const batches = await readSelected(reader, 1, stopping)
    const object = batches.find(({ next }) => next === within)?.object
    // Everything before it is finished, so the number does not matter.
    const dispatch = dispatchObjects(session, 1, reader)
    const loader = makeObjectLoader(session, encoder, dispatch)
    await dispatch.run(async () => {
      status.doing(`Loading the rest of ${keyOf(within)}`)
      const reason = object
        ? await objectFailureOf(() => loader.load({ ...range, object, beginByte: offsetBytes }))
        : objectGone(range).reason
      if (reason === undefined) return
      damage.add(reason)
      const rest = { ...range, beginByte: offsetBytes, endByte: null }
      await loader.take(rest, unreadableRows(rest, `${reason}; a part of it is in the table`))
    })
  })
}

/** The error of the object; rethrows any other error. */
async function objectFailureOf(load: () => Promise<void>): Promise<string | undefined> {
  try {
    await load()
    return undefined
  } catch (error) {
    const reason = findObjectFailure(error)
    if (reason === undefined) throw error
    return reason
  }
}

/** Finds the objects of ranges by listing them again. */
function listedRanges(session: Session, damage: Damage): RangeObjects {
  const { parts, signal, stopping } = session
  const readers: SourceReader[] = []
  return {
    async list(ranges) {
      const [first, last] = [ranges[0], ranges.at(-1)]
      if (!first || !last) throw new Error('a delivery has no ranges')
      const { partition } = first
      const selection = { until: { [partition]: last.next }, only: ranges.map(({ next }) => next) }
      // Objects that other workers have finished are not listed.
      const positions = { ...positionsOf(await session.store.listPositions()), [partition]: first.from }
      const reader = await parts.source.open(positions, { egress: parts.egress, signal }, selection)
      readers.push(reader)
      const batches = await readSelected(reader, ranges.length, stopping)
      return new Map(
        ranges.flatMap((range) => {
          const object = batches.find(({ next }) => next === range.next)?.object
          return object ? [[range, object]] : []
        }),
      )
    },
    gone: objectGone,
    givenUp(range, failure, whatIsThere) {
      damage.add(failure)
      const { partition, next } = range
      const reason = `${failure}; ${whatIsThere}`
      return { partition, range, position: `the object ${keyOf(next)}`, raw: new Uint8Array(), reason }
    },
    async close() {
      await Promise.all(readers.map((reader) => reader.close().catch(() => undefined)))
    },
  }
}

function objectGone({ next }: DeliveryRange): ProbeFailure {
  return objectChanged(keyOf(next) ?? '', 'read')
}

/** An object that was recorded as unreadable stays so: if it were read now, its rows would have other indexes. */
async function rebuildListed(
  parts: RebuildParts,
  delivery: StoredDelivery,
  use: Parameters<Rebuild>[1],
): ReturnType<Rebuild> {
  const [range] = delivery.ranges
  const [known] = delivery.badRows ?? []
  const unreadable = range && known && unreadableRows(range, known.reason)
  const isUnreadable = unreadable && delivery.shape === shapeDigest(unreadable.shape)
  return isUnreadable ? use(unreadable) : rebuildObjects(parts, delivery, use)
}
