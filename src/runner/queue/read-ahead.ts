// Small objects are read while others before them are loaded: to ask a store for one takes longer than to load it.
import { Readable } from 'node:stream'
import type { FoundObject } from '../rebuild-objects.ts'

/** So many of them, beside the one that is being loaded. */
const mostAhead = 16
/** What is larger is read when its turn has come. */
const mostBytes = 256 * 1_024

interface ToFind {
  find(): Promise<FoundObject>
}

/** Gives each of them in order. What goes wrong with one is told when it is asked for. */
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

/** The same object; whoever opens it first gets what was read meanwhile. */
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
