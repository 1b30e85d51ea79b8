// Makes deliveries of objects: splits large ones and joins small ones. Each object is a range of its own, so that a delivery can be
// rebuilt from exactly the same objects.

import type { ObjectEncoder } from '../formats/encode/encoder.ts'
import type { Rows } from '../formats/encode/rows.ts'
import type { DeliveryRange } from '../progress/delivery.ts'
import type { Batch } from '../sources/source.ts'
import { tokenOf } from './delivery-token.ts'
import type { Dispatch } from './dispatch.ts'
import type { Session } from './session.ts'

export interface ObjectToLoad extends Pick<Batch, 'partition' | 'from' | 'next'> {
  object: NonNullable<Batch['object']>
  beginByte: number
  /** Called when a piece was dispatched. The next one begins at `endByte`; null: it was the last. */
  taken?(endByte: number | null, rows: Rows): void
}

export interface ObjectLoader {
  /** Whether no object waits to be joined with the next ones. */
  readonly isEmpty: boolean
  load(object: ObjectToLoad): Promise<void>
  /** Adds the rows of a range, in the order of the objects. */
  take(range: DeliveryRange, rows: Rows): Promise<void>
  /** Sends the objects that wait to be joined. */
  flush(): Promise<void>
}

interface Piece {
  range: DeliveryRange
  rows: Rows
}

/** Factor by which a piece may exceed a batch, so that a slightly larger object is not split into two small inserts. */
const largestPiece = 1.25

export function makeObjectLoader(session: Session, encoder: ObjectEncoder, dispatch: Dispatch): ObjectLoader {
  const { settings, batchSize, builder, signal, stopping } = session
  let joined: Piece[] = []
  let joinedBytes = 0

  const send = async (ranges: DeliveryRange[], rows: Rows | undefined): Promise<void> => {
    await dispatch.limit.free()
    dispatch.limit.check()
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
      // The signal of the session: an object that is one piece is read while it is inserted.
      const options = { partition, beginByte, pieceBytes, signal }
      const pieces = encoder.pieces(object, options)[Symbol.asyncIterator]()
      let isLoaded = false
      for (;;) {
        // Reading ahead of the inserts would hold the rows in memory.
        await dispatch.limit.free()
        const step = await orStopped(
          builder.build(() => pieces.next()),
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
      // The object, or the rest of it, is empty: only the position moves.
      await flush()
      await send([{ partition, from, next }], undefined)
    },
  }
}

/** Undefined when stopped first; the result of `work` is then discarded. */
async function orStopped<Result>(work: Promise<Result>, stopping: AbortSignal): Promise<Result | undefined> {
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>()
  const stop = (): void => resolve(undefined)
  stopping.addEventListener('abort', stop, { once: true })
  if (stopping.aborted) stop()
  // It may reject after nobody awaits it.
  work.catch(() => undefined)
  return Promise.race([work, stopped]).finally(() => stopping.removeEventListener('abort', stop))
}
