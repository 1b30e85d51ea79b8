// Formats a timestamp relative to now: "in 7 days", "3 minutes ago".

const yearMs = 31_536_000_000
/** Units with their number in the next unit. */
const units: [unit: Intl.RelativeTimeFormatUnit, ms: number, most: number][] = [
  ['minute', 60_000, 60],
  ['hour', 3_600_000, 24],
  ['day', 86_400_000, 31],
  ['month', yearMs / 12, 12],
  ['year', yearMs, Number.POSITIVE_INFINITY],
]
// Not "yesterday" or "tomorrow", which are calendar days.
const words = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

/** Rounds down to whole units. */
export function relativeTime(at: number, now: number): string {
  const distance = at - now
  if (Math.abs(distance) < 60_000) return distance > 0 ? 'in under a minute' : 'just now'
  // Future times get a tolerance: a 7-day expiry set half an hour ago shows "in 7 days", not 6.
  const countOf = (ms: number): number => Math.floor((Math.abs(distance) + (distance > 0 ? ms / 24 : 0)) / ms)
  const [unit, ms] = units.find(([, size, most]) => countOf(size) < most)!
  return words.format(Math.sign(distance) * countOf(ms), unit)
}
