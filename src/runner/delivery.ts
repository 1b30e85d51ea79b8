// A delivery: what one insert takes to the engine. It is written to the database before the first byte is sent, and is behind
// the positions only when the engine has it. Whoever finds one that is not done builds exactly the same rows again.
import { createHash } from 'node:crypto'

/** A piece of one partition. */
export interface DeliveryRange {
  partition: string
  /** Positions as the source names them. */
  from: string
  next: string
  /** Only of an object that is loaded in pieces: bytes of what it holds decompressed; `endByte` null: up to its end. */
  beginByte?: number
  endByte?: number | null
}

/** A row that the engine refuses, by its place in the delivery: the number of the record, or of the row in the object's piece. */
export interface RefusedRow {
  index: number
  reason: string
}

/** One that is to be sent. */
export interface NewDelivery {
  id: string
  /** In the order in which they are made. */
  number: number
  ranges: DeliveryRange[]
  /** Of its rows, where the records are made into other rows by another configuration (`shapeDigest`). */
  shape?: string | undefined
}

export interface StoredDelivery extends NewDelivery {
  slot: number
  slots: number
  /** Undefined until the engine has refused it as a whole. */
  badRows?: RefusedRow[]
  isDone: boolean
}

/** How far a partition is durable. */
export interface StoredPosition {
  partition: string
  position: string
  /** Of a partition that was claimed: the worker that has it. */
  slot?: number
  /** The position after the object that is being loaded, and how far into it. */
  within?: string
  offsetBytes?: number
}

/** The same ranges of the same pipe have the same token, whoever makes it. */
export function tokenOf(pipeId: string, ranges: DeliveryRange[]): string {
  const canonical = ranges.map(({ partition, from, next, beginByte, endByte }) => [
    partition,
    from,
    next,
    beginByte ?? 0,
    endByte ?? null,
  ])
  const digest = createHash('sha256')
    .update(JSON.stringify([pipeId, canonical]))
    .digest('hex')
  return `penstock-${digest.slice(0, 40)}`
}
