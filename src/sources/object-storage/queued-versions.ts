// Reads given versions of objects again. A deleted or replaced object rejects the read, as in a reader of ranges; the next read
// continues with the next version.

import { NotConnected } from '../../source-shapes/source-failure.ts'
import { EndOfInput, finishedPosition, type Positions, type SourceReader } from '../source.ts'
import { Changed, givenObject, readerError } from './object-reader.ts'
import type { ObjectStore } from './object-store.ts'
import { begun, versionOf } from './queued-objects.ts'

export function makeVersionsReader(store: ObjectStore, until: Positions, signal: AbortSignal): SourceReader {
  const left = Object.keys(until).map((partition) => {
    const version = versionOf(partition)
    if (!version) throw new Error('not a partition that can be read again')
    return { partition, ...version }
  })
  const closing = new AbortController()
  return {
    async read(limits) {
      const limit = AbortSignal.any([signal, limits.signal, closing.signal])
      try {
        limit.throwIfAborted()
        const [next] = left
        if (!next) throw new EndOfInput()
        const { partition, key, etag } = next
        const object = await store.find(key, limit)
        left.shift()
        if (object?.etag !== etag) throw new Changed(key)
        return [{ partition, from: begun, next: finishedPosition, object: givenObject(object, store) }]
      } catch (error) {
        throw limit.aborted ? new NotConnected() : readerError(error)
      }
    },
    acknowledge: async () => undefined,
    lag: () => left.length,
    async close() {
      closing.abort()
      store.close()
    },
  }
}
