// Finds rejected rows with a few statements, regardless of their number: the engine reads numbered rows and skips those that it
// cannot read. Its result is verified with samples.
import type { Insert, RejectedNumber, Sink } from '../engine/engine.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import { bytesOf, numberRows } from '../formats/encode/number-rows.ts'
import { problemFinder } from '../formats/encode/row-problem.ts'
import type { Rows } from '../formats/encode/rows.ts'
import { makeYieldToLoop } from '../formats/encode/yield-to-loop.ts'
import { longestReason, type TryOut } from './bad-rows.ts'

/** Number of skipped rows per part that are tried alone, for each kind of reason. */
const mostConfirmed = 3

interface Search {
  sink: Pick<Sink, 'openReadCheck'>
  tryOut: TryOut
  token: string
  settings: Insert['settings']
  signal: AbortSignal
}

/**
 * Yields rejected rows beside the `known` ones, part by part. Returns false when the engine cannot do this, or skips rows that it
 * accepts: then the rows have to be searched for.
 */
export async function* findSkipped(
  rows: Rows,
  known: readonly RejectedRow[],
  { sink, tryOut, token, settings, signal }: Search,
): AsyncGenerator<RejectedRow[], boolean> {
  const numbered = numberRows(rows, new Set(known.map(({ index }) => index)), signal)
  if (!numbered) return false
  const { shape, parts, numberField } = numbered
  const check = await sink.openReadCheck({ ...shape, token, isRepeat: false, settings }, numberField, signal)
  if (!check) return false
  try {
    for await (const { body, first, indexes, unclosed } of parts) {
      const rejected = await check.listRejected(body, { first, count: indexes.length })
      if (!rejected) return false
      const skipped: Skipped = new Map(unclosed.map((index) => [index, undefined]))
      for (const { number, constraint } of rejected) skipped.set(indexes[number - first]!, constraint)
      if (skipped.size === 0) continue
      const explained = await explain(rows, skipped, { tryOut, signal })
      if (!explained) return false
      yield explained
    }
    return true
  } finally {
    check.close()
  }
}

/** Skipped rows, with the constraint that each violates, if any. */
type Skipped = Map<number, RejectedNumber['constraint']>

async function explain(
  rows: Rows,
  skipped: Skipped,
  { tryOut, signal }: Pick<Search, 'tryOut' | 'signal'>,
): Promise<RejectedRow[] | undefined> {
  const findProblem = problemFinder(rows.shape)
  const yieldToLoop = makeYieldToLoop(signal)
  const reasons = new Map<number, string>()
  const violating: number[] = []
  const unexplained: number[] = []
  for (const [index, constraint] of skipped) {
    const problem = constraint ? undefined : findProblem(bytesOf(rows, index))
    if (problem !== undefined) reasons.set(index, problem)
    else if (!constraint) unexplained.push(index)
    else {
      violating.push(index)
      reasons.set(index, `it violates the constraint ${constraint.name}: ${constraint.expression}`)
    }
    await yieldToLoop()
  }
  for (const index of [...someOf(unexplained), ...someOf(violating)]) {
    const reason = await tryOut(rows.only(index, index + 1))
    // The engine accepts the row: it was skipped for another reason, such as a restart of the engine.
    if (reason === undefined) return undefined
    if (!reasons.has(index)) reasons.set(index, reason)
  }
  const types = rows.shape.fields.map(({ name, type }) => `${name} ${type}`).join(', ')
  const rejected = Array.from(skipped.keys(), (index) => {
    const reason = reasons.get(index) ?? `the engine cannot read it as ${types}`
    return { index, reason: reason.slice(0, longestReason) }
  })
  return rejected.sort((one, other) => one.index - other.index)
}

/** Samples from the beginning, the middle and the end. */
function someOf(indexes: number[]): number[] {
  if (indexes.length <= mostConfirmed) return indexes
  return [indexes[0]!, indexes[indexes.length >> 1]!, indexes.at(-1)!]
}
