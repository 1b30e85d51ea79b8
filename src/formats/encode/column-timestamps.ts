// Moments as columns take them. Text without a zone would be read in the zone of the engine, and a number for a DateTime64 is
// not the same to all engines: a DateTime gets seconds, and a DateTime64 text with its zone.
import type { EngineType } from './engine-type.ts'

const dayMs = 86_400_000

/** `2026-01-31 12:00:00.000`, of UTC. */
export function momentText(moment: Date): string {
  return moment.toISOString().replace('T', ' ').replace('Z', '')
}

export const dayText = (moment: Date): string => moment.toISOString().slice(0, 'YYYY-MM-DD'.length)

export const daysOf = (moment: Date): number => Math.floor(moment.getTime() / dayMs)

export const secondsOf = (moment: Date): number => Math.floor(moment.getTime() / 1000)

/** A number of at most 32 bits cannot count milliseconds. */
export function countOf(moment: Date, { name }: EngineType): number {
  return /^U?Int(?:8|16|32)$/.test(name) ? secondsOf(moment) : moment.getTime()
}
