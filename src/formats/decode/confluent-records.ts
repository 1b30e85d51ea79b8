// Records in Confluent's wire format: a zero byte, the schema id in four bytes, and a body in Avro or Protobuf.

import type { Row, SourceField } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { excerptOf, Undecodable } from '../undecodable.ts'
import { ByteReader, Misfit } from './byte-reader.ts'
import { mergeFields } from './declared-fields.ts'
import type { Decoded } from './decoding.ts'
import type { RegisteredSchema, SchemaRegistry } from './registered-schema.ts'
import { BudgetSpent, newBudget, type SampleBudget } from './sample-budget.ts'
import { SchemaFault } from './schema-fault.ts'

/** Decoder of bodies with one schema. */
export interface BodyReader {
  /** `schema 12`, or `the message shop.Order of schema 12` */
  title: string
  fields: SourceField[]
  /** Throws a Misfit for invalid bytes. */
  read(reader: ByteReader, budget: SampleBudget): Row
}

/** Reads the start of a body, which may select the decoder. */
export type OpenBody = (reader: ByteReader) => BodyReader

export interface ConfluentFormat {
  name: 'AvroConfluent' | 'Protobuf'
  type: RegisteredSchema['type']
  /** Throws a SchemaFault. */
  compile(schema: RegisteredSchema, id: number): OpenBody
}

export async function decodeConfluent(
  format: ConfluentFormat,
  records: Uint8Array[],
  registry: SchemaRegistry | undefined,
): Promise<Decoded> {
  if (!registry) throw noRegistry(format.name)
  const compiled = new Map<number, OpenBody>()
  const rows: Row[] = []
  const declared = new Set<SourceField[]>()
  const budget = newBudget()
  for (const [index, record] of records.entries()) {
    const which = `record ${index + 1}`
    const id = schemaIdOf(record, format.name, which)
    const open = compiled.get(id) ?? compileBody(format, await registry.loadSchema(id, which), id)
    compiled.set(id, open)
    try {
      const { fields, row } = readBody(open, record, { which, id, budget })
      declared.add(fields)
      rows.push(row)
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error
      if (rows.length === 0) throw new Undecodable(`${which} holds more values than a sample may have`)
      break
    }
  }
  return { rows, fields: mergeFields([...declared]) }
}

export function noRegistry(format: ConfluentFormat['name']): ProbeFailure {
  return new ProbeFailure({
    step: 'decode',
    code: 'not_set_up',
    reason: `the format ${format} needs a schema registry`,
    remedy: 'create the pipe with a schemaRegistry, or with another format',
    field: 'format',
  })
}

const headerBytes = 5

/** Throws Undecodable. */
export function schemaIdOf(record: Uint8Array, format: ConfluentFormat['name'], which: string): number {
  if (record.length >= headerBytes && record[0] === 0) {
    return new DataView(record.buffer, record.byteOffset).getUint32(1)
  }
  const begins = record.length === 0 ? 'is empty' : `begins with ${quoteStart(record)}`
  throw new Undecodable(`${which} ${begins}, not with the zero byte and the schema id of ${format}`)
}

/** The first characters of text; otherwise the first bytes in hex. */
export function quoteStart(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, 40)).toString('latin1')
  return /^[ -~]{0,20}(?:$|[ -~])/.test(start) ? excerptOf(start) : `the bytes ${hexStart(bytes)}`
}

function hexStart(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 8)).toString('hex')
}

const titles = { AVRO: 'Avro', PROTOBUF: 'Protobuf', JSON: 'JSON Schema' }

/** Throws Undecodable. */
export function compileBody(format: ConfluentFormat, schema: RegisteredSchema, id: number): OpenBody {
  if (schema.type !== format.type) {
    throw new Undecodable(`schema ${id} is ${titles[schema.type]}, but the format is ${format.name}`)
  }
  try {
    return format.compile(schema, id)
  } catch (error) {
    throw explained(error, `schema ${id}`)
  }
}

function explained(error: unknown, schema: string): unknown {
  return error instanceof SchemaFault ? new Undecodable(`${schema} ${error.what}`) : error
}

interface BodyContext {
  which: string
  id: number
  budget: SampleBudget
}

/** Throws Undecodable, or BudgetSpent. */
export function readBody(
  open: OpenBody,
  record: Uint8Array,
  { which, id, budget }: BodyContext,
): { fields: SourceField[]; row: Row } {
  const reader = new ByteReader(record.subarray(headerBytes))
  let title = `schema ${id}`
  try {
    const body = open(reader)
    title = body.title
    const row = body.read(reader, budget)
    if (reader.left > 0) throw new Misfit(`it goes on for ${reader.left} bytes after its end`)
    return { fields: body.fields, row }
  } catch (error) {
    if (error instanceof Misfit) throw new Undecodable(`${which} does not match ${title}: ${error.located}`)
    throw explained(error, `schema ${id}`)
  }
}
