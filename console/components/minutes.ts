// Rows of a pipe by minute, including empty minutes, and its current rate.
import type { PipeThroughput } from '../../src/client/shapes.ts'
import { countOf } from './amounts.ts'

const shownMinutes = 60
const minuteMs = 60_000

export interface Minute {
  atMs: number
  written: number
  rejected: number
}

/** The minutes of the last hour, oldest first, including the current one. */
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
 * Rows per second over the last 60 seconds, with the previous minute counted proportionally. Batches arrive in bursts, so a
 * shorter window would show the bursts instead of the rate.
 */
export function rowsPerSecond(minutes: Minute[], nowMs: number): number {
  const [before, present] = minutes.slice(-2)
  if (!before || !present) return 0
  const elapsed = Math.min(1, Math.max(0, (nowMs - present.atMs) / minuteMs))
  return (present.written + before.written * (1 - elapsed)) / 60
}

/** The next higher round number: 1, 2 or 5 and zeros. */
export function roundScale(most: number): number {
  if (most <= 2) return 2
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most)!
}

/** Summary of the hour in one sentence. */
export function summaryOf(minutes: Minute[]): string {
  const [written, rejected] = [sumOf(minutes, 'written'), sumOf(minutes, 'rejected')]
  if (written + rejected === 0) return 'Nothing was moved in the last hour.'
  const most = Math.max(...minutes.map((minute) => minute.written))
  const summary = `${countOf(written, 'row')} written${written === 0 ? '' : `, peak ${most.toLocaleString('en')}/min`}`
  return rejected === 0 ? `${summary}.` : `${summary}; ${rejected.toLocaleString('en')} rejected.`
}

export function sumOf(minutes: Minute[], name: 'written' | 'rejected'): number {
  return minutes.reduce((sum, minute) => sum + minute[name], 0)
}
