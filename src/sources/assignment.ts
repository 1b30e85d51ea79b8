// Assigns partitions to readers. The result for a name must never change, because stored positions depend on it.
import type { Assignment } from './source.ts'

/** FNV-1a with a final mix, so that similar names are spread evenly. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Assigns consecutive partitions of a topic to different readers, by the number at the end of the name. */
export function isAssignedByNumber(name: string, assignment: Assignment | undefined): boolean {
  if (!assignment) return true
  const digits = /\d{1,9}$/.exec(name)?.[0] ?? ''
  return (hashOf(name.slice(0, name.length - digits.length)) + Number(digits)) % assignment.count === assignment.index
}
