// Moves objects: one after the other in the order of their keys, each in as many deliveries as it needs. An object of which a part
// is durable is finished before anything else is begun.
import type { ObjectShare } from '../sources/object-storage/object-shares.ts'
import { EndOfInput, type SourceReader } from '../sources/source.ts'
import type { StoredDelivery, StoredPosition } from './delivery.ts'
import { type Dispatch, makeDispatch } from './dispatch.ts'
import type { ObjectEncoder } from './encoding/encoder.ts'
import { CannotGoOn } from './judge.ts'
import { type Unfinished, unfinishedObjects } from './object-layout.ts'
import { makeObjectLoader } from './object-loader.ts'
import { type Rebuild, recover } from './recover.ts'
import type { Rows } from './rows.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'
import { countOf, timeOf } from './status.ts'

/** One object comes with a read, however large it is. */
const readLimits = { maxRecords: 1, maxBytes: 1 }

/** Resolves when the worker was told to stop, or when everything has been loaded. */
export async function moveObjects(session: Session): Promise<'stopped' | 'completed'> {
  const encoder = session.encoders.makeObjectEncoder(encoderPartsOf(session.parts))
  const { slot, slots } = session.parts
  const share = { index: slot, count: slots }
  const left = await recover(
    session,
    (delivery, use) => rebuild(session, encoder, delivery, use),
    (positions) => finishObjects(session, encoder, share, positions),
  )
  if (!left) return 'stopped'
  return withReader(session, positionsOf(left.positions), { share }, (reader) =>
    readOn(session, encoder, reader, left.nextNumber),
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

async function readOn(
  session: Session,
  encoder: ObjectEncoder,
  reader: SourceReader,
  firstNumber: number,
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

  const readOnce = async (): Promise<void> => {
    // What waits to be joined does not wait for files that are yet to come.
    const waitMs = loader.isEmpty ? pollMs : 0
    isWaiting = waitMs > 0
    if (isWaiting) tellWhenSettled()
    const batches = await reader.read({ ...readLimits, waitMs, signal: stopping }).finally(() => {
      isWaiting = false
    })
    dispatch.lanes.check()
    if (batches.length === 0) {
      await loader.flush()
      // That files can be listed does not say that they can be loaded.
      if (dispatch.lanes.busyCount === 0) session.well()
      status.doing(waiting)
    }
    const lag = reader.lag()
    status.lag(lag)
    for (const { object, ...batch } of batches) {
      const others = lag ? `; ${countOf(lag, 'file')} more ${lag === 1 ? 'is' : 'are'} waiting` : ''
      status.doing(`Loading ${object?.key ?? 'a file'}${others}`)
      if (object) await loader.load({ ...batch, object, beginByte: 0 })
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
  encoder: ObjectEncoder,
  share: ObjectShare,
  positions: StoredPosition[],
): Promise<'done' | 'again' | 'wait'> {
  const { mine, ofOthers } = unfinishedObjects(positions, share)
  if (share.index > 0 && ofOthers.length > 0) return 'wait'
  const next = ofOthers[0] ?? mine
  if (!next) return 'done'
  await finishObject(session, encoder, next, positions)
  return 'again'
}

async function finishObject(
  session: Session,
  encoder: ObjectEncoder,
  unfinished: Unfinished,
  positions: StoredPosition[],
): Promise<void> {
  const { status, stopping } = session
  const { partition, position, within, offsetBytes } = unfinished
  const selection = { until: { [partition]: within }, only: [within] }
  await withReader(session, positionsOf(positions), selection, async (reader) => {
    const object = await findObject(reader, within, stopping)
    status.doing(`Loading the rest of ${object.key}`)
    // Everything before it is finished, so any number will do.
    const dispatch = dispatchObjects(session, 1, reader)
    const loader = makeObjectLoader(session, encoder, dispatch)
    await dispatch.run(async () => {
      await loader.load({ object, partition, from: position, next: within, beginByte: offsetBytes })
    })
  })
}

type FoundObject = Parameters<ObjectEncoder['piece']>[0]

/** Others that came meanwhile stand before the position that counts: they are never loaded. */
async function findObject(reader: SourceReader, position: string, signal: AbortSignal): Promise<FoundObject> {
  try {
    for (;;) {
      for (const { object, next } of await reader.read({ ...readLimits, waitMs: 0, signal })) {
        if (object && next === position) return object
      }
    }
  } catch (error) {
    throw error instanceof EndOfInput ? objectReplaced() : error
  }
}

function objectReplaced(): CannotGoOn {
  return new CannotGoOn(
    'an object was replaced or deleted while it was being loaded, and a part of it may be in the table; put it back as it was, or load it with a new pipe',
  )
}

/** The same objects, or the same piece of one, again. What is one piece is read while it is sent: the reader stays open until then. */
async function rebuild(
  session: Session,
  encoder: ObjectEncoder,
  delivery: StoredDelivery,
  use: Parameters<Rebuild>[1],
): ReturnType<Rebuild> {
  const { signal, stopping, turn } = session
  const [first, last] = [delivery.ranges[0], delivery.ranges.at(-1)]
  if (!first || !last) throw new Error('a delivery has no ranges')
  const { partition } = first
  const selection = { until: { [partition]: last.next }, only: delivery.ranges.map(({ next }) => next) }
  // What others have done need not be listed again.
  const positions = { ...positionsOf(await session.store.listPositions()), [partition]: first.from }
  return withReader(session, positions, selection, async (reader) => {
    const parts: Rows[] = []
    for (const { next, beginByte = 0, endByte = null } of delivery.ranges) {
      const object = await findObject(reader, next, stopping)
      const options = { partition, beginByte, endByte, signal }
      parts.push(await turn.build(() => encoder.piece(object, options)))
    }
    const filled = parts.filter(({ count }) => count > 0)
    const rows = filled.length > 1 ? encoder.join(filled) : (filled[0] ?? parts[0])
    if (!rows) throw objectReplaced()
    return use(rows)
  })
}
