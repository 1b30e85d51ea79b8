// Objects in memory, by key, with an etag as their only content: list pages have three objects.
import assert from 'node:assert/strict'
import { compareKeys, type ObjectStore, type StoredObject } from '../../src/sources/object-storage/object-store.ts'

const never = (): never => assert.fail('unexpected call')

export interface ObjectsInMemory extends ObjectStore {
  /** The `after` keys of all list requests. */
  lists: (string | undefined)[]
}

export function objectsInMemory(objects: Map<string, string>): ObjectsInMemory {
  const lists: (string | undefined)[] = []
  const objectOf = (key: string): StoredObject => ({
    key,
    sizeBytes: 1,
    etag: objects.get(key) ?? '',
    modifiedAt: undefined,
  })
  return {
    lists,
    async list(_prefix, after) {
      lists.push(after)
      const keys = [...objects.keys()].toSorted(compareKeys)
      const following = keys.filter((key) => after === undefined || compareKeys(key, after) > 0)
      return { objects: following.slice(0, 3).map(objectOf), isLast: following.length <= 3 }
    },
    find: async (key) => (objects.has(key) ? objectOf(key) : undefined),
    read: never,
    open: never,
    close: () => undefined,
  }
}
