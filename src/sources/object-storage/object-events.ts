// What a message of a queue tells: of which objects it says that they were created. Messages come from anyone who may write to the
// queue, so nothing about their form is believed. Whether an object is there, and which version, is for the store to say.

import { hasDotSegment } from './object-store.ts'

/** Where the objects are that the source is about. */
export type EventOrigin = { kind: 's3'; bucket: string } | { kind: 'azure'; container: string }

/** An object that was created: what its key may be. Clouds do not agree with themselves on how a key is written; the likeliest first. */
export type CreatedObject = string[]

/** A notification in a notification in a notification is none. */
const maxWrappings = 3

/** Objects of that place; an empty list for all else that clouds tell. Undefined when it is not understood. */
export function createdObjects(text: string, place: EventOrigin): CreatedObject[] | undefined {
  return place.kind === 's3' ? ofAmazon(jsonOf(text), place.bucket, maxWrappings) : ofAzure(text, place.container)
}

type Fields = Record<string, unknown>

function ofAmazon(message: unknown, bucket: string, wrappings: number): CreatedObject[] | undefined {
  if (!isFields(message)) return undefined
  if (Array.isArray(message.Records)) {
    return allOf(message.Records.map((record) => ofRecord(record, bucket)))
  }
  // What S3 sends when notifications are set up.
  if (message.Event === 's3:TestEvent') return []
  if (typeof message['detail-type'] === 'string') return ofEventBridge(message, bucket)
  const { Type, Message } = message
  if (Type === 'SubscriptionConfirmation' || Type === 'UnsubscribeConfirmation') return []
  if (Type !== 'Notification' || typeof Message !== 'string' || wrappings === 0) return undefined
  return ofAmazon(jsonOf(Message), bucket, wrappings - 1)
}

/** Some stores have `s3:` before the names of their events. */
const createdEvent = /^(?:s3:)?ObjectCreated:/

function ofRecord(record: unknown, bucket: string): CreatedObject[] | undefined {
  if (!isFields(record) || typeof record.eventName !== 'string') return undefined
  if (!createdEvent.test(record.eventName)) return []
  const names = namesIn(record.s3)
  if (!names) return undefined
  if (names.bucket !== bucket) return []
  const key = decoded(names.key.replaceAll('+', ' '))
  return isKey(key) ? [[key]] : undefined
}

function ofEventBridge(event: Fields, bucket: string): CreatedObject[] | undefined {
  if (event['detail-type'] !== 'Object Created') return []
  const names = namesIn(event.detail)
  if (!names) return undefined
  if (names.bucket !== bucket) return []
  return isKey(names.key) ? [[names.key]] : undefined
}

function namesIn(details: unknown): { bucket: string; key: string } | undefined {
  if (!isFields(details) || !isFields(details.bucket) || !isFields(details.object)) return undefined
  const [bucket, key] = [details.bucket.name, details.object.key]
  return typeof bucket === 'string' && typeof key === 'string' ? { bucket, key } : undefined
}

/** Event Grid writes to queues in base64; other ways to a queue do not. */
function ofAzure(text: string, container: string): CreatedObject[] | undefined {
  const isEncoded = /^\s*[A-Za-z0-9+/]+={0,2}\s*$/.test(text)
  const message = jsonOf(isEncoded ? Buffer.from(text, 'base64').toString() : text)
  return allOf((Array.isArray(message) ? message : [message]).map((event) => ofEventGrid(event, container)))
}

/** In the schema of Event Grid, or in that of CloudEvents, which has `type`. */
function ofEventGrid(event: unknown, container: string): CreatedObject[] | undefined {
  if (!isFields(event)) return undefined
  const type = event.eventType ?? event.type
  if (typeof type !== 'string') return undefined
  if (type !== 'Microsoft.Storage.BlobCreated') return []
  const [ofSubject, ofUrl] = [blobInSubject(event.subject), blobInUrl(event.data, container)]
  const named = ofSubject?.container ?? ofUrl?.container
  if (named === undefined) return undefined
  if (named !== container) return []
  const keys = new Set([ofSubject, ofUrl].flatMap((blob) => blob?.keys ?? []).filter(isKey))
  return keys.size > 0 ? [[...keys]] : undefined
}

interface NamedBlob {
  container: string
  keys: (string | undefined)[]
}

function blobInSubject(subject: unknown): NamedBlob | undefined {
  if (typeof subject !== 'string') return undefined
  const [, container, key] = /^\/blobServices\/default\/containers\/([^/]+)\/blobs\/(.+)$/s.exec(subject) ?? []
  return container === undefined ? undefined : { container, keys: [key] }
}

/** The account may be the first part of the path, or of the host. */
function blobInUrl(data: unknown, expected: string): NamedBlob | undefined {
  if (!isFields(data) || typeof data.url !== 'string') return undefined
  const [, path] = /^https?:\/\/[^/?#]+\/([^?#]+)/s.exec(data.url) ?? []
  if (path === undefined) return undefined
  const [first = '', second = '', ...rest] = path.split('/')
  const [container, key] =
    second === expected && first !== expected ? [second, rest.join('/')] : [first, [second, ...rest].join('/')]
  return { container, keys: [decoded(key), key] }
}

/** Undefined when one of them is: what is understood in part is not understood. */
function allOf(lists: (CreatedObject[] | undefined)[]): CreatedObject[] | undefined {
  return lists.every((list) => list !== undefined) ? lists.flat() : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What no key can be cannot be a name in a database either; and what leads up a path may lead to another bucket. */
function isKey(key: string | undefined): key is string {
  return key !== undefined && key !== '' && key.isWellFormed() && !key.includes('\0') && !hasDotSegment(key)
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function jsonOf(text: string): unknown {
  try {
    // Some writers put a mark before their text.
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}
