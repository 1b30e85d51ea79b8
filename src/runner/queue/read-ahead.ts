// Prefetches small objects while earlier ones are loaded, because a request to the store takes longer than the load.
import { Readable } from 'node:stream'
import type { FoundObject } from '../rebuild-objects.ts'

/** Prefetched objects, without the one that is being loaded. */
const mostAhead = 16
/** Larger objects are not prefetched. */
const mostBytes = 256 * 1_024

interface ToFind {
  find(): Promise<FoundObject>
}

/** Returns the objects in order. A failed read rejects when its object is requested. */
export function readAhead(objects: readonly ToFind[], signal: AbortSignal): (index: number) => Promise<FoundObject> {
  const begun: Promise<FoundObject>[] = []
  return (index) => {
    const last = Math.min(objects.length, index + 1 + mostAhead)
    for (const object of objects.slice(begun.length, last)) {
      const found = object.find().then((one) => (one.sizeBytes > mostBytes ? one : readNow(one, signal)))
      found.catch(() => undefined)
      begun.push(found)
    }
    const asked = begun[index]
    return asked ?? Promise.reject(new Error('not one of these objects'))
  }
}

/** The same object; the first `open` returns the prefetched bytes. */
function readNow(object: FoundObject, signal: AbortSignal): FoundObject {
  let reading: Promise<Uint8Array[]> | undefined = readAll(object, signal)
  reading.catch(() => undefined)
  return {
    ...object,
    async open(opening) {
      const read = reading
      reading = undefined
      return read ? Readable.from(await read, { objectMode: false }) : object.open(opening)
    },
  }
}

async function readAll(object: FoundObject, signal: AbortSignal): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await object.open(signal)) chunks.push(chunk)
  return chunks
}
