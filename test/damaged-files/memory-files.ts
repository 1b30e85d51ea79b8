// In-memory object store with the interface of a source; files can be replaced and deleted while a pipe reads.
import { Readable } from 'node:stream'
import { parsePattern } from '../../src/sources/object-storage/object-pattern.ts'
import { makeObjectReader } from '../../src/sources/object-storage/object-reader.ts'
import { compareKeys, ObjectChanged, type StoredObject } from '../../src/sources/object-storage/object-store.ts'
import type { ReadableSource } from '../../src/sources/source.ts'

const pageSize = 4
const chunkBytes = 1_000

export class MemoryFiles {
  readonly #files = new Map<string, { bytes: Buffer; etag: string }>()
  #versions = 0
  /** Called before a file is opened. */
  opening: (key: string) => void = () => undefined

  put(key: string, bytes: Uint8Array): void {
    this.#files.set(key, { bytes: Buffer.from(bytes), etag: `v${++this.#versions}` })
  }

  remove(key: string): void {
    this.#files.delete(key)
  }

  source(): ReadableSource {
    return {
      probe: async () => ({ samples: [] }),
      open: async (positions, { signal }, selection = {}) => {
        const pattern = parsePattern('files/*', { isUrl: false })
        return makeObjectReader({ store: this.#store(), pattern, isContinuous: false, positions, selection, signal })
      },
    }
  }

  #store(): Parameters<typeof makeObjectReader>[0]['store'] {
    return {
      list: async (prefix, after) => {
        const keys = [...this.#files.keys()].filter((key) => key.startsWith(prefix)).toSorted(compareKeys)
        const following = keys.filter((key) => after === undefined || compareKeys(key, after) > 0)
        return {
          objects: following.slice(0, pageSize).map((key) => this.#stored(key)!),
          isLast: following.length <= pageSize,
        }
      },
      find: async (key) => this.#stored(key),
      read: async () => Promise.reject(new Error('nobody takes a sample')),
      open: async ({ key, etag }) => {
        this.opening(key)
        const file = this.#files.get(key)
        if (file?.etag !== etag) throw new ObjectChanged()
        return Readable.from(chunksOf(file.bytes))
      },
      close: () => undefined,
    }
  }

  #stored(key: string): StoredObject | undefined {
    const file = this.#files.get(key)
    return file && { key, sizeBytes: file.bytes.length, etag: file.etag, modifiedAt: undefined }
  }
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}
