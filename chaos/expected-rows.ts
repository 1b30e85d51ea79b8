// Rows written to the source, and so expected in the table: each row as often as written, and each bad row once among the
// rejected rows. Single rows and whole batches are repeated on purpose.
import type { Random } from './random.ts'

export interface ExpectedRows {
  /** Creates rows for the source as JSON texts, and expects them. */
  next(count: number): string[]
  readonly goodRows: number
  readonly badRows: number
  /** Copies by id. */
  copies(): ReadonlyMap<number, number>
  /** Copies by text. */
  badCopies(): ReadonlyMap<string, number>
}

export const columns = [
  { name: 'id', type: 'UInt64' },
  { name: 'note', type: 'String' },
  { name: 'amount', type: 'Float64' },
  { name: 'at', type: 'DateTime' },
]

/** Rows with the same id have the same text. */
function rowOf(id: number): string {
  const at = new Date(1_790_000_000_000 + id * 1000).toISOString()
  return JSON.stringify({ id, note: `note "${id}"\tü ${'x'.repeat(id % 40)}`, amount: id / 4, at })
}

const badId = '{"id":"no number '

/** Accepts one row, or the text of several rows. */
export function isBadRow(text: string): boolean {
  return text.includes(badId)
}

const shareOfRepeatedBatches = 0.15
const shareOfRepeatedRows = 0.05

/** The first of every `batchesWithBadRows` batches has bad rows. */
export function makeExpectedRows(random: Random, batchesWithBadRows: number): ExpectedRows {
  const copies = new Map<number, number>()
  const badCopies = new Map<string, number>()
  let nextId = 1
  let goodRows = 0
  let badRows = 0
  let batches = 0
  let lastBatch: number[] = []

  const freshIds = (count: number): number[] =>
    Array.from({ length: count }, () => (random.happens(shareOfRepeatedRows) && nextId > 1 ? nextId - 1 : nextId++))

  const makeBadRows = (): string[] =>
    Array.from({ length: random.between(1, 2) }, () => {
      // Few distinct rows, so that some occur twice.
      const text = JSON.stringify({ id: `no number ${random.below(50)}`, note: 'bad' })
      badCopies.set(text, (badCopies.get(text) ?? 0) + 1)
      badRows++
      return text
    })

  return {
    next(count) {
      const isRepeat = lastBatch.length > 0 && random.happens(shareOfRepeatedBatches)
      const ids = isRepeat ? lastBatch : freshIds(count)
      lastBatch = ids
      for (const id of ids) copies.set(id, (copies.get(id) ?? 0) + 1)
      goodRows += ids.length
      const rows = ids.map(rowOf)
      if (batches++ % batchesWithBadRows === 0) {
        rows.splice(random.below(rows.length + 1), 0, ...makeBadRows())
      }
      return rows
    },
    get goodRows() {
      return goodRows
    },
    get badRows() {
      return badRows
    },
    copies: () => copies,
    badCopies: () => badCopies,
  }
}

export interface Difference {
  lost: number
  extra: number
  /** The first few differences. */
  examples: string[]
}

export function compare<Key>(expected: ReadonlyMap<Key, number>, found: ReadonlyMap<Key, number>): Difference {
  const difference: Difference = { lost: 0, extra: 0, examples: [] }
  for (const key of new Set([...expected.keys(), ...found.keys()])) {
    const [wanted, there] = [expected.get(key) ?? 0, found.get(key) ?? 0]
    if (wanted === there) continue
    difference.lost += Math.max(0, wanted - there)
    difference.extra += Math.max(0, there - wanted)
    if (difference.examples.length < 20) difference.examples.push(`${key}: ${there} instead of ${wanted}`)
  }
  return difference
}
