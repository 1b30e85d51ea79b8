// The rows of a recorded delivery again. An object that cannot be had any more is left out, under the same token: when the engine
// has the batch, it stores nothing, and otherwise the rest.

import type { ObjectEncoder } from '../formats/encode/encoder.ts'
import { type Batch, EndOfInput, type ProbeFailure, type SourceReader } from '../sources/source.ts'
import { makeBackOff, pause } from './back-off.ts'
import { addCounters, zeroCounters } from './counters.ts'
import type { DeliveryRange, StoredDelivery } from './delivery.ts'
import { type GivenUp, keepGivenUp } from './queue/given-up.ts'
import { findTrouble, mostTries } from './queue/object-trouble.ts'
import type { Recording } from './queue/recording.ts'
import type { Rebuild } from './recover.ts'
import type { Rows } from './rows.ts'
import type { Session } from './session.ts'
import type { CounterChanges } from './worker.ts'

export type FoundObject = NonNullable<Batch['object']>

/** Where the objects of ranges are found again. */
export interface RangeObjects {
  /** Those that are gone, or are another one by now, are missing. */
  list(ranges: DeliveryRange[]): Promise<Map<DeliveryRange, FoundObject>>
  gone(range: DeliveryRange): ProbeFailure
  givenUp(range: DeliveryRange, trouble: string, whatIsThere: string): GivenUp
  /** Nothing of what was found is read any more. */
  close(): Promise<void>
}

/** All that the reader was opened for. An object that is missing is reported by a failure; the next read goes on behind it. */
export async function readSelected(reader: SourceReader, count: number, signal: AbortSignal): Promise<Batch[]> {
  const limits = { maxRecords: count, maxBytes: Number.MAX_SAFE_INTEGER, waitMs: 0, signal }
  const batches: Batch[] = []
  for (let failures = 0; failures <= count; ) {
    try {
      batches.push(...(await reader.read(limits)))
    } catch (error) {
      if (error instanceof EndOfInput) break
      if (findTrouble(error) === undefined) throw error
      failures++
    }
  }
  return batches
}

type Part = Rows | { trouble: string }

export interface RebuildParts {
  session: Session
  encoder: ObjectEncoder
  recording: Recording
  /** What is one piece is read while it is sent: they stay open until then. */
  openObjects(): RangeObjects
}

export async function rebuildObjects(
  { session, encoder, recording, openObjects }: RebuildParts,
  { id, ranges, badRows = [] }: StoredDelivery,
  use: Parameters<Rebuild>[1],
): ReturnType<Rebuild> {
  const objects = openObjects()
  try {
    const parts = await partsOf(session, encoder, objects, ranges)
    const rows = joined(encoder, parts.filter(isMade))
    const firstMissing = parts.findIndex((part) => !isMade(part))
    // How many rows a missing one had, nobody knows: what is refused behind it is found by its faults again.
    const knownUpTo = firstMissing < 0 ? Number.POSITIVE_INFINITY : countOf(parts.slice(0, firstMissing))
    const known = badRows.filter(({ index }) => index < knownUpTo)
    recording.limit(id, knownUpTo)
    // Before the others are sent: once the engine has their token, it takes nothing of the missing ones, should they come again.
    const ofMissing = await keepMissing(session, objects, ranges, parts)
    const figures = rows ? await use(rows, known) : zeroCounters
    return figures && addCounters(figures, ofMissing)
  } finally {
    await objects.close()
  }
}

/** In the order of the ranges. What cannot be had is tried again, all of it together. */
async function partsOf(
  session: Session,
  encoder: ObjectEncoder,
  objects: RangeObjects,
  ranges: DeliveryRange[],
): Promise<Part[]> {
  const { stopping, times } = session
  const backOff = makeBackOff(times.backOff)
  const parts = new Map<DeliveryRange, Part>()
  for (let tries = 1; ; tries++) {
    const pending = ranges.filter((range) => !isMade(parts.get(range)))
    const found = await objects.list(pending)
    for (const range of pending) {
      const object = found.get(range)
      const part = object ? await partOf(session, encoder, object, range) : { trouble: objects.gone(range).reason }
      parts.set(range, part)
    }
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
  object: FoundObject,
  { partition, beginByte = 0, endByte = null }: DeliveryRange,
): Promise<Part> {
  try {
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
async function keepMissing(
  session: Session,
  objects: RangeObjects,
  ranges: DeliveryRange[],
  parts: Part[],
): Promise<CounterChanges> {
  const ended = ranges.flatMap((range, index) => {
    const part = parts[index]
    if ((range.endByte ?? null) !== null || !part || isMade(part)) return []
    return [objects.givenUp(range, part.trouble, 'it, or a part of it, may be in the table')]
  })
  return keepGivenUp(session, ended)
}
