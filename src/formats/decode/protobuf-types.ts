// Maps Protobuf fields to types of the engine. Nested messages become String: they are inserted as JSON text.

import type { SourceField } from '../../source-shapes/probe.ts'
import { nullable } from './declared-fields.ts'
import type { FieldPlan, MessagePlan, Scalar, ValuePlan } from './protobuf-schema.ts'

export function fieldsOfMessage({ fields }: MessagePlan): SourceField[] {
  return fields.map((field) => {
    const type = typeOfField(field)
    const isOptional = field.absent === undefined && !field.isRequired
    return { name: field.name, type: isOptional ? nullable(type) : type, isOptional }
  })
}

const scalarTypes: Record<Scalar, string> = {
  double: 'Float64',
  float: 'Float32',
  int32: 'Int32',
  sint32: 'Int32',
  sfixed32: 'Int32',
  uint32: 'UInt32',
  fixed32: 'UInt32',
  int64: 'Int64',
  sint64: 'Int64',
  sfixed64: 'Int64',
  uint64: 'UInt64',
  fixed64: 'UInt64',
  bool: 'Bool',
  string: 'String',
  bytes: 'String',
}

const wellKnownTypes = new Map([
  ['google.protobuf.Timestamp', "DateTime64(9, 'UTC')"],
  ['google.protobuf.DoubleValue', 'Float64'],
  ['google.protobuf.FloatValue', 'Float32'],
  ['google.protobuf.Int64Value', 'Int64'],
  ['google.protobuf.UInt64Value', 'UInt64'],
  ['google.protobuf.Int32Value', 'Int32'],
  ['google.protobuf.UInt32Value', 'UInt32'],
  ['google.protobuf.BoolValue', 'Bool'],
  ['google.protobuf.StringValue', 'String'],
  ['google.protobuf.BytesValue', 'String'],
])

function typeOfField({ value, map, isRepeated }: FieldPlan): string {
  const type = typeOfValue(value)
  if (map) return `Map(${scalarTypes[map.key]}, ${type})`
  return isRepeated ? `Array(${type})` : type
}

function typeOfValue(value: ValuePlan): string {
  if (value.kind === 'scalar') return scalarTypes[value.scalar]
  return (value.kind === 'message' && wellKnownTypes.get(value.name)) || 'String'
}
