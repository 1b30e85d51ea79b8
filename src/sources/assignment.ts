// Which of several readers a partition falls to. The answer for a name is the same for ever: positions are kept by it.
import type { Assignment } from './source.ts'

/** Spreads names that differ little: FNV-1a, with its bits mixed once more. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Of names that end with a number, such as partitions of a topic: neighbours fall to different readers. */
export function isAssignedByNumber(name: string, share: Assignment | undefined): boolean {
  if (!share) return true
  const digits = /\d{1,9}$/.exec(name)?.[0] ?? ''
  return (hashOf(name.slice(0, name.length - digits.length)) + Number(digits)) % share.count === share.index
}
