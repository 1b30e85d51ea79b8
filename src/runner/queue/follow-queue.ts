// Reads messages from a queue: claims their objects, loads those of this worker, and acknowledges finished ones.

import type { ObjectEncoder } from '../../formats/encode/encoder.ts'
import { countOf } from '../../lib/count-text.ts'
import type { Claim, StoredPosition } from '../../progress/delivery.ts'
import { versionOf } from '../../sources/object-storage/queued-objects.ts'
import { type Batch, EndOfInput, finishedPosition, type Positions, type SourceReader } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import type { Dispatch } from '../dispatch.ts'
import { makeObjectLoader, type ObjectLoader } from '../object-loader.ts'
import { dispatchObjects } from '../object-worker.ts'
import type { Recovered } from '../recover.ts'
import type { Session } from '../session.ts'
import { makeAcknowledgements } from './acknowledgements.ts'
import type { ClaimedObjects } from './claimed-objects.ts'
import { finishGivenUp, type GivenUp } from './given-up.ts'
import type { ObjectAttempts } from './object-failure.ts'
import { makeObjectsInProgress, type ObjectsInProgress } from './objects-in-progress.ts'
import { makeObjectsOfOtherWorkers } from './objects-of-other-workers.ts'

/** Small, because objects claimed by one worker are not loaded by another. */
const mostClaimed = 100
const longestPollMs = 20_000
/** Times `lookAgainMs`: interval of checks of other workers' objects. */
const looksBetweenClaims = 5

export interface FollowParts {
  session: Session
  encoder: ObjectEncoder
  reader: SourceReader
  claimed: ClaimedObjects
  left: Recovered
  attempts: ObjectAttempts
}

/** Resolves when the worker was asked to stop, or when the queue has ended. */
export async function followQueue(parts: FollowParts): Promise<'stopped' | 'completed'> {
  const { session, encoder, reader, claimed, left, attempts } = parts
  const { store, settings, stopping, status, times, batchSize } = session
  const pollMs = Math.min(longestPollMs, settings.object_storage_polling_interval_ms)
  const acknowledgements = makeAcknowledgements(reader, (partition) => inProgress.finish(partition))
  const acknowledged: SourceReader = { ...reader, acknowledge: (positions) => acknowledge(positions) }
  const dispatch: Dispatch = dispatchObjects(session, left.nextNumber, acknowledged)
  const loader: ObjectLoader = makeObjectLoader(session, encoder, dispatch)
  const others = makeObjectsOfOtherWorkers(times.lookAgainMs * looksBetweenClaims)
  let isEnded = false
  /** Set by the first empty read. Until then, reads do not wait. */
  let hasSeenAll = false

  const acknowledge = async (positions: Positions): Promise<void> => {
    await acknowledgements.acknowledge(positions)
    status.lag(reader.lag())
  }

  const giveUp = async (givenUp: GivenUp[]): Promise<void> => {
    if (givenUp.length === 0) return
    // Positions of inserts in flight would be written later and undo this.
    await dispatch.limit.settled()
    dispatch.limit.check()
    if (stopping.aborted) return
    await finishGivenUp(session, givenUp)
    void acknowledge(finishedAll(givenUp))
  }

  const inProgress: ObjectsInProgress = makeObjectsInProgress(session, {
    loader,
    attempts,
    giveUp: (one) => giveUp([one]),
    reportLoad(key, beginByte) {
      const lag = reader.lag()
      status.lag(lag)
      const waiting = lag ? `; ${countOf(lag, 'file')} more ${lag === 1 ? 'is' : 'are'} waiting` : ''
      status.doing(`Loading ${beginByte > 0 ? 'the rest of ' : ''}${key}${waiting}`)
    },
  })

  /** Adds objects that this worker claimed before a restart, and objects of workers that no longer exist. */
  const takeUpClaims = async (): Promise<void> => {
    const mine = claimsOf(left.positions, session.parts)
    if (mine.length === 0) return
    const partitions = mine.map(({ partition }) => partition)
    const claims = await store.claim(partitions)
    const found = await claimed.list(partitions)
    for (const [index, { partition, offsetBytes = 0 }] of mine.entries()) {
      const find = async () => found.get(partition) ?? claimed.load(partition)
      if (claims[index] === 'mine') inProgress.add({ partition, beginByte: offsetBytes, find })
    }
  }

  const take = async (batches: Batch[]): Promise<void> => {
    const claimable = batches.filter(({ object, rejected }) => object || rejected)
    // An object in progress may be finished before the answer arrives that its claim is mine.
    const alreadyInProgress = new Set(
      claimable.map(({ partition }) => partition).filter((partition) => inProgress.has(partition)),
    )
    const claims = claimable.length === 0 ? [] : await store.claim(claimable.map(({ partition }) => partition))
    const cursors = batches.flatMap(({ cursor }) => (cursor ? [cursor] : []))
    // All listed objects are claimed now, so that the listing can go on from here.
    if (cursors.length > 0) await store.setPositions(lastOfEach(cursors))
    const those = (isSo: (claim: Claim | undefined, batch: Batch) => boolean): Batch[] =>
      claimable.filter((batch, index) => isSo(claims[index], batch))
    const finished = those((claim) => claim === 'finished')
    if (finished.length > 0) void acknowledge(finishedAll(finished))
    for (const batch of those((claim, { object }) => claim === 'others' && object !== undefined)) others.add(batch)
    for (const { partition, object } of those((claim) => claim === 'mine')) {
      if (object && !alreadyInProgress.has(partition))
        inProgress.add({ partition, beginByte: 0, find: async () => object })
    }
    // The worker that claimed the message may have lost it. Recording is idempotent.
    const nowhere = those((claim, { rejected }) => claim !== 'finished' && rejected !== undefined)
    await giveUp(nowhere.flatMap(({ partition, rejected }) => (rejected ? [{ partition, ...rejected }] : [])))
  }

  const readOnce = async (): Promise<Batch[]> => {
    // During inserts the status changes soon.
    const idleMs = dispatch.limit.busyCount > 0 ? Math.min(pollMs, times.idleReadMs) : pollMs
    // Objects that are gathered for a batch do not wait for later messages.
    const mayWait = loader.isEmpty && hasSeenAll
    const waitMs = mayWait ? Math.max(0, Math.min(idleMs, inProgress.dueInMs(), others.dueInMs())) : 0
    if (waitMs > 0) reportWaiting()
    try {
      return await reader.read({ maxRecords: mostClaimed, maxBytes: batchSize.bytes, waitMs, signal: stopping })
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
      isEnded = true
      return []
    }
  }

  const reportWaiting = (): void => {
    const aside =
      inProgress.waitingCount === 0 ? [] : [`${countOf(inProgress.waitingCount, 'file')} will be tried again`]
    const note = reader.note?.()
    status.lag(reader.lag())
    status.doing(['Waiting for messages', ...aside, ...(note === undefined ? [] : [note])].join('; '))
  }

  const reportIdle = async (askedAtMs: number): Promise<void> => {
    hasSeenAll = true
    await loader.flush()
    void acknowledge({})
    const isIdle = dispatch.limit.busyCount === 0 && inProgress.waitingCount === 0
    // Receiving messages does not prove that objects can be loaded.
    if (isIdle) {
      session.well()
      if (others.count === 0) status.delivered(askedAtMs)
    }
    reportWaiting()
  }

  const loop = async (): Promise<'stopped' | 'completed'> => {
    status.doing('Looking for files')
    await takeUpClaims()
    while (!stopping.aborted) {
      dispatch.limit.check()
      await inProgress.loadDue()
      if (stopping.aborted) break
      await take(others.takeDue())
      const askedAtMs = Date.now()
      const batches = isEnded ? [] : await readOnce()
      if (batches.length === 0) await reportIdle(askedAtMs)
      if (isEnded && inProgress.waitingCount === 0 && others.count === 0) return 'completed'
      if (isEnded) await pause(Math.max(0, Math.min(inProgress.dueInMs(), others.dueInMs())), stopping)
      await take(batches)
    }
    return 'stopped'
  }

  try {
    return await dispatch.run(loop)
  } finally {
    await acknowledgements.settled()
    // After a stop, not after a failure.
    if (stopping.aborted && !session.signal.aborted) await reader.giveBack?.()
  }
}

/** Claimed objects of this worker. Messages are delivered again by the queue. */
function claimsOf(
  positions: StoredPosition[],
  { workerIndex, workerCount }: { workerIndex: number; workerCount: number },
): StoredPosition[] {
  return positions.filter(({ partition, workerIndex: owner }) => {
    if (owner === undefined || versionOf(partition) === undefined) return false
    return owner === workerIndex || (workerIndex === 0 && owner >= workerCount)
  })
}

function finishedAll(partitions: { partition: string }[]): Record<string, string> {
  return Object.fromEntries(partitions.map(({ partition }) => [partition, finishedPosition]))
}

function lastOfEach(cursors: NonNullable<Batch['cursor']>[]): StoredPosition[] {
  return [...new Map(cursors.map((cursor) => [cursor.partition, cursor])).values()]
}
