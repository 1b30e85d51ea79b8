// Recognizes dates and timestamps in text: only valid ones that the types of the engine can store.

export type CalendarText = { kind: 'date' } | { kind: 'timestamp'; digits: number; hasZone: boolean }

const pattern = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?)?$/

/** Parses `YYYY-MM-DD`, optionally with time, fraction and zone; undefined for all other text. */
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

/** Date32 and DateTime64 range from 1900 to 2299. */
function isDay(year: number, month: number, day: number): boolean {
  if (year < 1900 || year > 2299 || month < 1 || month > 12 || day < 1) return false
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}
