// The rows of a recorded delivery again. An object that cannot be had any more is left out, under the same token: when the engine
// has the batch, it stores nothing, and otherwise the rest.
import { makeBackOff, pause } from '../back-off.ts'
import type { DeliveryRange, StoredDelivery } from '../delivery.ts'
import type { ObjectEncoder } from '../encoding/encoder.ts'
import { addFigures, noFigures } from '../figures.ts'
import type { Rebuild } from '../recover.ts'
import type { Rows } from '../rows.ts'
import type { Session } from '../session.ts'
import type { FigureChanges } from '../worker.ts'
import { type ClaimedObjects, type FoundObject, makeClaimedObjects, objectGone } from './claimed-objects.ts'
import { keepGivenUp, objectGivenUp } from './given-up.ts'
import { findTrouble, mostTries } from './object-trouble.ts'
import type { Recording } from './recording.ts'

type Part = Rows | { trouble: string }

export interface RebuildParts {
  session: Session
  encoder: ObjectEncoder
  recording: Recording
}

export async function rebuildQueued(
  { session, encoder, recording }: RebuildParts,
  { id, ranges, badRows = [] }: StoredDelivery,
  use: Parameters<Rebuild>[1],
): ReturnType<Rebuild> {
  // What is one piece is read while it is sent: the readers stay open until then.
  const objects = makeClaimedObjects(session)
  try {
    const parts = await partsOf(session, encoder, objects, ranges)
    const rows = joined(encoder, parts.filter(isMade))
    const firstMissing = parts.findIndex((part) => !isMade(part))
    // How many rows a missing one had, nobody knows: what is refused behind it is found by its faults again.
    const knownUpTo = firstMissing < 0 ? Number.POSITIVE_INFINITY : countOf(parts.slice(0, firstMissing))
    const known = badRows.filter(({ index }) => index < knownUpTo)
    recording.limit(id, knownUpTo)
    // Before the others are sent: once the engine has their token, it takes nothing of the missing ones, should they come again.
    const ofMissing = await keepMissing(session, ranges, parts)
    const figures = rows ? await use(rows, known) : noFigures
    return figures && addFigures(figures, ofMissing)
  } finally {
    await objects.close()
  }
}

/** In the order of the ranges. What cannot be had is tried again, all of it together. */
async function partsOf(
  session: Session,
  encoder: ObjectEncoder,
  objects: ClaimedObjects,
  ranges: DeliveryRange[],
): Promise<Part[]> {
  const { stopping, times } = session
  const backOff = makeBackOff(times.backOff)
  const parts = new Map<DeliveryRange, Part>()
  for (let tries = 1; ; tries++) {
    const pending = ranges.filter((range) => !isMade(parts.get(range)))
    const found = await objects.list(pending.map(({ partition }) => partition))
    for (const range of pending) parts.set(range, await partOf(session, encoder, found.get(range.partition), range))
    const made = [...parts.values()]
    if (tries >= mostTries || made.every(isMade)) return made
    session.countRetry()
    await pause(backOff.nextMs(), stopping)
    stopping.throwIfAborted()
  }
}

function isMade(part: Part | undefined): part is Rows {
  return part !== undefined && !('trouble' in part)
}

async function partOf(
  { turn, signal }: Session,
  encoder: ObjectEncoder,
  object: FoundObject | undefined,
  { partition, beginByte = 0, endByte = null }: DeliveryRange,
): Promise<Part> {
  try {
    if (!object) throw objectGone(partition)
    return await turn.build(() => encoder.piece(object, { partition, beginByte, endByte, signal }))
  } catch (error) {
    const trouble = findTrouble(error)
    if (trouble === undefined) throw error
    return { trouble }
  }
}

function joined(encoder: ObjectEncoder, parts: Rows[]): Rows | undefined {
  const filled = parts.filter(({ count }) => count > 0)
  if (filled.length <= 1) return filled[0] ?? parts[0]
  const rows = encoder.join(filled)
  if (!rows) throw new Error('objects of one shape could not be joined')
  return rows
}

function countOf(parts: Part[]): number {
  return parts.filter(isMade).reduce((sum, { count }) => sum + count, 0)
}

/** Those that are finished with this delivery. One of which more is to come fails again with what comes next, and is kept then. */
async function keepMissing(session: Session, ranges: DeliveryRange[], parts: Part[]): Promise<FigureChanges> {
  const ended = ranges.flatMap(({ partition, endByte = null }, index) => {
    const part = parts[index]
    if (endByte !== null || !part || isMade(part)) return []
    return [objectGivenUp(partition, part.trouble, 'it, or a part of it, may be in the table')]
  })
  return keepGivenUp(session, ended)
}
