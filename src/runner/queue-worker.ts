// Moves the objects that a queue tells of. Each version of an object is a partition of its own: it is claimed before anything of it
// is sent, and the queue may forget it only when all of it is durable, so that whatever is told twice is loaded once.

import { claimedRanges, makeClaimedObjects } from './queue/claimed-objects.ts'
import { followQueue } from './queue/follow-queue.ts'
import type { Tries } from './queue/object-trouble.ts'
import { makeRecording } from './queue/recording.ts'
import { makeRetryingSink, nameByObject } from './queue/retrying-sink.ts'
import { tellWholeObjects } from './queue/whole-objects.ts'
import { rebuildObjects } from './rebuild-objects.ts'
import { recover } from './recover.ts'
import { encoderPartsOf, positionsOf, type Session, withReader } from './session.ts'

/** Resolves when the worker was told to stop. `tries` outlives the session. */
export async function moveQueue(given: Session, tries: Tries): Promise<'stopped' | 'completed'> {
  const recording = makeRecording(given.store)
  const session = { ...given, store: recording.store, sink: nameByObject(makeRetryingSink(given), given) }
  const encoder = tellWholeObjects(session.encoders.makeObjectEncoder(encoderPartsOf(session.parts)))
  const rebuilding = { session, encoder, recording, openObjects: () => claimedRanges(session) }
  const left = await recover(
    session,
    (delivery, use) => rebuildObjects(rebuilding, delivery, use),
    async () => 'done',
  )
  if (!left) return 'stopped'
  const { slot, slots } = session.parts
  const cursors = left.positions.filter((position) => position.slot === undefined)
  const claimed = makeClaimedObjects(session)
  try {
    const share = { index: slot, count: slots }
    return await withReader(session, positionsOf(cursors), { share }, (reader) =>
      followQueue({ session, encoder, reader, claimed, left, tries }),
    )
  } finally {
    await claimed.close()
  }
}
