// Decodes values of Avro's binary encoding. Bytes are untrusted: depth, counts and lengths are checked before memory is
// allocated.

import { asBuffer } from '../../lib/as-buffer.ts'
import type { Row } from '../../source-shapes/probe.ts'
import { textOfCount, timeOfCount } from '../timestamps.ts'
import type { AvroLogical, AvroNode, AvroRecord } from './avro-schema.ts'
import { type ByteReader, Misfit } from './byte-reader.ts'
import { decimalText } from './decimal-text.ts'
import { type SampleBudget, spendValues } from './sample-budget.ts'

const deepest = 64

export function readAvroRow(record: AvroRecord, reader: ByteReader, budget: SampleBudget): Row {
  return readRecord(record, { reader, budget, depth: 0 })
}

interface Reading {
  reader: ByteReader
  budget: SampleBudget
  depth: number
}

function readRecord({ fields }: AvroRecord, reading: Reading): Row {
  const inner = deeper(reading)
  const row: Row = {}
  for (const { name, node } of fields) {
    try {
      setField(row, name, readNode(node, inner))
    } catch (error) {
      if (error instanceof Misfit) error.path.unshift(name)
      throw error
    }
  }
  return row
}

/** Creates a field for any name, including __proto__. */
function setField(row: Row, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(row, name, { value, enumerable: true, configurable: true, writable: true })
  } else row[name] = value
}

function deeper({ reader, budget, depth }: Reading): Reading {
  if (depth >= deepest) throw new Misfit(`it is nested deeper than ${deepest} levels`)
  return { reader, budget, depth: depth + 1 }
}

function readNode(node: AvroNode, reading: Reading): unknown {
  const { reader, budget } = reading
  spendValues(budget, 1)
  switch (node.kind) {
    case 'null':
      return null
    case 'boolean':
      return readBoolean(reader)
    case 'int':
      return withLogical(readInt(reader), node.logical)
    case 'long':
      return withLogical(reader.zigzag(), node.logical)
    case 'float':
      return reader.float()
    case 'double':
      return reader.double()
    case 'bytes':
      return bytesOf(reader.bytes(reader.zigzag()), node.logical)
    case 'fixed':
      return bytesOf(reader.bytes(node.sizeBytes), node.logical)
    case 'string':
      return reader.text(reader.zigzag())
    case 'enum':
      return choose(node.symbols, reader, 'a symbol')
    case 'union':
      return readNode(choose(node.branches, reader, 'a type'), deeper(reading))
    case 'array':
      return readItems(reading, (inner) => readNode(node.items, inner))
    case 'map':
      return Object.fromEntries(
        readItems(reading, (inner) => [reader.text(reader.zigzag()), readNode(node.values, inner)] as const),
      )
    case 'record':
      return readRecord(node, reading)
  }
}

function readBoolean(reader: ByteReader): boolean {
  const byte = reader.byte()
  if (byte > 1) throw new Misfit('it has a boolean that is neither true nor false')
  return byte === 1
}

function readInt(reader: ByteReader): number {
  const value = reader.zigzag()
  if (typeof value === 'bigint' || value < -(2 ** 31) || value >= 2 ** 31) {
    throw new Misfit('it has an int of more than 32 bits')
  }
  return value
}

function choose<Choice>(choices: Choice[], reader: ByteReader, what: string): Choice {
  const choice = choices[Number(reader.zigzag())]
  if (choice === undefined) throw new Misfit(`it names ${what} that the schema does not have`)
  return choice
}

/** Blocks of items: a count, negative when a size in bytes follows; a count of zero is the end. */
function readItems<Item>(reading: Reading, readItem: (inner: Reading) => Item): Item[] {
  const { reader } = reading
  const inner = deeper(reading)
  const items: Item[] = []
  for (;;) {
    let count = reader.zigzag()
    if (count === 0) return items
    if (count < 0) {
      count = -count
      reader.zigzag()
    }
    // Items may have no bytes: only the budget limits a false count.
    for (let index = 0; index < count; index++) items.push(readItem(inner))
  }
}

function withLogical(count: number | bigint, logical: AvroLogical | undefined): unknown {
  switch (logical?.type) {
    case 'date':
      return dateOf(Number(count))
    case 'time':
      return timeOfCount(count, logical.digits)
    case 'timestamp':
      return textOfCount(count, logical.digits, logical.isLocal)
    default:
      return count
  }
}

const dayMs = 86_400_000

function dateOf(days: number): Date | number {
  const date = new Date(days * dayMs)
  return Number.isNaN(date.getTime()) ? days : date
}

/** More than the largest Decimal of the engine; longer ones are slow to convert. */
const largestDecimalBytes = 64

function bytesOf(bytes: Uint8Array, logical: AvroLogical | undefined): Uint8Array | string {
  switch (logical?.type) {
    case 'decimal': {
      if (bytes.length > largestDecimalBytes) {
        throw new Misfit(`it has a decimal of more than ${largestDecimalBytes} bytes`)
      }
      const unsigned = BigInt(`0x0${hexOf(bytes)}`)
      return decimalText(BigInt.asIntN(bytes.length * 8, unsigned), logical.scale)
    }
    case 'uuid':
      return hexOf(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    default:
      // A copy, so that the surrounding buffer can be freed.
      return new Uint8Array(bytes)
  }
}

function hexOf(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('hex')
}
