// Rows of several partitions or objects as one: their bodies one after the other, and numbered through.
import { isDeepStrictEqual } from 'node:util'
import { firstPlace } from '../../lib/binary-search.ts'
import type { Rows } from '../../runner/rows.ts'

/** They all have the same shape, and can be told apart. */
export function joinRows(parts: readonly Rows[]): Rows {
  const [only, ...others] = parts
  if (!only) throw new Error('there are no rows to join')
  if (others.length === 0) return only
  const starts: number[] = []
  let count = 0
  for (const part of parts) {
    starts.push(count)
    count += part.count
  }
  const startOf = (position: number): number => starts[position] ?? count
  /** Of the part that has the row: a part without rows begins where the next one does. */
  const positionOf = (index: number): number => firstPlace(starts.length, (position) => starts[position]! > index) - 1
  return {
    shape: only.shape,
    count,
    readBytes: parts.reduce((sizeBytes, { readBytes }) => sizeBytes + readBytes, 0),
    undecodable: parts.flatMap(({ undecodable }, position) =>
      undecodable.map(({ index, reason }) => ({ index: startOf(position) + index, reason })),
    ),
    isDivisible: true,
    body: () => bodies(parts),
    only(begin, end) {
      const taken: Rows[] = []
      for (let position = positionOf(begin); position < parts.length && startOf(position) < end; position++) {
        const part = parts[position]!
        const from = Math.max(begin - startOf(position), 0)
        const to = Math.min(end - startOf(position), part.count)
        if (from < to) taken.push(part.only(from, to))
      }
      return taken.length === 0 ? only.only(0, 0) : joinRows(taken)
    },
    without(refused) {
      const ofParts = parts.map(() => new Set<number>())
      for (const index of refused) {
        const position = positionOf(index)
        ofParts[position]?.add(index - startOf(position))
      }
      return joinRows(parts.map((part, position) => part.without(ofParts[position]!)))
    },
    keep(index) {
      const position = positionOf(index)
      return parts[position]!.keep(index - startOf(position))
    },
    release() {
      for (const part of parts) part.release?.()
    },
  }
}

/** Undefined when they cannot be sent as one. */
export function joinIfAlike(parts: readonly Rows[]): Rows | undefined {
  const [first] = parts
  if (!first) return undefined
  if (parts.length === 1) return first
  const areAlike = parts.every(({ isDivisible, shape }) => isDivisible && isDeepStrictEqual(shape, first.shape))
  return areAlike ? joinRows(parts) : undefined
}

function* bodies(parts: readonly Rows[]): Generator<Uint8Array, void> {
  for (const part of parts) {
    const body = part.body()
    if (!(Symbol.iterator in body)) throw new Error('rows that are one piece cannot be joined')
    yield* body
  }
}
