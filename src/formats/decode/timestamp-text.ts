// Formats timestamps and times, given in units since 1970 or midnight, as text with all digits, which a Date would lose.

/** Fractional digits: 3 for milliseconds, 6 for microseconds, 9 for nanoseconds. */
export type SecondDigits = 3 | 6 | 9

/** Text such as 2026-01-31T12:00:00.000Z. Returns a count outside of the range of dates unchanged. */
export function timestampText(
  count: number | bigint,
  digits: SecondDigits,
  isLocal: boolean,
): string | number | bigint {
  const [seconds, fraction] = split(count, digits)
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) return count
  return `${date.toISOString().slice(0, -'.000Z'.length)}.${fraction}${isLocal ? '' : 'Z'}`
}

/** Text such as 23:59:59.000. Returns a count that exceeds a day unchanged. */
export function timeText(count: number | bigint, digits: SecondDigits): string | number | bigint {
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

/** Decimal number from an unscaled integer. */
export function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  const sign = unscaled < 0n ? '-' : ''
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
