// Formats counts, bytes and durations.

/** `1 row`, `12,000 rows`. */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : `${noun}s`}`
}

/** In full, or `45.1M` if it is long. */
export function shortCount(count: number): string {
  return count < 10_000_000
    ? count.toLocaleString('en')
    : count.toLocaleString('en', { notation: 'compact', maximumSignificantDigits: 3 })
}

const byteUnits = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB']

/** `31.3 MB`. */
export function bytesOf(bytes: number): string {
  let amount = bytes
  let unit = 0
  while (amount >= 999.5 && unit < byteUnits.length - 1) {
    amount /= 1000
    unit++
  }
  return unit === 0 ? countOf(bytes, 'byte') : `${threeDigits(amount)} ${byteUnits[unit]}`
}

const durationUnits: [string, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** Estimated duration: `about 4 minutes`. */
export function durationOf(seconds: number): string {
  // `about 90 minutes` is more precise than `about 2 hours`.
  const [unit, size] = durationUnits.find(([, size]) => seconds >= size * 2) ?? ['minute', 60]
  return seconds < 60 ? 'under a minute' : `about ${countOf(Math.round(seconds / size), unit)}`
}

/** Measured value with three significant digits. */
export function threeDigits(amount: number): string {
  return amount < 1000
    ? amount.toLocaleString('en', { maximumSignificantDigits: 3 })
    : Math.round(amount).toLocaleString('en')
}
