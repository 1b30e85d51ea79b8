// Selects rows by range or by exclusion, and renumbers those that cannot be decoded.

import type { RejectedRow } from '../../engine/rejected-row.ts'
import { firstIndexWhere } from '../../lib/binary-search.ts'

export interface RowPart {
  /** Indexes of the selected rows, ascending. */
  indexes: number[]
  /** Rows that cannot be decoded, with their new indexes. */
  left: RejectedRow[]
}

/** `undecodable` must be in ascending order. */
export function partOf(undecodable: readonly RejectedRow[], begin: number, end: number): RowPart {
  return {
    indexes: Array.from({ length: Math.max(end - begin, 0) }, (_, offset) => begin + offset),
    left: undecodable
      .slice(firstFrom(undecodable, begin), firstFrom(undecodable, end))
      .map(({ index, reason }) => ({ index: index - begin, reason })),
  }
}

function firstFrom(undecodable: readonly RejectedRow[], least: number): number {
  return firstIndexWhere(undecodable.length, (position) => undecodable[position]!.index >= least)
}

export function partWithout(
  count: number,
  undecodable: readonly RejectedRow[],
  rejected: ReadonlySet<number>,
): RowPart {
  const reasons = new Map(undecodable.map(({ index, reason }) => [index, reason]))
  const indexes: number[] = []
  const left: RejectedRow[] = []
  for (let index = 0; index < count; index++) {
    if (rejected.has(index)) continue
    const reason = reasons.get(index)
    if (reason !== undefined) left.push({ index: indexes.length, reason })
    indexes.push(index)
  }
  return { indexes, left }
}
