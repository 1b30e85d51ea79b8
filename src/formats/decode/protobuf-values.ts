// Decodes Protobuf's binary encoding by the plan of a message. Bytes are untrusted: depth, lengths and the number of values are
// checked before memory is allocated.

import type { Row } from '../../source-shapes/probe.ts'
import { ByteReader, exactNumber, Misfit } from './byte-reader.ts'
import type { FieldPlan, MessagePlan, Scalar, ValuePlan } from './protobuf-schema.ts'
import { plainValueOf } from './protobuf-well-known.ts'
import { type SampleBudget, spendValues } from './sample-budget.ts'

const deepest = 64

/** Wire types. */
const wire = { varint: 0, bits64: 1, bytes: 2, groupStart: 3, groupEnd: 4, bits32: 5 } as const

interface Reading {
  budget: SampleBudget
  depth: number
}

export function readProtobufRow(plan: MessagePlan, bytes: Uint8Array, budget: SampleBudget): Row {
  return readMessage(plan, bytes, { budget, depth: 0 })
}

interface Found {
  /** Messages are kept as bytes, possibly in several parts. */
  values: Map<FieldPlan, unknown[]>
  /** The last field of each oneof. */
  chosen: Map<object, FieldPlan>
}

function readMessage(plan: MessagePlan, bytes: Uint8Array, { budget, depth }: Reading): Row {
  if (depth >= deepest) throw new Misfit(`it is nested deeper than ${deepest} levels`)
  spendValues(budget, 1 + plan.fields.length)
  const inner = { budget, depth: depth + 1 }
  const found = findFields(plan, new ByteReader(bytes), budget)
  // `fromEntries` creates a field for any name, including __proto__.
  return Object.fromEntries(
    plan.fields.map((field) => [field.name, atField(field, () => fieldValue(field, found.values.get(field), inner))]),
  )
}

function atField<Result>(field: FieldPlan, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof Misfit) error.path.unshift(field.name)
    throw error
  }
}

function findFields(plan: MessagePlan, reader: ByteReader, budget: SampleBudget): Found {
  const found: Found = { values: new Map(), chosen: new Map() }
  while (reader.left > 0) {
    const { number, layout } = readTag(reader)
    const field = plan.byNumber.get(number)
    if (!field) skip(reader, number, layout, 0)
    else atField(field, () => collect(field, found, reader, { number, layout }, budget))
  }
  return found
}

interface Tag {
  number: number
  layout: number
}

function readTag(reader: ByteReader): Tag {
  const tag = Number(reader.varint())
  const number = Math.floor(tag / 8)
  if (tag >= 2 ** 32 || number === 0) throw new Misfit('it has a field number that cannot be')
  return { number, layout: tag % 8 }
}

function collect(field: FieldPlan, found: Found, reader: ByteReader, tag: Tag, budget: SampleBudget): void {
  const { value, isRepeated, map } = field
  const values = valuesFor(field, found)
  const layout = map ? wire.bytes : layoutOf(value)
  if (isRepeated && tag.layout === wire.bytes && layout !== wire.bytes && value.kind !== 'message') {
    const packed = new ByteReader(reader.bytes(reader.varint()))
    while (packed.left > 0) {
      spendValues(budget, 1)
      values.push(readPlain(value, packed))
    }
    return
  }
  if (tag.layout !== layout) throw new Misfit('it has another type of value than the schema says')
  spendValues(budget, 1)
  if (layout === wire.groupStart) values.push(groupBytes(reader, tag.number))
  else if (map || value.kind === 'message') values.push(reader.bytes(reader.varint()))
  else values.push(readPlain(value, reader))
}

function valuesFor(field: FieldPlan, { values, chosen }: Found): unknown[] {
  if (field.choice) {
    const before = chosen.get(field.choice)
    if (before && before !== field) values.delete(before)
    chosen.set(field.choice, field)
  }
  const list = values.get(field) ?? []
  values.set(field, list)
  return list
}

function layoutOf(value: ValuePlan): number {
  if (value.kind === 'enum') return wire.varint
  if (value.kind === 'message') return value.isGroup ? wire.groupStart : wire.bytes
  const { scalar } = value
  if (scalar === 'string' || scalar === 'bytes') return wire.bytes
  if (scalar === 'double' || scalar.endsWith('fixed64')) return wire.bits64
  return scalar === 'float' || scalar.endsWith('fixed32') ? wire.bits32 : wire.varint
}

function fieldValue(field: FieldPlan, values: unknown[] | undefined, reading: Reading): unknown {
  const { value, map, isRepeated } = field
  if (map) return readMap(map.entry, (values ?? []) as Uint8Array[], reading)
  if (values === undefined) return absentValue(field, reading)
  if (value.kind !== 'message') return isRepeated ? values : values.at(-1)
  const pieces = values as Uint8Array[]
  if (isRepeated) return pieces.map((bytes) => readInner(value, bytes, reading))
  // A repeated occurrence of a message is merged, by concatenation of the bytes.
  return readInner(value, pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), reading)
}

function absentValue({ value, isRepeated, isRequired, isNeverAbsent, absent }: FieldPlan, reading: Reading): unknown {
  if (isRequired) throw new Misfit('it does not have a value, which is required')
  if (isNeverAbsent && value.kind === 'message') return readInner(value, new Uint8Array(), reading)
  return isRepeated ? [] : (absent ?? null)
}

function readMap(entry: MessagePlan, entries: Uint8Array[], reading: Reading): Row {
  return Object.fromEntries(
    entries.map((bytes) => {
      const { key, value } = readMessage(entry, bytes, reading)
      return [String(key), value]
    }),
  )
}

function readInner(value: ValuePlan & { kind: 'message' }, bytes: Uint8Array, reading: Reading): unknown {
  const plan = value.plan()
  return plainValueOf(plan.name, readMessage(plan, bytes, reading))
}

function readPlain(value: ValuePlan, reader: ByteReader): unknown {
  if (value.kind === 'scalar') return readScalar(value.scalar, reader)
  const number = Number(BigInt.asIntN(32, BigInt(reader.varint())))
  // A number without a name may be of a newer schema.
  return (value.kind === 'enum' && value.names.get(number)) || String(number)
}

function readScalar(scalar: Scalar, reader: ByteReader): unknown {
  switch (scalar) {
    case 'double':
      return reader.double()
    case 'float':
      return reader.float()
    case 'int32':
      return Number(BigInt.asIntN(32, BigInt(reader.varint())))
    case 'uint32':
      return Number(BigInt.asUintN(32, BigInt(reader.varint())))
    case 'sint32':
      return Number(BigInt.asIntN(32, BigInt(reader.zigzag())))
    case 'fixed32':
      return reader.fixed32()
    case 'sfixed32':
      return reader.fixed32() | 0
    case 'int64':
      return exactNumber(BigInt.asIntN(64, BigInt(reader.varint())))
    case 'uint64':
      return reader.varint()
    case 'sint64':
      return reader.zigzag()
    case 'fixed64':
      return exactNumber(reader.fixed64())
    case 'sfixed64':
      return exactNumber(BigInt.asIntN(64, reader.fixed64()))
    case 'bool':
      return reader.varint() !== 0
    case 'string':
      return reader.text(reader.varint())
    case 'bytes':
      return new Uint8Array(reader.bytes(reader.varint()))
  }
}

/** The bytes of a group, whose end is found by parsing it. */
function groupBytes(reader: ByteReader, number: number): Uint8Array {
  const start = reader.at
  const end = skipGroup(reader, number, 0)
  return reader.between(start, end)
}

function skip(reader: ByteReader, number: number, layout: number, depth: number): void {
  switch (layout) {
    case wire.varint:
      reader.varint()
      return
    case wire.bits64:
      reader.bytes(8)
      return
    case wire.bytes:
      reader.bytes(reader.varint())
      return
    case wire.groupStart:
      skipGroup(reader, number, depth)
      return
    case wire.bits32:
      reader.bytes(4)
      return
    default:
      throw new Misfit('it has a value of a type that there is not')
  }
}

/** Returns the offset of the tag that ends the group. */
function skipGroup(reader: ByteReader, number: number, depth: number): number {
  if (depth >= deepest) throw new Misfit(`it is nested deeper than ${deepest} levels`)
  for (;;) {
    const end = reader.at
    const tag = readTag(reader)
    if (tag.layout !== wire.groupEnd) skip(reader, tag.number, tag.layout, depth + 1)
    else if (tag.number === number) return end
    else throw new Misfit('it has a group that ends as another one')
  }
}
