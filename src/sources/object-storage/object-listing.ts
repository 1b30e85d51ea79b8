// Lists the objects of a store that match a pattern, without folder objects and empty objects.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { ObjectPattern } from './object-pattern.ts'
import { compareKeys, type ObjectPage, type ObjectStore, type StoredObject } from './object-store.ts'

const maxBlockedMs = 20

export interface MatchingPage {
  matches: StoredObject[]
  /** Last listed key: the next page starts after it. Undefined when nothing was listed. */
  last: string | undefined
  /** No more pages for now. */
  isLast: boolean
  /** The pattern matches empty objects. */
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
    // No key after the only one that can match is needed.
    isLast: isLast || (pattern.isLiteral && objects.length > 0),
    hasEmpty: matches.some(({ sizeBytes }) => sizeBytes === 0),
  }
}

/** Yields to the event loop: matching user patterns against user keys may take long. */
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

/** Permission to read an object may exist without permission to list; a literal key needs no list. */
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
