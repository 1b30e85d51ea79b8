// What a pipe moved by the minute: with the minutes in which nothing happened, and how fast it is now.
import type { PipeThroughput } from '../../src/client/shapes.ts'
import { countOf } from './amounts.ts'

const shownMinutes = 60
const minuteMs = 60_000

export interface Minute {
  atMs: number
  written: number
  rejected: number
}

/** The last hour, the oldest first, up to the minute that is not over yet. */
export function lastHour(throughput: PipeThroughput[], nowMs: number): Minute[] {
  const known = new Map(throughput.map((one) => [Date.parse(one.minute), one]))
  const present = Math.floor(nowMs / minuteMs) * minuteMs
  return Array.from({ length: shownMinutes }, (_, index) => {
    const atMs = present - (shownMinutes - 1 - index) * minuteMs
    const one = known.get(atMs)
    return { atMs, written: one?.rowsWritten ?? 0, rejected: one?.rowsRefused ?? 0 }
  })
}

/**
 * Rows in a second, over the last 60: of the minute before, as much counts as is not longer ago. Batches come in bursts, so that
 * a shorter time would tell of them and not of the pipe.
 */
export function rowsPerSecond(minutes: Minute[], nowMs: number): number {
  const [before, present] = minutes.slice(-2)
  if (!before || !present) return 0
  const elapsed = Math.min(1, Math.max(0, (nowMs - present.atMs) / minuteMs))
  return (present.written + before.written * (1 - elapsed)) / 60
}

/** The next number above that is easy to read: 1, 2 or 5 and zeros. */
export function roundScale(most: number): number {
  if (most <= 2) return 2
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most)!
}

/** The hour in a sentence. */
export function summaryOf(minutes: Minute[]): string {
  const [written, rejected] = [sumOf(minutes, 'written'), sumOf(minutes, 'rejected')]
  if (written + rejected === 0) return 'Nothing was moved in the last hour.'
  const most = Math.max(...minutes.map((minute) => minute.written))
  const told = `${countOf(written, 'row')} written${written === 0 ? '' : `, peak ${most.toLocaleString('en')}/min`}`
  return rejected === 0 ? `${told}.` : `${told}; ${rejected.toLocaleString('en')} rejected.`
}

export function sumOf(minutes: Minute[], name: 'written' | 'rejected'): number {
  return minutes.reduce((sum, minute) => sum + minute[name], 0)
}
