// Messages of google.protobuf that stand for plain values, as those values.

import type { Row } from '../../sources/source.ts'
import { decimalText, momentText } from './timestamp-text.ts'

const nanosOf = ({ seconds, nanos }: Row): bigint => whole(seconds) * 1_000_000_000n + whole(nanos)

/** A schema may bring a Timestamp of its own making. */
function whole(value: unknown): bigint {
  return typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value as number | bigint) : 0n
}

const wrapped = ({ value }: Row): unknown => value

const plainValues: Record<string, (message: Row) => unknown> = {
  Timestamp: (message) => momentText(nanosOf(message), 9, false),
  Duration: (message) =>
    `${decimalText(nanosOf(message), 9)
      .replace(/0{1,9}$/, '')
      .replace(/\.$/, '')}s`,
  FieldMask: ({ paths }) => (Array.isArray(paths) ? paths.join(',') : null),
  Struct: ({ fields }) => fields,
  ListValue: ({ values }) => values,
  Value: ({ null_value: _, ...kinds }) => Object.values(kinds).find((value) => value !== null) ?? null,
  DoubleValue: wrapped,
  FloatValue: wrapped,
  Int64Value: wrapped,
  UInt64Value: wrapped,
  Int32Value: wrapped,
  UInt32Value: wrapped,
  BoolValue: wrapped,
  StringValue: wrapped,
  BytesValue: wrapped,
}

const scope = 'google.protobuf.'

export function plainValueOf(name: string, message: Row): unknown {
  const own = name.startsWith(scope) ? name.slice(scope.length) : ''
  return Object.hasOwn(plainValues, own) ? plainValues[own]!(message) : message
}
