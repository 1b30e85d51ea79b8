// How the objects of a store are divided among readers, and which of them are done. Every reader has the keys of its share as one
// partition. The number of readers changes over time, and each number has positions of its own: an object is done when the
// position of the share that it falls to is at or behind it, in any of the divisions that there ever were.
import { hashOf } from '../assignment.ts'
import type { Assignment, Positions } from '../source.ts'
import { compareKeys, type StoredObject } from './object-store.ts'

export type ObjectAssignment = Assignment

export function partitionOf({ index, count }: ObjectAssignment): string {
  return count === 1 ? 'objects' : `objects ${index}/${count}`
}

export function shareOf(partition: string): ObjectAssignment | undefined {
  if (partition === 'objects') return { index: 0, count: 1 }
  const [, index, count] = /^objects (\d+)\/(\d+)$/.exec(partition) ?? []
  return index === undefined || count === undefined ? undefined : { index: Number(index), count: Number(count) }
}

/** With the etag: an object that was replaced meanwhile gives another position. */
export function positionOf({ key, etag }: Pick<StoredObject, 'key' | 'etag'>): string {
  return `${encodeURIComponent(etag)} ${key}`
}

export function keyOf(position: string): string | undefined {
  return position === '' ? undefined : position.slice(position.indexOf(' ') + 1)
}

export interface AssignmentProgress {
  /** Whether the object falls to the share and has not been given. */
  isDue(key: string): boolean
  /** Everything of the share up to this key is done; undefined: nothing is known to be. */
  doneUpTo: string | undefined
}

export function progressOf(share: ObjectAssignment, positions: Positions): AssignmentProgress {
  const divisions = divisionsOf(positions)
  const isDone = (key: string, hash: number): boolean =>
    [...divisions].some(([count, keys]) => {
      const last = keys.get(hash % count)
      return last !== undefined && compareKeys(key, last) <= 0
    })
  return {
    isDue(key) {
      const hash = hashOf(key)
      return hash % share.count === share.index && !isDone(key, hash)
    },
    doneUpTo: [...divisions].map(([count, keys]) => leastOf(share, count, keys)).reduce(laterOf, undefined),
  }
}

/** The last key that is done of each share, by the number of shares. */
function divisionsOf(positions: Positions): Map<number, Map<number, string>> {
  const divisions = new Map<number, Map<number, string>>()
  for (const [partition, position] of Object.entries(positions)) {
    const [share, key] = [shareOf(partition), keyOf(position)]
    if (!share || key === undefined) continue
    const keys = divisions.get(share.count) ?? new Map<number, string>()
    divisions.set(share.count, keys.set(share.index, key))
  }
  return divisions
}

/** Of those shares of a division that keys of this share can fall to. */
function leastOf(share: ObjectAssignment, count: number, keys: Map<number, string>): string | undefined {
  const step = greatestCommonDivisor(share.count, count)
  let least: string | undefined
  for (let index = share.index % step; index < count; index += step) {
    const key = keys.get(index)
    if (key === undefined) return undefined
    if (least === undefined || compareKeys(key, least) < 0) least = key
  }
  return least
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other)
}

export function laterOf(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return compareKeys(one, other) >= 0 ? one : other
}
