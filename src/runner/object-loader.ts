// Cuts objects into deliveries: large ones into pieces, small ones joined into one. Each object is a range of its own, so that
// exactly the same ones are found again.

import type { ObjectEncoder } from '../formats/encode/encoder.ts'
import type { Batch } from '../sources/source.ts'
import { type DeliveryRange, tokenOf } from './delivery.ts'
import type { Dispatch } from './dispatch.ts'
import type { Rows } from './rows.ts'
import type { Session } from './session.ts'

export interface ObjectToLoad extends Pick<Batch, 'partition' | 'from' | 'next'> {
  object: NonNullable<Batch['object']>
  beginByte: number
  /** A piece with these rows is on its way, and the next one begins here; null: there is none. */
  taken?(endByte: number | null, rows: Rows): void
}

export interface ObjectLoader {
  /** Whether nothing waits to be joined with what comes next. */
  readonly isEmpty: boolean
  load(object: ObjectToLoad): Promise<void>
  /** Takes what was made of an object, in its order. */
  take(range: DeliveryRange, rows: Rows): Promise<void>
  /** Sends what waits. */
  flush(): Promise<void>
}

interface Piece {
  range: DeliveryRange
  rows: Rows
}

/** By how much a piece may be larger than a batch: to cut what is hardly too large makes two small inserts of one. */
const largestPiece = 1.25

export function makeObjectLoader(session: Session, encoder: ObjectEncoder, dispatch: Dispatch): ObjectLoader {
  const { settings, batchSize, turn, signal, stopping } = session
  let joined: Piece[] = []
  let joinedBytes = 0

  const send = async (ranges: DeliveryRange[], rows: Rows | undefined): Promise<void> => {
    await dispatch.lanes.free()
    dispatch.lanes.check()
    dispatch.start(tokenOf(session.parts.pipe.id, ranges), ranges, rows)
  }

  const flush = async (): Promise<void> => {
    if (joined.length === 0) return
    const pieces = joined
    joined = []
    joinedBytes = 0
    const filled = pieces.map(({ rows }) => rows).filter(({ count }) => count > 0)
    const rows = filled.length > 1 ? encoder.join(filled) : filled[0]
    if (filled.length > 1 && !rows) throw new Error('objects of one shape could not be joined')
    await send(
      pieces.map(({ range }) => range),
      rows,
    )
  }

  const atMost = (sizeBytes: number): number => Math.min(sizeBytes, settings.object_storage_max_insert_bytes)
  const mostBytes = (): number => atMost(batchSize.bytes)
  const pieceBytes = (): number => atMost(Math.floor(batchSize.bytes * largestPiece))

  const canJoin = (rows: Rows): boolean => {
    const first = joined.find((piece) => piece.rows.count > 0)
    const isWithin =
      joinedBytes + rows.readBytes <= mostBytes() && joined.length < settings.object_storage_max_file_count
    return isWithin && (!first || rows.count === 0 || encoder.join([first.rows, rows]) !== undefined)
  }

  const take = async (range: DeliveryRange, rows: Rows): Promise<void> => {
    const isWhole = range.beginByte === undefined
    if (!isWhole || !rows.isDivisible) {
      await flush()
      await send([range], rows)
      return
    }
    if (!canJoin(rows)) await flush()
    joined.push({ range, rows })
    joinedBytes += rows.readBytes
    if (joinedBytes >= mostBytes() || joined.length >= settings.object_storage_max_file_count) await flush()
  }

  return {
    get isEmpty() {
      return joined.length === 0
    },
    flush,
    take,
    async load({ object, partition, from, next, beginByte, taken }) {
      // Of the whole session: an object that is one piece is read while it is inserted.
      const options = { partition, beginByte, pieceBytes, signal }
      const pieces = encoder.pieces(object, options)[Symbol.asyncIterator]()
      let isLoaded = false
      for (;;) {
        // What is read before it can be sent has to be held.
        await dispatch.lanes.free()
        const step = await orStopped(
          turn.build(() => pieces.next()),
          stopping,
        )
        if (!step || stopping.aborted) {
          void pieces.return?.().catch(() => undefined)
          return
        }
        if (step.done) break
        const { beginByte: begin, endByte: end, rows } = step.value
        const bytes = begin === 0 && end === null ? {} : { beginByte: begin, endByte: end }
        await take({ partition, from, next, ...bytes }, rows)
        taken?.(end, rows)
        isLoaded = end === null
      }
      if (isLoaded) return
      // There was nothing in it, or nothing after what was loaded before: only the position moves.
      await flush()
      await send([{ partition, from, next }], undefined)
    },
  }
}

/** What is only being read is given up; undefined then. */
async function orStopped<Result>(work: Promise<Result>, stopping: AbortSignal): Promise<Result | undefined> {
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>()
  const stop = (): void => resolve(undefined)
  stopping.addEventListener('abort', stop, { once: true })
  if (stopping.aborted) stop()
  // It may fail when nobody waits for it any more.
  work.catch(() => undefined)
  return Promise.race([work, stopped]).finally(() => stopping.removeEventListener('abort', stop))
}
