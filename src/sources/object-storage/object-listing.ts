// The objects of a store that a pattern takes. Folders that a store shows as objects, and objects without a byte, are none.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ProbeFailure } from '../source.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { compareKeys, type ObjectPage, type ObjectStore, type StoredObject } from './object-store.ts'

const maxBlockedMs = 20

export interface MatchingPage {
  matches: StoredObject[]
  /** Where the next page begins; undefined when nothing was listed. */
  last: string | undefined
  /** Nothing comes after it for now. */
  isLast: boolean
  /** The pattern takes objects that have nothing in them. */
  hasEmpty: boolean
}

export async function listMatching(
  store: ObjectStore,
  pattern: ObjectPattern,
  after: string | undefined,
  signal: AbortSignal,
): Promise<MatchingPage> {
  const { objects, isLast } = await listOrFind(store, pattern, after, signal)
  const matches = await matchesOf(objects, pattern, signal)
  return {
    matches: matches.filter(({ sizeBytes }) => sizeBytes > 0),
    last: objects.at(-1)?.key ?? after,
    // Behind the only key that can match, there is nothing to look for.
    isLast: isLast || (pattern.isLiteral && objects.length > 0),
    hasEmpty: matches.some(({ sizeBytes }) => sizeBytes === 0),
  }
}

/** Keys and pattern come from users: what takes long must not keep everybody else waiting. */
async function matchesOf(
  objects: StoredObject[],
  pattern: ObjectPattern,
  signal: AbortSignal,
): Promise<StoredObject[]> {
  const matches: StoredObject[] = []
  let startedAtMs = performance.now()
  for (const object of objects) {
    if (performance.now() - startedAtMs > maxBlockedMs) {
      await nextTurn()
      signal.throwIfAborted()
      startedAtMs = performance.now()
    }
    if (!object.key.endsWith('/') && pattern.matches(object.key)) matches.push(object)
  }
  return matches
}

/** Whoever may read an object may not always list its neighbours; for one object that is not needed. */
async function listOrFind(
  store: ObjectStore,
  pattern: ObjectPattern,
  after: string | undefined,
  signal: AbortSignal,
): Promise<ObjectPage> {
  try {
    return await store.list(pattern.prefix, after, signal)
  } catch (error) {
    const mayNotList = error instanceof ProbeFailure && error.code === 'permission_missing'
    if (!mayNotList || !pattern.isLiteral) throw error
    const found = await store.find(pattern.text, signal)
    const isNew = found && (after === undefined || compareKeys(found.key, after) > 0)
    return { objects: isNew ? [found] : [], isLast: true }
  }
}
