// Finds the rejected rows of a batch by bisection and stores them in the table of bad rows. The search inserts into a table that
// keeps nothing, so no row is stored while it runs.
import type { BadRow, Sink } from '../engine/engine.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import type { Rows } from '../formats/encode/rows.ts'
import { firstIndexWhere } from '../lib/binary-search.ts'

/** The error of the engine for these rows; undefined when it would accept them. */
export type TryOut = (rows: Rows) => Promise<string | undefined>

const triesAtOnce = 4
export const longestReason = 500
/** Above this, reasons are shortened, so that the record of a batch that is rejected completely stays small in the database. */
const manyRejected = 1_000
const longestReasonOfMany = 80

/**
 * Yields the rejected rows beside the `known` ones as they are found; none when the engine accepts the others together.
 * A single bad row takes about two attempts per halving; when all rows are bad, each takes two. A caller that stops early and
 * passes what was found as `known` continues from there.
 */
export async function* findRejected(
  rows: Rows,
  known: readonly RejectedRow[],
  tryOut: TryOut,
): AsyncGenerator<RejectedRow[]> {
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

/** The form in which rejected rows are recorded: with shorter reasons when there are many. */
export function recordOf(rejected: RejectedRow[]): RejectedRow[] {
  if (rejected.length <= manyRejected) return rejected
  return rejected.map(({ index, reason }) => ({ index, reason: reason.slice(0, longestReasonOfMany) }))
}

interface Range {
  begin: number
  end: number
}

type TryRange = (range: Range) => Promise<string | undefined>

/** Bisects rejected ranges down to single rows, depth first, so that rows are found early and continuously. */
async function* divide(whole: Range, tryRange: TryRange): AsyncGenerator<RejectedRow[]> {
  const open: Range[] = [whole]
  while (open.length > 0) {
    const halves = await Promise.all(open.splice(-triesAtOnce).map((range) => tryHalves(range, tryRange)))
    const found: RejectedRow[] = []
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
  // When the left half is accepted, the error is in the right half; its reason is still unknown.
  const isSurelyRight = ofLeft === undefined && !isRightAlone
  const ofRight = isSurelyRight ? '' : await tryRange(right)
  return [
    { range: left, reason: ofLeft },
    { range: right, reason: ofRight },
  ]
}

function firstFrom(sorted: number[], least: number): number {
  return firstIndexWhere(sorted.length, (at) => sorted[at]! >= least)
}

const mostKeptAtOnce = 1_000
const mostKeptBytes = 4 * 1_024 * 1_024

/** Stores them in the engine. Storing the same rows of the same delivery again changes nothing. */
export async function keepRejected(
  sink: Sink,
  rows: Rows,
  { token, rejected }: { token: string; rejected: readonly RejectedRow[] },
  signal: AbortSignal,
): Promise<void> {
  const at = new Date().toISOString()
  let kept: BadRow[] = []
  let keptBytes = 0
  for (const { index, reason } of rejected) {
    const row = rows.keep(index)
    // An indivisible file is not copied: it is still at the source.
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
