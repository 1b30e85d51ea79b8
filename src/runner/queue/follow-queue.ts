// Reads on from a queue: claims what it tells of, loads what is this worker's, and has the queue forget what is finished.

import type { ObjectEncoder } from '../../formats/encode/encoder.ts'
import { countOf } from '../../lib/count-text.ts'
import { versionOf } from '../../sources/object-storage/queued-objects.ts'
import { type Batch, EndOfInput, finishedPosition, type Positions, type SourceReader } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import type { StoredPosition } from '../delivery.ts'
import type { Dispatch } from '../dispatch.ts'
import { makeObjectLoader, type ObjectLoader } from '../object-loader.ts'
import { dispatchObjects } from '../object-worker.ts'
import type { Left } from '../recover.ts'
import type { Session } from '../session.ts'
import type { Claim } from '../worker.ts'
import { makeAcknowledgements } from './acknowledgements.ts'
import type { ClaimedObjects } from './claimed-objects.ts'
import { finishGivenUp, type GivenUp } from './given-up.ts'
import type { Tries } from './object-trouble.ts'
import { makeOthersObjects } from './others-objects.ts'
import { makeQueueHand, type QueueHand } from './queue-hand.ts'

/** What is claimed by one worker is loaded by no other: of large objects they are few. */
const mostClaimed = 100
const longestPollMs = 20_000
/** In looks at whether another worker has done its part. */
const looksBetweenClaims = 5

export interface FollowParts {
  session: Session
  encoder: ObjectEncoder
  reader: SourceReader
  claimed: ClaimedObjects
  left: Left
  tries: Tries
}

/** Resolves when the worker was told to stop, or when the queue has ended. */
export async function followQueue(parts: FollowParts): Promise<'stopped' | 'completed'> {
  const { session, encoder, reader, claimed, left, tries } = parts
  const { store, settings, stopping, status, times, batchSize } = session
  const pollMs = Math.min(longestPollMs, settings.object_storage_polling_interval_ms)
  const acknowledgements = makeAcknowledgements(reader, (partition) => hand.finish(partition))
  const acknowledged: SourceReader = { ...reader, acknowledge: (positions) => acknowledge(positions) }
  const dispatch: Dispatch = dispatchObjects(session, left.nextNumber, acknowledged)
  const loader: ObjectLoader = makeObjectLoader(session, encoder, dispatch)
  const others = makeOthersObjects(times.lookAgainMs * looksBetweenClaims)
  let isEnded = false
  /** Before that nobody knows whether anything is to be loaded, and nothing is to be waited for. */
  let hasSeenAll = false

  const acknowledge = async (positions: Positions): Promise<void> => {
    await acknowledgements.tell(positions)
    status.lag(reader.lag())
  }

  const giveUp = async (givenUp: GivenUp[]): Promise<void> => {
    if (givenUp.length === 0) return
    // Positions of what is under way would be written later, and undo this.
    await dispatch.lanes.settled()
    dispatch.lanes.check()
    if (stopping.aborted) return
    await finishGivenUp(session, givenUp)
    void acknowledge(finishedAll(givenUp))
  }

  const hand: QueueHand = makeQueueHand(session, {
    loader,
    tries,
    giveUp: (one) => giveUp([one]),
    told(key, beginByte) {
      const lag = reader.lag()
      status.lag(lag)
      const waiting = lag ? `; ${countOf(lag, 'file')} more ${lag === 1 ? 'is' : 'are'} waiting` : ''
      status.doing(`Loading ${beginByte > 0 ? 'the rest of ' : ''}${key}${waiting}`)
    },
  })

  /** What this worker had in hand before it began anew, and what nobody has since there are fewer workers. */
  const takeUpClaims = async (): Promise<void> => {
    const mine = claimsOf(left.positions, session.parts)
    if (mine.length === 0) return
    const partitions = mine.map(({ partition }) => partition)
    const claims = await store.claim(partitions)
    const found = await claimed.list(partitions)
    for (const [index, { partition, offsetBytes = 0 }] of mine.entries()) {
      const find = async () => found.get(partition) ?? claimed.load(partition)
      if (claims[index] === 'mine') hand.add({ partition, beginByte: offsetBytes, find })
    }
  }

  const take = async (batches: Batch[]): Promise<void> => {
    const told = batches.filter(({ object, refused }) => object || refused)
    // One that is in hand now may be finished, and in hand no more, when the answer comes that it was mine.
    const inHand = new Set(told.map(({ partition }) => partition).filter((partition) => hand.has(partition)))
    const claims = told.length === 0 ? [] : await store.claim(told.map(({ partition }) => partition))
    const cursors = batches.flatMap(({ cursor }) => (cursor ? [cursor] : []))
    // What was listed is claimed, and found by that: nobody need list it again.
    if (cursors.length > 0) await store.setPositions(lastOfEach(cursors))
    const those = (isSo: (claim: Claim | undefined, batch: Batch) => boolean): Batch[] =>
      told.filter((batch, index) => isSo(claims[index], batch))
    const finished = those((claim) => claim === 'finished')
    if (finished.length > 0) void acknowledge(finishedAll(finished))
    for (const batch of those((claim, { object }) => claim === 'others' && object !== undefined)) others.add(batch)
    for (const { partition, object } of those((claim) => claim === 'mine')) {
      if (object && !inHand.has(partition)) hand.add({ partition, beginByte: 0, find: async () => object })
    }
    // Whoever claimed a message may not have it any more: it is kept once, however many keep it.
    const nowhere = those((claim, { refused }) => claim !== 'finished' && refused !== undefined)
    await giveUp(nowhere.flatMap(({ partition, refused }) => (refused ? [{ partition, ...refused }] : [])))
  }

  const readOnce = async (): Promise<Batch[]> => {
    // While something is inserted, what the worker does changes soon.
    const idleMs = dispatch.lanes.busyCount > 0 ? Math.min(pollMs, times.idleReadMs) : pollMs
    // What waits to be joined does not wait for messages that are yet to come.
    const mayWait = loader.isEmpty && hasSeenAll
    const waitMs = mayWait ? Math.max(0, Math.min(idleMs, hand.dueInMs(), others.dueInMs())) : 0
    if (waitMs > 0) tellWaiting()
    try {
      return await reader.read({ maxRecords: mostClaimed, maxBytes: batchSize.bytes, waitMs, signal: stopping })
    } catch (error) {
      if (!(error instanceof EndOfInput)) throw error
      isEnded = true
      return []
    }
  }

  const tellWaiting = (): void => {
    const aside = hand.asideCount === 0 ? [] : [`${countOf(hand.asideCount, 'file')} will be tried again`]
    const note = reader.note?.()
    status.lag(reader.lag())
    status.doing(['Waiting for messages', ...aside, ...(note === undefined ? [] : [note])].join('; '))
  }

  const rest = async (askedAtMs: number): Promise<void> => {
    hasSeenAll = true
    await loader.flush()
    void acknowledge({})
    const isIdle = dispatch.lanes.busyCount === 0 && hand.asideCount === 0
    // That messages can be received does not say that objects can be loaded.
    if (isIdle) {
      session.well()
      if (others.count === 0) status.delivered(askedAtMs)
    }
    tellWaiting()
  }

  const loop = async (): Promise<'stopped' | 'completed'> => {
    status.doing('Looking for files')
    await takeUpClaims()
    while (!stopping.aborted) {
      dispatch.lanes.check()
      await hand.loadDue()
      if (stopping.aborted) break
      await take(others.takeDue())
      const askedAtMs = Date.now()
      const batches = isEnded ? [] : await readOnce()
      if (batches.length === 0) await rest(askedAtMs)
      if (isEnded && hand.asideCount === 0 && others.count === 0) return 'completed'
      if (isEnded) await pause(Math.max(0, Math.min(hand.dueInMs(), others.dueInMs())), stopping)
      await take(batches)
    }
    return 'stopped'
  }

  try {
    return await dispatch.run(loop)
  } finally {
    await acknowledgements.settled()
    // Told to stop, and not ended by a failure.
    if (stopping.aborted && !session.signal.aborted) await reader.giveBack?.()
  }
}

/** Objects of this worker. Messages come again by themselves. */
function claimsOf(positions: StoredPosition[], { slot, slots }: { slot: number; slots: number }): StoredPosition[] {
  return positions.filter(({ partition, slot: owner }) => {
    if (owner === undefined || versionOf(partition) === undefined) return false
    return owner === slot || (slot === 0 && owner >= slots)
  })
}

function finishedAll(partitions: { partition: string }[]): Record<string, string> {
  return Object.fromEntries(partitions.map(({ partition }) => [partition, finishedPosition]))
}

function lastOfEach(cursors: NonNullable<Batch['cursor']>[]): StoredPosition[] {
  return [...new Map(cursors.map((cursor) => [cursor.partition, cursor])).values()]
}
