// Timestamps in the form that columns accept. ClickHouse reads text without a zone in its own zone, and versions read a number for a
// DateTime64 differently: a DateTime gets seconds, a DateTime64 text with its zone.
import type { EngineType } from './engine-type.ts'

const dayMs = 86_400_000

/** `2026-01-31 12:00:00.000`, in UTC. */
export function timestampText(date: Date): string {
  return date.toISOString().replace('T', ' ').replace('Z', '')
}

export const dayText = (date: Date): string => date.toISOString().slice(0, 'YYYY-MM-DD'.length)

export const daysOf = (date: Date): number => Math.floor(date.getTime() / dayMs)

export const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1000)

/** Seconds for types of up to 32 bits, which cannot hold milliseconds; milliseconds otherwise. */
export function countOf(date: Date, { name }: EngineType): number {
  return /^U?Int(?:8|16|32)$/.test(name) ? secondsOf(date) : date.getTime()
}
