// A delivery: the rows of one insert. It is recorded in the database before the first byte is sent, and positions move past it only
// when the engine has stored it. After a failure, exactly the same rows are built again from the record.
import type { RejectedRow } from '../engine/rejected-row.ts'

/** A range of one partition. */
export interface DeliveryRange {
  partition: string
  /** Positions in the notation of the source. */
  from: string
  next: string
  /** Only for an object that is loaded in pieces: offsets in its decompressed content. `endByte` null: up to its end. */
  beginByte?: number
  endByte?: number | null
}

export interface NewDelivery {
  id: string
  /** Ascending in the order of creation. */
  number: number
  ranges: DeliveryRange[]
  /** `shapeDigest` of the rows: differs when a changed configuration makes other rows of the same records. */
  shape?: string | undefined
}

export interface StoredDelivery extends NewDelivery {
  workerIndex: number
  workerCount: number
  /** Undefined until the engine has rejected the delivery. */
  badRows?: RejectedRow[]
  isDone: boolean
}

/** Position up to which a partition is durable in the engine. */
export interface StoredPosition {
  partition: string
  position: string
  /** Only of a claimed partition: the worker that owns it. */
  workerIndex?: number
  /** Position after the object that is partly loaded, and the offset in it that is durable. */
  within?: string
  offsetBytes?: number
}

/** `finished`: everything in it is durable. */
export type Claim = 'mine' | 'others' | 'finished'
