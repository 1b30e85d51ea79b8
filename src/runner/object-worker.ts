// Moves objects: one after the other in the order of their keys, each in as many deliveries as it needs. An object of which a part
// is durable is finished before anything else is begun.

import type { ObjectEncoder } from '../formats/encode/encoder.ts'
import { countOf } from '../lib/count-text.ts'
import { keyOf, type ObjectAssignment } from '../sources/object-storage/object-assignment.ts'
import { objectChanged } from '../sources/object-storage/object-sample.ts'
import { ObjectUnavailable } from '../sources/object-storage/object-store.ts'
import { EndOfInput, ProbeFailure, SourceChanged, type SourceReader } from '../sources/source.ts'
import type { Damage } from './damaged-objects.ts'
import type { DeliveryRange, StoredDelivery, StoredPosition } from './delivery.ts'
import { type Dispatch, makeDispatch } from './dispatch.ts'
import { type Unfinished, unfinishedObjects } from './object-layout.ts'
import { makeObjectLoader, type ObjectToLoad } from './object-loader.ts'
import { unreadableRows } from './queue/given-up.ts'
import { findTrouble } from './queue/object-trouble.ts'
import { makeRecording } from './queue/recording.ts'
import { makeRetryingSink } from './queue/retrying-sink.ts'
import { type RangeObjects, type RebuildParts, readSelected, rebuildObjects } from './rebuild-objects.ts'
import { type Rebuild, recover } from './recover.ts'
import { type Rows, shapeDigest } from './rows.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'
import { timeOf } from './status.ts'

/** One object comes with a read, however large it is. */
const readLimits = { maxRecords: 1, maxBytes: 1 }

/** Resolves when the worker was told to stop, or when everything has been loaded. `damage` outlives the session. */
export async function moveObjects(given: Session, damage: Damage): Promise<'stopped' | 'completed'> {
  const encoder = given.encoders.makeObjectEncoder(encoderPartsOf(given.parts))
  const { slot, slots } = given.parts
  const share = { index: slot, count: slots }
  if ((await given.store.listPositions()).length > 0) damage.noteLoaded()
  const recording = makeRecording(given.store)
  const session: Session = {
    ...given,
    store: recording.store,
    sink: makeRetryingSink(given, damage),
    well: () => given.well(damage.reason()),
  }
  const rebuilding = { session, encoder, recording, openObjects: () => listedRanges(session, damage) }
  const left = await recover(
    session,
    (delivery, use) => rebuildListed(rebuilding, delivery, use),
    (positions) => finishObjects(session, { encoder, damage }, share, positions),
  )
  if (!left) return 'stopped'
  return withReader(session, positionsOf(left.positions), { share }, (reader) =>
    readOn(session, { encoder, damage, reader, firstNumber: left.nextNumber }),
  )
}

export function objectLanes(
  { concurrency }: { concurrency: number },
  { object_storage_concurrency }: { object_storage_concurrency: number },
): number {
  return concurrency > 0 ? concurrency : object_storage_concurrency
}

export function dispatchObjects(session: Session, firstNumber: number, reader: SourceReader): Dispatch {
  const inserts = objectLanes(session.parts.pipe.scaling, session.settings)
  // The next one is made ready, so that the engine need not wait while one is finished and another is recorded.
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
  /** One at a time, however many files are read while the lanes are busy. */
  let isSettling = false

  /** The last insert may end long before the next look. */
  const tellWhenSettled = (): void => {
    if (isSettling) return
    isSettling = true
    void dispatch.lanes.settled().then(() => {
      isSettling = false
      if (isWaiting) status.doing(waiting)
    })
  }

  /** An object that cannot be read does not hold up those behind it. */
  const load = async (object: ObjectToLoad): Promise<void> => {
    let beginByte: number | null = object.beginByte
    const taken = (endByte: number | null, { isDivisible, count, undecodable }: Rows): void => {
      beginByte = endByte
      // What is one piece is read when it is sent.
      if (isDivisible && count > undecodable.length) damage.noteRead()
    }
    try {
      await loader.load({ ...object, taken })
    } catch (error) {
      const reason = findTrouble(error)
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
    // What waits to be joined does not wait for files that are yet to come.
    const waitMs = loader.isEmpty ? pollMs : 0
    isWaiting = waitMs > 0
    if (isWaiting) tellWhenSettled()
    const askedAtMs = Date.now()
    const batches = await reader.read({ ...readLimits, waitMs, signal: stopping }).finally(() => {
      isWaiting = false
    })
    dispatch.lanes.check()
    if (batches.length === 0) {
      await loader.flush()
      // That files can be listed does not say that they can be loaded.
      if (dispatch.lanes.busyCount === 0) {
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
        dispatch.lanes.check()
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

/** Loads the rest of objects of which a part is durable: this worker's own, and of those that worked when there were more or fewer. */
async function finishObjects(
  session: Session,
  reading: Pick<Reading, 'encoder' | 'damage'>,
  share: ObjectAssignment,
  positions: StoredPosition[],
): Promise<'done' | 'again' | 'wait'> {
  const { mine, ofOthers } = unfinishedObjects(positions, share)
  if (share.index > 0 && ofOthers.length > 0) return 'wait'
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
    // Everything before it is finished, so any number will do.
    const dispatch = dispatchObjects(session, 1, reader)
    const loader = makeObjectLoader(session, encoder, dispatch)
    await dispatch.run(async () => {
      status.doing(`Loading the rest of ${keyOf(within)}`)
      const reason = object
        ? await troubleOf(() => loader.load({ ...range, object, beginByte: offsetBytes }))
        : objectGone(range).reason
      if (reason === undefined) return
      damage.add(reason)
      const rest = { ...range, beginByte: offsetBytes, endByte: null }
      await loader.take(rest, unreadableRows(rest, `${reason}; a part of it is in the table`))
    })
  })
}

/** What is wrong with the object, when that is all that is wrong. */
async function troubleOf(load: () => Promise<void>): Promise<string | undefined> {
  try {
    await load()
    return undefined
  } catch (error) {
    const reason = findTrouble(error)
    if (reason === undefined) throw error
    return reason
  }
}

/** The objects of ranges as they were listed. */
function listedRanges(session: Session, damage: Damage): RangeObjects {
  const { parts, signal, stopping } = session
  const readers: SourceReader[] = []
  return {
    async list(ranges) {
      const [first, last] = [ranges[0], ranges.at(-1)]
      if (!first || !last) throw new Error('a delivery has no ranges')
      const { partition } = first
      const selection = { until: { [partition]: last.next }, only: ranges.map(({ next }) => next) }
      // What others have done need not be listed again.
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
    givenUp(range, trouble, whatIsThere) {
      damage.add(trouble)
      const { partition, next } = range
      const reason = `${trouble}; ${whatIsThere}`
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

/** An object that was recorded as unreadable stays so: its rows have other numbers. */
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
