// What the source asks of a store of objects, whoever's it is. All of it rejects with a ProbeFailure of the step that it is
// part of, or with ObjectChanged, and gives up when the signal is aborted.
import type { Readable } from 'node:stream'
import { ProbeFailure } from '../source.ts'

export interface StoredObject {
  key: string
  sizeBytes: number
  /** Another one after every change of the object; without quotes. */
  etag: string
  modifiedAt: Date | undefined
}

export interface ObjectPage {
  objects: StoredObject[]
  /** Nothing comes after these for now. */
  isLast: boolean
}

/** A store that gives more pages without an object in a row has no end. */
export const maxEmptyPages = 1_000

export interface ObjectStore {
  /** The next objects, up to 1,000, whose keys begin with `prefix` and come after `after`, in the order of their keys. */
  list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ObjectPage>
  /** Undefined only when the store says that it has no such object, or when it can have none. */
  find(key: string, signal: AbortSignal): Promise<StoredObject | undefined>
  /** Bytes from `start` up to and without `end`, which are within the object. */
  read(object: StoredObject, start: number, end: number, signal: AbortSignal): Promise<Uint8Array>
  /** All of it, as it is stored. A stream that is not whole ends with NotConnected. */
  open(object: StoredObject, signal: AbortSignal): Promise<Readable>
  close(): void
}

/** The object is not the one that was listed any more. */
export class ObjectChanged extends Error {
  constructor() {
    super('the object was changed or deleted since it was listed')
    this.name = 'ObjectChanged'
  }
}

/** What is wrong with one object, and says nothing of the others. */
export class ObjectUnavailable extends ProbeFailure {}

/** Most that a key may have at S3 in UTF-8. */
export const maxKeyBytes = 1_024

/** Such a key leads elsewhere where it is a part of a URL. */
export function hasDotSegment(key: string): boolean {
  return /(?:^|\/)\.\.?(?:\/|$)/.test(key)
}

/** Lists and headers do not always agree on the quotes around an etag; without them it is the same in both. */
export function bareEtag(etag: string | undefined): string {
  return (etag ?? '').replace(/^"(.*)"$/, '$1')
}

/** As it goes into If-Match; undefined when there is none to hold on to. */
export function quotedEtag(etag: string): string | undefined {
  return etag === '' || etag.startsWith('W/') ? undefined : `"${etag}"`
}

/** By the bytes of their UTF-8, as stores order keys. */
export function compareKeys(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
