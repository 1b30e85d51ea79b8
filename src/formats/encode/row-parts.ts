// Which rows are left when some are taken or taken away, and how those that cannot be decoded are numbered among them.
import { firstPlace } from '../../lib/binary-search.ts'
import type { RefusedRow } from '../../runner/delivery.ts'

export interface RowPart {
  /** Of the rows that are left, in order. */
  indexes: number[]
  /** Those that cannot be decoded, by their new numbers. */
  left: RefusedRow[]
}

/** Those that cannot be decoded are in order. */
export function partOf(undecodable: readonly RefusedRow[], begin: number, end: number): RowPart {
  return {
    indexes: Array.from({ length: Math.max(end - begin, 0) }, (_, offset) => begin + offset),
    left: undecodable
      .slice(firstFrom(undecodable, begin), firstFrom(undecodable, end))
      .map(({ index, reason }) => ({ index: index - begin, reason })),
  }
}

function firstFrom(undecodable: readonly RefusedRow[], least: number): number {
  return firstPlace(undecodable.length, (place) => undecodable[place]!.index >= least)
}

export function partWithout(count: number, undecodable: readonly RefusedRow[], refused: ReadonlySet<number>): RowPart {
  const reasons = new Map(undecodable.map(({ index, reason }) => [index, reason]))
  const indexes: number[] = []
  const left: RefusedRow[] = []
  for (let index = 0; index < count; index++) {
    if (refused.has(index)) continue
    const reason = reasons.get(index)
    if (reason !== undefined) left.push({ index: indexes.length, reason })
    indexes.push(index)
  }
  return { indexes, left }
}
