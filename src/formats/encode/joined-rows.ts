// Joins the rows of several partitions or objects: their bodies follow each other, their rows are numbered consecutively.
import { isDeepStrictEqual } from 'node:util'
import { firstIndexWhere } from '../../lib/binary-search.ts'
import type { Rows } from './rows.ts'

/** All parts must be divisible and have the same shape. */
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
  /** Index of the part that has the row. An empty part begins where the next one does. */
  const positionOf = (index: number): number =>
    firstIndexWhere(starts.length, (position) => starts[position]! > index) - 1
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
    without(rejected) {
      const ofParts = parts.map(() => new Set<number>())
      for (const index of rejected) {
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

/** Undefined when the parts cannot be sent in one insert. */
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
