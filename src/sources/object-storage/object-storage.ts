// Objects in S3, in what speaks like it, and in Azure: the probe of a source, and its readers. What the stores have in common is
// here; open-place.ts opens them. With a queue, the queue tells of objects that come later.

import { excerptOf } from '../../formats/decode/decode.ts'
import type { ObjectStorageSource } from '../../pipes/object-storage-source.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import {
  ProbeFailure,
  type ProbeOptions,
  type ProbeResult,
  type ProbeStep,
  type ReadableSource,
  type SourceContext,
} from '../source.ts'
import type { HoldTimes } from './held-messages.ts'
import { isListingDone, makeInitialListing } from './initial-listing.ts'
import type { MessageQueue } from './message-queue.ts'
import { addressOf, reach, refusePlaintext } from './object-address.ts'
import { shareOf } from './object-assignment.ts'
import type { EventOrigin } from './object-events.ts'
import { listMatching } from './object-listing.ts'
import { type ObjectLocation, placeOf } from './object-location.ts'
import { makeObjectReader, readerError } from './object-reader.ts'
import { maxSampledObjects, sampleObjects } from './object-sample.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { openLocation } from './open-location.ts'
import { type QueueLocation, queueAddress, queueLocationOf, shownQueue } from './queue-location.ts'
import { makeQueueReader } from './queue-reader.ts'
import { makeVersionsReader } from './queued-versions.ts'
import { countWaitingObjects } from './waiting-objects.ts'

/** Of 1,000 objects each. Who has more that do not match can say more exactly which do. */
const maxPages = 10

/** Other clouds have no queues that tell of objects. */
const typesWithQueues: readonly ObjectStorageSource['type'][] = ['s3', 'azureblobstorage']

export function makeObjectStorageSource(
  config: ObjectStorageSource,
  secrets: SourceSecrets,
  context: SourceContext,
  /** How long messages are held; as usual when undefined. */
  queueTimes?: HoldTimes,
): ReadableSource {
  /** Undefined: the source goes by lists alone. */
  const queuePlace = (place: ObjectLocation): QueueLocation | undefined => {
    const hasQueue = config.isContinuous && typesWithQueues.includes(config.type)
    return hasQueue && config.queueUrl !== undefined ? queueLocationOf(config.queueUrl, place) : undefined
  }

  return {
    async probe(options): Promise<ProbeResult> {
      const { signal, maxRecords } = options
      const begin = withoutRepeats(options.begin)
      const reaching = { ...options, begin }
      begin('connect')
      const place = placeOf(config, secrets)
      const ofQueue = queuePlace(place)
      await reach(addressOf(place, context), context, reaching)
      if (ofQueue) await reach(queueAddress(ofQueue), context, reaching)
      const { store, openQueue } = await openLocation(place, { config, secrets, context, surroundings: options })
      try {
        if (config.authentication !== undefined) begin('authenticate')
        const objects = await describe(store, place, config.isContinuous, signal)
        begin('describe')
        if (ofQueue) await describeQueue(await openQueue(ofQueue), signal)
        const { format, compression, delimiter } = config
        const decoding = { format, compression, ...(delimiter !== undefined && { delimiter }) }
        return { samples: [await sampleObjects(objects, { store, decoding, maxRecords, signal, begin })] }
      } finally {
        store.close()
      }
    },

    async open(positions, surroundings, selection = {}) {
      const place = placeOf(config, secrets)
      const ofQueue = queuePlace(place)
      refusePlaintext(addressOf(place, context), context)
      if (ofQueue) refusePlaintext(queueAddress(ofQueue), context)
      const { store, openQueue } = await openLocation(place, { config, secrets, context, surroundings })
      const [{ pattern }, { signal }] = [place, surroundings]
      const ranges = Object.keys(selection.until ?? {})
      // Ranges of lists may be left from when the source went by lists.
      if (!ofQueue || (selection.until && ranges.every((partition) => shareOf(partition)))) {
        if (!selection.until) await letIn([store], listMatching(store, pattern, undefined, signal))
        return makeObjectReader({ store, pattern, isContinuous: config.isContinuous, positions, selection, signal })
      }
      if (selection.until) return makeVersionsReader(store, selection.until, signal)
      const share = selection.share ?? { index: 0, count: 1 }
      const listing = config.skipInitialLoad ? undefined : makeInitialListing({ store, pattern, positions, share })
      const shown = shownQueue(ofQueue)
      const queue = await letIn([store], openQueue(ofQueue), shown)
      await letIn([queue, store], queue.describe(signal), shown)
      return makeQueueReader({
        store,
        queue,
        shownQueue: shown,
        pattern,
        place: eventPlace(place),
        listing,
        // All of them read the same queue: what waits there is to be told once.
        tellsWaiting: share.index === 0,
        ...(queueTimes && { times: queueTimes }),
        signal,
      })
    },

    async measureLag(positions, surroundings, share) {
      const place = placeOf(config, secrets)
      const ofQueue = queuePlace(place)
      const { store, openQueue } = await openLocation(place, { config, secrets, context, surroundings })
      const [{ pattern }, { signal }] = [place, surroundings]
      try {
        const isListed = ofQueue && (config.skipInitialLoad || isListingDone(share, positions))
        const listed = isListed ? 0 : await countWaitingObjects({ store, pattern, positions, share }, signal)
        // All workers receive from the same queue: one of them counts it.
        if (!ofQueue || share.index > 0 || listed === undefined) return listed
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

/** Whether we are let in shows while what was before may still go on, and not with the first read. */
async function letIn<Answer>(opened: { close(): void }[], asked: Promise<Answer>, place?: string): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    for (const one of opened) one.close()
    throw readerError(error, place)
  }
}

function eventPlace(place: ObjectLocation): EventOrigin {
  return place.kind === 'azure' ? { kind: 'azure', container: place.container } : { kind: 's3', bucket: place.bucket }
}

/** What is done with the store is done with the queue too. */
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
  place: ObjectLocation,
  isContinuous: boolean,
  signal: AbortSignal,
): Promise<StoredObject[]> {
  let after: string | undefined
  let hasEmpty = false
  for (let page = 1; page <= maxPages; page++) {
    const found = await listMatching(store, place.pattern, after, signal)
    if (found.matches.length > 0) return found.matches.slice(0, maxSampledObjects)
    hasEmpty ||= found.hasEmpty
    if (found.isLast) {
      // Objects without a byte are there, and have no records; others may come yet.
      if (hasEmpty || isContinuous) return []
      throw nothingMatches(place, 'no object')
    }
    after = found.last
  }
  throw nothingMatches(place, `none of the first ${(maxPages * 1000).toLocaleString('en')} objects`)
}

function nothingMatches(place: ObjectLocation, objects: string): ProbeFailure {
  const { pattern } = place
  const where = place.kind === 'azure' ? `the container "${place.container}"` : `the bucket "${place.bucket}"`
  const reason = `${objects} in ${where} that begins with ${told(pattern.prefix)} matches ${told(pattern.text)}`
  return new ProbeFailure({
    step: 'describe',
    code: 'not_found',
    reason: pattern.isLiteral ? `${where} has no object ${told(pattern.text)}` : reason,
    remedy: 'check the spelling, upper and lower case, and what the wildcards stand for',
    field: place.kind === 'azure' ? 'path' : 'url',
  })
}

function told(text: string): string {
  return excerptOf(text, 200)
}
