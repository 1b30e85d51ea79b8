// The names of partitions where a queue tells of objects: each version of an object is a partition of its own, and so is a message
// that leads nowhere. Positions are kept by these names: they are the same for ever, whoever makes them.
import { createHash } from 'node:crypto'
import { keyOf, positionOf } from './object-assignment.ts'
import type { StoredObject } from './object-store.ts'

/** Where a partition that is one object, or one message, begins. */
export const begun = ''

/** The position of a share of which everything has been listed: no key of a store is behind it. */
export const endOfListing = ` ${'\u{10FFFF}'.repeat(257)}`

const ofObject = 'object:'
const ofMessage = 'message:'

export type ObjectVersion = Pick<StoredObject, 'key' | 'etag'>

export function objectPartition(version: ObjectVersion): string {
  return ofObject + positionOf(version)
}

/** Undefined: the partition is not an object. */
export function versionOf(partition: string): ObjectVersion | undefined {
  if (!partition.startsWith(ofObject)) return undefined
  const position = partition.slice(ofObject.length)
  const space = position.indexOf(' ')
  const key = keyOf(position)
  return space < 0 || key === undefined ? undefined : { key, etag: decodeURIComponent(position.slice(0, space)) }
}

/** Longer ones have no room in the index of a database. */
const maxPartitionBytes = 2_000

/** Stores may have names, and versions, that are longer than what can be claimed. */
export function isTooLong(partition: string): boolean {
  return Buffer.byteLength(partition) > maxPartitionBytes
}

/** What a queue calls its messages is the queue's to say: a name that is not like those of the clouds is not kept as it is. */
export function messagePartition(id: string): string {
  const isPlain = /^[\w-]{1,128}$/.test(id)
  return ofMessage + (isPlain ? id : createHash('sha256').update(id).digest('hex'))
}
