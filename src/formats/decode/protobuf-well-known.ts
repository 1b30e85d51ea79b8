// Converts well-known messages of google.protobuf to plain values.

import type { Row } from '../../source-shapes/probe.ts'
import { textOfCount } from '../timestamps.ts'
import { decimalText } from './decimal-text.ts'

const nanosOf = ({ seconds, nanos }: Row): bigint => whole(seconds) * 1_000_000_000n + whole(nanos)

/** A schema may define its own Timestamp with other types. */
function whole(value: unknown): bigint {
  return typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value as number | bigint) : 0n
}

const wrapped = ({ value }: Row): unknown => value

const plainValues: Record<string, (message: Row) => unknown> = {
  Timestamp: (message) => textOfCount(nanosOf(message), 9, false),
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
