// Clamps dates and timestamps to the range of the ClickHouse types. PostgreSQL prints years with four digits, except those far outside
// of that range.
import { Buffer } from 'node:buffer'
import { firstYear, lastYear } from '../../formats/timestamps.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { ScalarValues, WriteValue } from './scalar-values.ts'

type TimestampValues = Pick<ScalarValues, 'expression' | 'defaultText' | 'write'>

interface Limits {
  earliest: Buffer
  latest: Buffer
}

const [firstDay, lastDay] = [`${firstYear}-01-01`, `${lastYear}-12-31`]
const [earliestTimestamp, latestTimestamp] = [`${firstDay} 00:00:00`, `${lastDay} 23:59:59.999999`]
const dates: Limits = { earliest: Buffer.from(firstDay), latest: Buffer.from(lastDay) }
const timestamps: Limits = { earliest: Buffer.from(earliestTimestamp), latest: Buffer.from(latestTimestamp) }

/** For an engine with date and timestamp types. Undefined for other types. */
export function findTimestampValues(name: string): TimestampValues | undefined {
  switch (name) {
    case 'date':
      return {
        expression: (column) => between(column, `'${firstDay}'::date`, `'${lastDay}'::date`),
        defaultText: "'1970-01-01'",
        write: (bytes, start, end, out) => writeWithin(dates, bytes, start, end, out),
      }
    case 'timestamp':
      return {
        expression: timestampExpression,
        defaultText: defaultTimestamp,
        write: (bytes, start, end, out) => writeWithin(timestamps, bytes, start, end, out),
      }
    case 'timestamptz':
      return {
        expression: (column) => timestampExpression(`(${column} AT TIME ZONE 'UTC')`),
        defaultText: defaultTimestamp,
        write: writeInstant,
      }
    default:
      return undefined
  }
}

const defaultTimestamp = "'1970-01-01 00:00:00'"

const timestampExpression = (column: string): string =>
  between(column, `'${earliestTimestamp}'::timestamp`, `'${latestTimestamp}'::timestamp`)

/** Not GREATEST and LEAST, which replace NULL by a limit. */
function between(column: string, least: string, most: string): string {
  return `CASE WHEN ${column} < ${least} THEN ${least} WHEN ${column} > ${most} THEN ${most} ELSE ${column} END`
}

function writeWithin(limits: Limits, ...[bytes, start, end, out]: Parameters<WriteValue>): void {
  const side = sideOf(bytes, start, end)
  if (side === 0) out.escaped(bytes, start, end)
  else out.bytes(side < 0 ? limits.earliest : limits.latest)
}

/** Sessions use UTC. */
const offset = Buffer.from('+00')

const writeInstant: WriteValue = (bytes, start, end, out) => {
  if (sideOf(bytes, start, end) !== 0) return writeWithin(timestamps, bytes, start, end, out)
  const offsetStart = end - offset.length
  if (
    bytes[offsetStart] !== offset[0] ||
    bytes[offsetStart + 1] !== offset[1] ||
    bytes[offsetStart + 2] !== offset[2]
  ) {
    throw new Undecodable('a time is not printed in UTC')
  }
  out.escaped(bytes, start, offsetStart)
}

const [minus, digit0, letterC, letterI] = [0x2d, 0x30, 0x43, 0x69]
const yearDigits = 4

/** Below 0: before the range of the engine; above 0: after it. */
function sideOf(bytes: Buffer, start: number, end: number): number {
  // `-infinity`, and `… BC`.
  if (bytes[start] === minus || bytes[end - 1] === letterC) return -1
  // `infinity`, and years of five digits and more.
  if (bytes[start] === letterI || bytes[start + yearDigits] !== minus) return 1
  let year = 0
  for (let at = start; at < start + yearDigits; at++) year = year * 10 + bytes[at]! - digit0
  if (year < firstYear) return -1
  return year > lastYear ? 1 : 0
}
