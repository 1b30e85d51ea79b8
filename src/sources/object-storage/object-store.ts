// Contract of an object store. All methods reject with a ProbeFailure of their step or with ObjectChanged, and stop when the
// signal is aborted.
import type { Readable } from 'node:stream'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'

export interface StoredObject {
  key: string
  sizeBytes: number
  /** Changes with every change of the object; without quotes. */
  etag: string
  modifiedAt: Date | undefined
}

export interface ObjectPage {
  objects: StoredObject[]
  /** No more objects for now. */
  isLast: boolean
}

/** After so many empty pages in a row, a list fails. */
export const maxEmptyPages = 1_000

export interface ObjectStore {
  /** The next objects, up to 1,000, whose keys begin with `prefix` and come after `after`, in the order of their keys. */
  list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ObjectPage>
  /** Undefined only when the store reports that the object does not exist, or when the key is invalid. */
  find(key: string, signal: AbortSignal): Promise<StoredObject | undefined>
  /** Bytes from `start` to `end` (exclusive), which are within the object. */
  read(object: StoredObject, start: number, end: number, signal: AbortSignal): Promise<Uint8Array>
  /** The whole object, as it is stored. An incomplete stream ends with NotConnected. */
  open(object: StoredObject, signal: AbortSignal): Promise<Readable>
  close(): void
}

/** The object was changed or deleted since it was listed. */
export class ObjectChanged extends Error {
  constructor() {
    super('the object was changed or deleted since it was listed')
    this.name = 'ObjectChanged'
  }
}

/** A failure that concerns one object only. */
export class ObjectUnavailable extends ProbeFailure {}

/** Limit of S3 for a key, in UTF-8. */
export const maxKeyBytes = 1_024

/** In a URL, such a key would be resolved to another path. */
export function hasDotSegment(key: string): boolean {
  return /(?:^|\/)\.\.?(?:\/|$)/.test(key)
}

/** Lists and headers may differ in the quotes around an ETag. */
export function bareEtag(etag: string | undefined): string {
  return (etag ?? '').replace(/^"(.*)"$/, '$1')
}

/** For If-Match; undefined when the object has no strong ETag. */
export function quotedEtag(etag: string): string | undefined {
  return etag === '' || etag.startsWith('W/') ? undefined : `"${etag}"`
}

/** By the bytes of their UTF-8, as stores order keys. */
export function compareKeys(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
