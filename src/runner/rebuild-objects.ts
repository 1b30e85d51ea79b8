// Rebuilds the rows of a recorded delivery. An object that is no longer available is left out and the token stays the same: if the
// engine already has the batch it stores nothing, otherwise it stores the remaining rows.

import type { ObjectEncoder } from '../formats/encode/encoder.ts'
import type { Rows } from '../formats/encode/rows.ts'
import type { DeliveryRange, StoredDelivery } from '../progress/delivery.ts'
import type { CounterChanges } from '../progress/pipe-counters.ts'
import type { ProbeFailure } from '../source-shapes/source-failure.ts'
import { type Batch, EndOfInput, type SourceReader } from '../sources/source.ts'
import { makeBackOff, pause } from './back-off.ts'
import { addCounters, zeroCounters } from './counters.ts'
import { type GivenUp, keepGivenUp } from './queue/given-up.ts'
import { findObjectFailure, maxObjectAttempts } from './queue/object-failure.ts'
import type { Recording } from './queue/recording.ts'
import type { Rebuild } from './recover.ts'
import type { Session } from './session.ts'

export type FoundObject = NonNullable<Batch['object']>

/** Finds the objects of ranges again. */
export interface RangeObjects {
  /** Without objects that were deleted or changed. */
  list(ranges: DeliveryRange[]): Promise<Map<DeliveryRange, FoundObject>>
  gone(range: DeliveryRange): ProbeFailure
  givenUp(range: DeliveryRange, failure: string, whatIsThere: string): GivenUp
  /** Call when no object is read any more. */
  close(): Promise<void>
}

/** Reads everything that the reader was opened for. A missing object fails one read; the next read continues after it. */
export async function readSelected(reader: SourceReader, count: number, signal: AbortSignal): Promise<Batch[]> {
  const limits = { maxRecords: count, maxBytes: Number.MAX_SAFE_INTEGER, waitMs: 0, signal }
  const batches: Batch[] = []
  for (let failures = 0; failures <= count; ) {
    try {
      batches.push(...(await reader.read(limits)))
    } catch (error) {
      if (error instanceof EndOfInput) break
      if (findObjectFailure(error) === undefined) throw error
      failures++
    }
  }
  return batches
}

type Part = Rows | { failure: string }

export interface RebuildParts {
  session: Session
  encoder: ObjectEncoder
  recording: Recording
  /** Indivisible objects are read while they are sent, so the objects stay open until then. */
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
    // The row count of a missing object is unknown: rejected rows after it have to be searched for again.
    const knownUpTo = firstMissing < 0 ? Number.POSITIVE_INFINITY : countOf(parts.slice(0, firstMissing))
    const known = badRows.filter(({ index }) => index < knownUpTo)
    recording.limit(id, knownUpTo)
    // Before the others are sent: once the engine has their token, rows of a missing object that reappears would not be stored.
    const ofMissing = await keepMissing(session, objects, ranges, parts)
    const counters = rows ? await use(rows, known) : zeroCounters
    return counters && addCounters(counters, ofMissing)
  } finally {
    await objects.close()
  }
}

/** In the order of the ranges. Retries all unavailable objects together. */
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
      const part = object ? await partOf(session, encoder, object, range) : { failure: objects.gone(range).reason }
      parts.set(range, part)
    }
    const made = [...parts.values()]
    if (tries >= maxObjectAttempts || made.every(isMade)) return made
    session.countRetry()
    await pause(backOff.nextMs(), stopping)
    stopping.throwIfAborted()
  }
}

function isMade(part: Part | undefined): part is Rows {
  return part !== undefined && !('failure' in part)
}

async function partOf(
  { builder, signal }: Session,
  encoder: ObjectEncoder,
  object: FoundObject,
  { partition, beginByte = 0, endByte = null }: DeliveryRange,
): Promise<Part> {
  try {
    return await builder.build(() => encoder.piece(object, { partition, beginByte, endByte, signal }))
  } catch (error) {
    const failure = findObjectFailure(error)
    if (failure === undefined) throw error
    return { failure }
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

/** Records the missing objects that end with this delivery. One that continues fails again in the next delivery, and is recorded then. */
async function keepMissing(
  session: Session,
  objects: RangeObjects,
  ranges: DeliveryRange[],
  parts: Part[],
): Promise<CounterChanges> {
  const ended = ranges.flatMap((range, index) => {
    const part = parts[index]
    if ((range.endByte ?? null) !== null || !part || isMade(part)) return []
    return [objects.givenUp(range, part.failure, 'it, or a part of it, may be in the table')]
  })
  return keepGivenUp(session, ended)
}
