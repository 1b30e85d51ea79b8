// Partition names of a source with a queue: each version of an object, and each unusable message, is a partition. Positions are
// stored under these names, so they must never change.
import { createHash } from 'node:crypto'
import { keyOf, positionOf } from './object-assignment.ts'
import type { StoredObject } from './object-store.ts'

/** Start position of a partition that is an object or a message. */
export const begun = ''

/** Position of an assignment whose list is complete: it sorts after every key. */
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

/** Limit of the database index. */
const maxPartitionBytes = 2_000

/** Whether a name is too long to be claimed. */
export function isTooLong(partition: string): boolean {
  return Buffer.byteLength(partition) > maxPartitionBytes
}

/** Unusual message ids are hashed: the queue decides about their length and characters. */
export function messagePartition(id: string): string {
  const isPlain = /^[\w-]{1,128}$/.test(id)
  return ofMessage + (isPlain ? id : createHash('sha256').update(id).digest('hex'))
}
