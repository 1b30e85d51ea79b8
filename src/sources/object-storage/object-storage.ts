// Source for objects in S3, S3-compatible stores and Azure: probe and readers. open-location.ts opens the store. A queue
// announces new objects where the source has one.

import { excerptOf } from '../../formats/undecodable.ts'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import type { ProbeResult, ProbeStep } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { ProbeOptions, ReadableSource, SourceContext } from '../source.ts'
import type { HoldTimes } from './held-messages.ts'
import { isListingDone, makeInitialListing } from './initial-listing.ts'
import type { MessageQueue } from './message-queue.ts'
import { addressOf, reach, refusePlaintext } from './object-address.ts'
import { assignmentOf } from './object-assignment.ts'
import type { EventOrigin } from './object-events.ts'
import { listMatching } from './object-listing.ts'
import { locationOf, type ObjectLocation } from './object-location.ts'
import { makeObjectReader, readerError } from './object-reader.ts'
import { maxSampledObjects, sampleObjects } from './object-sample.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { openLocation } from './open-location.ts'
import { type QueueLocation, queueAddress, queueLocationOf, shownQueue } from './queue-location.ts'
import { makeQueueReader } from './queue-reader.ts'
import { makeVersionsReader } from './queued-versions.ts'
import { countWaitingObjects } from './waiting-objects.ts'

/** Of 1,000 objects each. Beyond that, the user should give a more specific pattern. */
const maxPages = 10

/** Only these have event notifications in a queue. */
const typesWithQueues: readonly ObjectStorageSource['type'][] = ['s3', 'azureblobstorage']

export function makeObjectStorageSource(
  config: ObjectStorageSource,
  secrets: SourceSecrets,
  context: SourceContext,
  /** How long messages are held. Default: 60 s, extended every 20 s. */
  queueTimes?: HoldTimes,
): ReadableSource {
  /** Undefined: the source uses lists only. */
  const queueLocation = (location: ObjectLocation): QueueLocation | undefined => {
    const hasQueue = config.isContinuous && typesWithQueues.includes(config.type)
    return hasQueue && config.queueUrl !== undefined ? queueLocationOf(config.queueUrl, location) : undefined
  }

  return {
    async probe(options): Promise<ProbeResult> {
      const { signal, maxRecords } = options
      const begin = withoutRepeats(options.begin)
      const reaching = { ...options, begin }
      begin('connect')
      const location = locationOf(config, secrets)
      const ofQueue = queueLocation(location)
      await reach(addressOf(location, context), context, reaching)
      if (ofQueue) await reach(queueAddress(ofQueue), context, reaching)
      const { store, openQueue } = await openLocation(location, { config, secrets, context, options: options })
      try {
        if (config.authentication !== undefined) begin('authenticate')
        const objects = await describe(store, location, config.isContinuous, signal)
        begin('describe')
        if (ofQueue) await describeQueue(await openQueue(ofQueue), signal)
        const { format, compression, delimiter } = config
        const decoding = { format, compression, ...(delimiter !== undefined && { delimiter }) }
        return { samples: [await sampleObjects(objects, { store, decoding, maxRecords, signal, begin })] }
      } finally {
        store.close()
      }
    },

    async open(positions, options, selection = {}) {
      const location = locationOf(config, secrets)
      const ofQueue = queueLocation(location)
      refusePlaintext(addressOf(location, context), context)
      if (ofQueue) refusePlaintext(queueAddress(ofQueue), context)
      const { store, openQueue } = await openLocation(location, { config, secrets, context, options })
      const [{ pattern }, { signal }] = [location, options]
      const ranges = Object.keys(selection.until ?? {})
      // Ranges of lists may remain from before the source had a queue.
      if (!ofQueue || (selection.until && ranges.every((partition) => assignmentOf(partition)))) {
        if (!selection.until) await orClose([store], listMatching(store, pattern, undefined, signal))
        return makeObjectReader({ store, pattern, isContinuous: config.isContinuous, positions, selection, signal })
      }
      if (selection.until) return makeVersionsReader(store, selection.until, signal)
      const assignment = selection.assignment ?? { index: 0, count: 1 }
      const listing = config.skipInitialLoad ? undefined : makeInitialListing({ store, pattern, positions, assignment })
      const shown = shownQueue(ofQueue)
      const queue = await orClose([store], openQueue(ofQueue), shown)
      await orClose([queue, store], queue.describe(signal), shown)
      return makeQueueReader({
        store,
        queue,
        shownQueue: shown,
        pattern,
        origin: eventOrigin(location),
        listing,
        // All workers read the same queue: one of them reports its length.
        reportsWaiting: assignment.index === 0,
        ...(queueTimes && { times: queueTimes }),
        signal,
      })
    },

    async measureLag(positions, options, assignment) {
      const location = locationOf(config, secrets)
      const ofQueue = queueLocation(location)
      const { store, openQueue } = await openLocation(location, { config, secrets, context, options })
      const [{ pattern }, { signal }] = [location, options]
      try {
        const isListed = ofQueue && (config.skipInitialLoad || isListingDone(assignment, positions))
        const listed = isListed ? 0 : await countWaitingObjects({ store, pattern, positions, assignment }, signal)
        // All workers read the same queue: one of them counts it.
        if (!ofQueue || assignment.index > 0 || listed === undefined) return listed
        return listed + (await countMessages(await openQueue(ofQueue), signal))
      } finally {
        store.close()
      }
    },
  }
}

async function countMessages(queue: MessageQueue, signal: AbortSignal): Promise<number> {
  try {
    return await queue.count(signal)
  } finally {
    queue.close()
  }
}

/** Closes everything on failure. Access is checked while opening, so that it fails before the first read. */
async function orClose<Answer>(
  opened: { close(): void }[],
  asked: Promise<Answer>,
  unreachable?: string,
): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    for (const one of opened) one.close()
    throw readerError(error, unreachable)
  }
}

function eventOrigin(location: ObjectLocation): EventOrigin {
  return location.kind === 'azure'
    ? { kind: 'azure', container: location.container }
    : { kind: 's3', bucket: location.bucket }
}

/** Store and queue have the same steps: each is reported once. */
function withoutRepeats(begin: ProbeOptions['begin']): ProbeOptions['begin'] {
  const steps = new Set<ProbeStep>()
  return (step) => {
    if (!steps.has(step)) begin(step)
    steps.add(step)
  }
}

async function describeQueue(queue: MessageQueue, signal: AbortSignal): Promise<void> {
  try {
    await queue.describe(signal)
  } finally {
    queue.close()
  }
}

/** The first objects that the pattern takes. */
async function describe(
  store: ObjectStore,
  location: ObjectLocation,
  isContinuous: boolean,
  signal: AbortSignal,
): Promise<StoredObject[]> {
  let after: string | undefined
  let hasEmpty = false
  for (let page = 1; page <= maxPages; page++) {
    const found = await listMatching(store, location.pattern, after, signal)
    if (found.matches.length > 0) return found.matches.slice(0, maxSampledObjects)
    hasEmpty ||= found.hasEmpty
    if (found.isLast) {
      // Empty objects have no records. A continuous source may get others later.
      if (hasEmpty || isContinuous) return []
      throw nothingMatches(location, 'no object')
    }
    after = found.last
  }
  throw nothingMatches(location, `none of the first ${(maxPages * 1000).toLocaleString('en')} objects`)
}

function nothingMatches(location: ObjectLocation, objects: string): ProbeFailure {
  const { pattern } = location
  const where = location.kind === 'azure' ? `the container "${location.container}"` : `the bucket "${location.bucket}"`
  const reason = `${objects} in ${where} that begins with ${excerpt(pattern.prefix)} matches ${excerpt(pattern.text)}`
  return new ProbeFailure({
    step: 'describe',
    code: 'not_found',
    reason: pattern.isLiteral ? `${where} has no object ${excerpt(pattern.text)}` : reason,
    remedy: 'check the spelling, upper and lower case, and what the wildcards stand for',
    field: location.kind === 'azure' ? 'path' : 'url',
  })
}

function excerpt(text: string): string {
  return excerptOf(text, 200)
}
