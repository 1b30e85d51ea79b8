// How far a timestamp is from now, in words: "in 7 days", "3 minutes ago".

const yearMs = 31_536_000_000
/** Each with how many of it make the next one. */
const units: [unit: Intl.RelativeTimeFormatUnit, ms: number, most: number][] = [
  ['minute', 60_000, 60],
  ['hour', 3_600_000, 24],
  ['day', 86_400_000, 31],
  ['month', yearMs / 12, 12],
  ['year', yearMs, Number.POSITIVE_INFINITY],
]
// Not "yesterday" or "tomorrow": those are days of the calendar, whatever the distance.
const words = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

/** Whole units that have passed, or that are left: never more. */
export function relativeTime(at: number, now: number): string {
  const distance = at - now
  if (Math.abs(distance) < 60_000) return distance > 0 ? 'in a moment' : 'just now'
  // Ahead, a small part of a unit is not missed: what was set to 7 days half an hour ago ends in 7 days, not in 6.
  const countOf = (ms: number): number => Math.floor((Math.abs(distance) + (distance > 0 ? ms / 24 : 0)) / ms)
  const [unit, ms] = units.find(([, size, most]) => countOf(size) < most)!
  return words.format(Math.sign(distance) * countOf(ms), unit)
}
