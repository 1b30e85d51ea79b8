// Records that the source lost before the pipe read them. Reported until the pipe is started again.
import { countOf } from '../lib/count-text.ts'
import type { LostRecords } from '../sources/source.ts'
import { storableText } from './texts.ts'

const mostLosses = 20
const mostKeys = 200

interface KeptLoss extends Pick<LostRecords, 'reason' | 'records'> {
  /** Lost records by key. */
  keys?: Record<string, number>
}

/** Merges losses with the same reason: a topic or stream has one for all its partitions. */
export function addLosses(kept: string | null, losses: LostRecords[]): string {
  const all = lossesOf(kept)
  for (const { reason, records, key } of losses) {
    const same = all.find((loss) => loss.reason === storableText(reason))
    const before = key === undefined ? undefined : same?.keys?.[key]
    const loss: KeptLoss = same ?? { reason: storableText(reason), ...(records && { records }) }
    if (!same) all.push(loss)
    else if (before === undefined) loss.records = joinCounts(loss.records, records)
    else if (numberOf(records) > before) loss.records = joinCounts(loss.records, without(records, before))
    if (key === undefined) continue
    const keys = Object.entries({ ...loss.keys, [key]: Math.max(before ?? 0, numberOf(records)) })
    loss.keys = Object.fromEntries(keys.slice(-mostKeys))
  }
  return JSON.stringify(all.slice(-mostLosses))
}

function lossesOf(kept: string | null): KeptLoss[] {
  return kept === null ? [] : (JSON.parse(kept) as KeptLoss[])
}

function numberOf(records: LostRecords['records']): number {
  if (!records) return 0
  return 'atMost' in records ? records.atMost : records.atLeast
}

function without(records: LostRecords['records'], before: number): LostRecords['records'] {
  if (!records) return undefined
  const left = numberOf(records) - before
  return 'atMost' in records ? { atMost: left } : { atLeast: left }
}

function joinCounts(one: LostRecords['records'], other: LostRecords['records']): LostRecords['records'] {
  if (one && other && 'atMost' in one && 'atMost' in other) return { atMost: one.atMost + other.atMost }
  const atLeast = [one, other].reduce((sum, count) => sum + (count && 'atLeast' in count ? count.atLeast : 0), 0)
  return atLeast > 0 ? { atLeast } : undefined
}

/** Null when nothing is missing. */
export function lossReason(kept: string | null): string | null {
  const losses = lossesOf(kept)
  if (losses.length === 0) return null
  return `${losses.map(lossText).join('; ')}; stop and start the pipe to clear this message`
}

export function lossText({ reason, records }: LostRecords): string {
  if (!records) return `${reason}; how many records are missing is unknown`
  const [bound, count] = 'atMost' in records ? ['up to', records.atMost] : ['at least', records.atLeast]
  return `${reason}; ${bound} ${countOf(count, 'record')} ${count === 1 ? 'is' : 'are'} missing`
}
