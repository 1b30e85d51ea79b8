// Parses event notifications of S3, EventBridge, SNS and Event Grid for created objects. Messages are untrusted: anyone who may
// write to the queue sends them. The store decides whether an object exists, and in which version.

import { hasDotSegment } from './object-store.ts'

/** The bucket or container of the source. */
export type EventOrigin = { kind: 's3'; bucket: string } | { kind: 'azure'; container: string }

/** Possible keys of a created object, the most likely first: clouds encode keys inconsistently. */
export type CreatedObject = string[]

/** Deeper nested notifications are not accepted. */
const maxWrappings = 3

/** Objects of this origin; an empty list for other events. Undefined when the message is not a known notification. */
export function createdObjects(text: string, origin: EventOrigin): CreatedObject[] | undefined {
  return origin.kind === 's3' ? ofAmazon(jsonOf(text), origin.bucket, maxWrappings) : ofAzure(text, origin.container)
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

/** The account is the first part of the path or of the host. */
function blobInUrl(data: unknown, expected: string): NamedBlob | undefined {
  if (!isFields(data) || typeof data.url !== 'string') return undefined
  const [, path] = /^https?:\/\/[^/?#]+\/([^?#]+)/s.exec(data.url) ?? []
  if (path === undefined) return undefined
  const [first = '', second = '', ...rest] = path.split('/')
  const [container, key] =
    second === expected && first !== expected ? [second, rest.join('/')] : [first, [second, ...rest].join('/')]
  return { container, keys: [decoded(key), key] }
}

/** Undefined when one of them is undefined: a message is accepted completely or not at all. */
function allOf(lists: (CreatedObject[] | undefined)[]): CreatedObject[] | undefined {
  return lists.every((list) => list !== undefined) ? lists.flat() : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Rejects text that a database cannot store, and dot segments, which could lead to another bucket. */
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
    // Some writers start with a byte order mark.
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}
