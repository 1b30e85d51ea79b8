// Assignment of objects to readers, and which objects are done. The keys of one assignment are one partition. Each number of
// readers has its own positions: an object is done when the position of its assignment, for any number of readers, is at or
// after its key.
import { hashOf } from '../assignment.ts'
import type { Assignment, Positions } from '../source.ts'
import { compareKeys, type StoredObject } from './object-store.ts'

export type ObjectAssignment = Assignment

export function partitionOf({ index, count }: ObjectAssignment): string {
  return count === 1 ? 'objects' : `objects ${index}/${count}`
}

export function assignmentOf(partition: string): ObjectAssignment | undefined {
  if (partition === 'objects') return { index: 0, count: 1 }
  const [, index, count] = /^objects (\d+)\/(\d+)$/.exec(partition) ?? []
  return index === undefined || count === undefined ? undefined : { index: Number(index), count: Number(count) }
}

/** Includes the ETag: a replaced object has another position. */
export function positionOf({ key, etag }: Pick<StoredObject, 'key' | 'etag'>): string {
  return `${encodeURIComponent(etag)} ${key}`
}

export function keyOf(position: string): string | undefined {
  return position === '' ? undefined : position.slice(position.indexOf(' ') + 1)
}

export interface AssignmentProgress {
  /** Whether the object belongs to the assignment and is not done. */
  isDue(key: string): boolean
  /** All objects of the assignment up to this key are done; undefined: unknown. */
  doneUpTo: string | undefined
}

export function progressOf(assignment: ObjectAssignment, positions: Positions): AssignmentProgress {
  const divisions = divisionsOf(positions)
  const isDone = (key: string, hash: number): boolean =>
    [...divisions].some(([count, keys]) => {
      const last = keys.get(hash % count)
      return last !== undefined && compareKeys(key, last) <= 0
    })
  return {
    isDue(key) {
      const hash = hashOf(key)
      return hash % assignment.count === assignment.index && !isDone(key, hash)
    },
    doneUpTo: [...divisions].map(([count, keys]) => leastOf(assignment, count, keys)).reduce(laterOf, undefined),
  }
}

/** The last key that is done, by number of readers and index. */
function divisionsOf(positions: Positions): Map<number, Map<number, string>> {
  const divisions = new Map<number, Map<number, string>>()
  for (const [partition, position] of Object.entries(positions)) {
    const [assignment, key] = [assignmentOf(partition), keyOf(position)]
    if (!assignment || key === undefined) continue
    const keys = divisions.get(assignment.count) ?? new Map<number, string>()
    divisions.set(assignment.count, keys.set(assignment.index, key))
  }
  return divisions
}

/** The least key over all assignments among `count` readers that can have keys of this assignment. */
function leastOf(assignment: ObjectAssignment, count: number, keys: Map<number, string>): string | undefined {
  const step = greatestCommonDivisor(assignment.count, count)
  let least: string | undefined
  for (let index = assignment.index % step; index < count; index += step) {
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
