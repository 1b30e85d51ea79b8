// Moves the objects that a queue announces. Each version of an object is a partition of its own. It is claimed before any of its rows
// are sent, and its message is deleted when all rows are durable, so that an object announced twice is loaded once.

import { claimedRanges, makeClaimedObjects } from './queue/claimed-objects.ts'
import { followQueue } from './queue/follow-queue.ts'
import { markIndivisible } from './queue/indivisible-objects.ts'
import type { ObjectAttempts } from './queue/object-failure.ts'
import { makeRecording } from './queue/recording.ts'
import { makeRetryingSink, nameByObject } from './queue/retrying-sink.ts'
import { rebuildObjects } from './rebuild-objects.ts'
import { recover } from './recover.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'

/** Resolves when the worker was stopped. `attempts` outlives the session. */
export async function moveQueue(given: Session, attempts: ObjectAttempts): Promise<'stopped' | 'completed'> {
  const recording = makeRecording(given.store)
  const session = { ...given, store: recording.store, sink: nameByObject(makeRetryingSink(given), given) }
  const encoder = markIndivisible(session.encoders.makeObjectEncoder(encoderPartsOf(session.parts)))
  const rebuilding = { session, encoder, recording, openObjects: () => claimedRanges(session) }
  const recovered = await recover(
    session,
    (delivery, use) => rebuildObjects(rebuilding, delivery, use),
    async () => 'done',
  )
  if (!recovered) return 'stopped'
  const { workerIndex, workerCount } = session.parts
  const cursors = recovered.positions.filter((position) => position.workerIndex === undefined)
  const claimed = makeClaimedObjects(session)
  try {
    const assignment = { index: workerIndex, count: workerCount }
    return await withReader(session, positionsOf(cursors), { assignment }, (reader) =>
      followQueue({ session, encoder, reader, claimed, left: recovered, attempts }),
    )
  } finally {
    await claimed.close()
  }
}
