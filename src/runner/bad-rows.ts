// Finds the rows that the engine does not take in a batch that it has refused, and keeps them beside the table. Nothing is stored
// while they are looked for: they are tried out on a table that keeps nothing.
import type { BadRow, Sink } from '../engine/engine.ts'
import type { RefusedRow } from './delivery.ts'
import type { Rows } from './rows.ts'

/** The engine's words for what is wrong with these rows; undefined when it would take them. */
export type TryOut = (rows: Rows) => Promise<string | undefined>

const triesAtOnce = 4
const longestReason = 500
/** So that a batch whose rows are all refused stays small in the database. */
const manyRefused = 1_000
const longestReasonOfMany = 80

/**
 * Those of `rows` that are refused, beside the `known` ones; empty when the engine takes the others together. A row that is
 * alone with its fault takes about two tries for each halving of the batch.
 */
export async function findRefused(rows: Rows, known: RefusedRow[], tryOut: TryOut): Promise<RefusedRow[]> {
  const knownIndexes = known.map(({ index }) => index).toSorted((one, other) => one - other)
  const tryRange = ({ begin, end }: Range): Promise<string | undefined> => {
    const within = knownIndexes.slice(firstFrom(knownIndexes, begin), firstFrom(knownIndexes, end))
    if (within.length === end - begin) return Promise.resolve(undefined)
    const part = begin === 0 && end === rows.count ? rows : rows.only(begin, end)
    return tryOut(within.length === 0 ? part : part.without(new Set(within.map((index) => index - begin))))
  }
  const whole = { begin: 0, end: rows.count }
  const reason = await tryRange(whole)
  if (reason === undefined) return []
  if (!rows.isDivisible || rows.count === 1) return [{ index: 0, reason: reason.slice(0, longestReason) }]
  const refused = await divide(whole, tryRange)
  const longest = refused.length > manyRefused ? longestReasonOfMany : longestReason
  return refused.map((row) => ({ index: row.index, reason: row.reason.slice(0, longest) }))
}

interface Range {
  begin: number
  end: number
}

/** Halves all that is refused until single rows are left. */
async function divide(whole: Range, tryRange: (range: Range) => Promise<string | undefined>): Promise<RefusedRow[]> {
  const found: RefusedRow[] = []
  let refused: Range[] = [whole]
  while (refused.length > 0) {
    const halves = await mapSome(refused, async ({ begin, end }) => {
      const middle = (begin + end) >> 1
      const [left, right] = [
        { begin, end: middle },
        { begin: middle, end },
      ]
      const ofLeft = await tryRange(left)
      const isRightAlone = end - middle === 1
      // What is wrong with both together is in the right one when the left one is taken: only the words for it are missing.
      const isSurelyRight = ofLeft === undefined && !isRightAlone
      const ofRight = isSurelyRight ? '' : await tryRange(right)
      return [
        { range: left, reason: ofLeft },
        { range: right, reason: ofRight },
      ]
    })
    refused = []
    for (const { range, reason } of halves.flat()) {
      if (reason === undefined) continue
      if (range.end - range.begin === 1) found.push({ index: range.begin, reason })
      else refused.push(range)
    }
  }
  return found.toSorted((one, other) => one.index - other.index)
}

/** The place of the first number that is not below `least`. */
function firstFrom(sorted: number[], least: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

/** Some at a time, in order. */
async function mapSome<Item, Result>(items: Item[], map: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++
      results[index] = await map(items[index]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(triesAtOnce, items.length) }, work))
  return results
}

const mostKeptAtOnce = 1_000
const mostKeptBytes = 4 * 1_024 * 1_024

/** Keeps them in the engine. The same ones of the same delivery again change nothing. */
export async function keepRefused(
  sink: Sink,
  rows: Rows,
  { token, refused }: { token: string; refused: readonly RefusedRow[] },
  signal: AbortSignal,
): Promise<void> {
  const at = new Date().toISOString()
  let kept: BadRow[] = []
  let keptBytes = 0
  for (const { index, reason } of refused) {
    const row = rows.keep(index)
    // What cannot be divided is not kept as a whole: it is where it was.
    const raw = rows.isDivisible ? row.raw : new Uint8Array()
    kept.push({ ...row, raw, id: `${token}-${index}`, reason, at })
    keptBytes += raw.length
    if (kept.length < mostKeptAtOnce && keptBytes < mostKeptBytes) continue
    await sink.keepBadRows(kept, signal)
    kept = []
    keptBytes = 0
  }
  if (kept.length > 0) await sink.keepBadRows(kept, signal)
}
