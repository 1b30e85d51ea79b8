// Finds the rows that the engine does not take in a batch that it has refused, and keeps them beside the table. Nothing is stored
// while they are looked for: they are tried out on a table that keeps nothing.
import type { BadRow, Sink } from '../engine/engine.ts'
import { firstPlace } from '../lib/binary-search.ts'
import type { RefusedRow } from './delivery.ts'
import type { Rows } from './rows.ts'

/** The engine's words for what is wrong with these rows; undefined when it would take them. */
export type TryOut = (rows: Rows) => Promise<string | undefined>

const triesAtOnce = 4
export const longestReason = 500
/** So that a batch whose rows are all refused stays small in the database. */
const manyRefused = 1_000
const longestReasonOfMany = 80

/**
 * Those of `rows` that are refused, beside the `known` ones, a few at a time as they are found; none when the engine takes the
 * others together. A row that is alone with its fault takes about two tries for each halving of the batch, and where all are
 * refused each takes two: whoever breaks off and keeps what was found goes on from there.
 */
export async function* findRefused(
  rows: Rows,
  known: readonly RefusedRow[],
  tryOut: TryOut,
): AsyncGenerator<RefusedRow[]> {
  const knownIndexes = known.map(({ index }) => index).toSorted((one, other) => one - other)
  const tryRange = async ({ begin, end }: Range): Promise<string | undefined> => {
    const within = knownIndexes.slice(firstFrom(knownIndexes, begin), firstFrom(knownIndexes, end))
    if (within.length === end - begin) return undefined
    const part = begin === 0 && end === rows.count ? rows : rows.only(begin, end)
    const reason = await tryOut(
      within.length === 0 ? part : part.without(new Set(within.map((index) => index - begin))),
    )
    return reason?.slice(0, longestReason)
  }
  const whole = { begin: 0, end: rows.count }
  const reason = await tryRange(whole)
  if (reason === undefined) return
  if (!rows.isDivisible || rows.count === 1) yield [{ index: 0, reason }]
  else yield* divide(whole, tryRange)
}

/** As they are recorded: less is said of each when there are many. */
export function recordOf(refused: RefusedRow[]): RefusedRow[] {
  if (refused.length <= manyRefused) return refused
  return refused.map(({ index, reason }) => ({ index, reason: reason.slice(0, longestReasonOfMany) }))
}

interface Range {
  begin: number
  end: number
}

type TryRange = (range: Range) => Promise<string | undefined>

/** Halves what is refused until single rows are left; some of it to its end before the rest, so that rows are found all along. */
async function* divide(whole: Range, tryRange: TryRange): AsyncGenerator<RefusedRow[]> {
  const open: Range[] = [whole]
  while (open.length > 0) {
    const halves = await Promise.all(open.splice(-triesAtOnce).map((range) => tryHalves(range, tryRange)))
    const found: RefusedRow[] = []
    for (const { range, reason } of halves.flat()) {
      if (reason === undefined) continue
      if (range.end - range.begin === 1) found.push({ index: range.begin, reason })
      else open.push(range)
    }
    if (found.length > 0) yield found
  }
}

async function tryHalves(
  { begin, end }: Range,
  tryRange: TryRange,
): Promise<{ range: Range; reason: string | undefined }[]> {
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
}

function firstFrom(sorted: number[], least: number): number {
  return firstPlace(sorted.length, (place) => sorted[place]! >= least)
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
