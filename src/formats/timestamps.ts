// Dates and timestamps as text, as counts, and in the ranges of the engine.

/** Range of Date32 and DateTime64. */
export const firstYear = 1900
export const lastYear = 2299

/** Fractional digits: 3 for milliseconds, 6 for microseconds, 9 for nanoseconds. */
export type SecondDigits = 3 | 6 | 9

/**
 * Text such as 2026-01-31T12:00:00.000Z with all digits, which a Date would lose. `count`: units since 1970. Returns a count outside of
 * the range of dates unchanged.
 */
export function textOfCount(count: number | bigint, digits: SecondDigits, isLocal: boolean): string | number | bigint {
  const [seconds, fraction] = split(count, digits)
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) return count
  return `${date.toISOString().slice(0, -'.000Z'.length)}.${fraction}${isLocal ? '' : 'Z'}`
}

/** Text such as 23:59:59.000. `count`: units since midnight. Returns a count that exceeds a day unchanged. */
export function timeOfCount(count: number | bigint, digits: SecondDigits): string | number | bigint {
  const [seconds, fraction] = split(count, digits)
  if (seconds < 0 || seconds >= 86_400) return count
  const part = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  return `${part(seconds / 3600)}:${part((seconds / 60) % 60)}:${part(seconds % 60)}.${fraction}`
}

/** Bigints would take several times as long, and most counts are numbers. */
function split(count: number | bigint, digits: SecondDigits): [seconds: number, fraction: string] {
  if (typeof count === 'number' && Number.isSafeInteger(count)) {
    const unit = 10 ** digits
    const fraction = ((count % unit) + unit) % unit
    return [(count - fraction) / unit, String(fraction).padStart(digits, '0')]
  }
  const unit = 10n ** BigInt(digits)
  const fraction = ((BigInt(count) % unit) + unit) % unit
  return [Number((BigInt(count) - fraction) / unit), String(fraction).padStart(digits, '0')]
}

export type CalendarText = { kind: 'date' } | { kind: 'timestamp'; digits: number; hasZone: boolean }

const pattern = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?)?$/

/** Parses `YYYY-MM-DD`, optionally with time, fraction and zone; undefined for text that the types of the engine cannot store. */
export function calendarText(text: string): CalendarText | undefined {
  // Fast rejection of most text.
  if (text.length < 10 || text.length > 35 || text[4] !== '-') return undefined
  const match = pattern.exec(text)
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  if (!isDay(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined
  if (match[4] === undefined) return { kind: 'date' }
  const digits = match[7]?.length ?? 0
  // Nanoseconds in 64 bits end in the year 2262.
  if (digits > 6 && year >= 2262) return undefined
  return { kind: 'timestamp', digits, hasZone: match[8] !== undefined }
}

function isDay(year: number, month: number, day: number): boolean {
  if (year < firstYear || year > lastYear || month < 1 || month > 12 || day < 1) return false
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

export const dayMs = 86_400_000

/**
 * `2026-01-31 12:00:00.000`, in UTC. ClickHouse reads text without a zone in its own zone, and versions read a number for a DateTime64
 * differently: a DateTime gets seconds, a DateTime64 text with its zone.
 */
export function timestampText(date: Date): string {
  return date.toISOString().replace('T', ' ').replace('Z', '')
}

export const dayText = (date: Date): string => date.toISOString().slice(0, 'YYYY-MM-DD'.length)

export const daysOf = (date: Date): number => Math.floor(date.getTime() / dayMs)

export const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1000)

/** Seconds for types of up to 32 bits, which cannot hold milliseconds; milliseconds otherwise. */
export function countOf(date: Date, { name }: { name: string }): number {
  return /^U?Int(?:8|16|32)$/.test(name) ? secondsOf(date) : date.getTime()
}
