// Decodes Avro: object container files, whole or truncated, and records with a schema in a registry.

import type { Row, SourceField } from '../../source-shapes/probe.ts'
import { Undecodable } from '../undecodable.ts'
import { isAvroContainer, openAvroContainer, type RowLimits, readAvroBlocks } from './avro-container.ts'
import { parseAvroSchema } from './avro-schema.ts'
import { fieldsOfAvro, fieldsOfAvroFile } from './avro-types.ts'
import { readAvroRow } from './avro-values.ts'
import { Misfit, TooShort } from './byte-reader.ts'
import { type BodyReader, type ConfluentFormat, decodeConfluent, quoteStart } from './confluent-records.ts'
import { mergeFields } from './declared-fields.ts'
import type { Decoded, ObjectStart } from './decoding.ts'
import type { SchemaRegistry } from './registered-schema.ts'
import { BudgetSpent, newBudget, type SampleBudget } from './sample-budget.ts'
import { SchemaFault } from './schema-fault.ts'

/** Limit of a sample: each record is a file with any number of rows. */
const maxRowsOfRecords = 1_000

/** Each record is an object container file. */
export function decodeAvroRecords(records: Uint8Array[]): Decoded {
  const limits = { maxRows: maxRowsOfRecords, budget: newBudget() }
  const rows: Row[] = []
  const declared: SourceField[][] = []
  for (const [index, bytes] of records.entries()) {
    if (rows.length >= maxRowsOfRecords) break
    const start = { bytes, isWhole: true }
    const { fields, hasMore } = decodeContainer(start, { which: `record ${index + 1}`, isFile: false }, rows, limits)
    declared.push(fields)
    if (hasMore) break
  }
  return { rows, fields: mergeFields(declared) }
}

/** The first rows of an object container file, with the types and values that the engine reads. */
export function decodeAvroFile(start: ObjectStart, maxRows: number): Decoded {
  const rows: Row[] = []
  const limits = { maxRows, budget: newBudget() }
  const { fields } = decodeContainer(start, { which: 'the object', isFile: true }, rows, limits)
  return { rows, fields }
}

/** All rows of a record that is an object container file. Throws Undecodable. */
export function readAvroRecord(bytes: Uint8Array, budget: SampleBudget): Row[] {
  const rows: Row[] = []
  const limits = { maxRows: Number.POSITIVE_INFINITY, budget }
  const { hasMore } = decodeContainer({ bytes, isWhole: true }, { which: 'the record', isFile: false }, rows, limits)
  if (hasMore) throw new Undecodable('the record holds more than a record may have')
  return rows
}

/** Adds rows. `hasMore`: there are more than a sample may have. */
function decodeContainer(
  start: ObjectStart,
  { which, isFile }: { which: string; isFile: boolean },
  rows: Row[],
  limits: RowLimits,
): { fields: SourceField[]; hasMore: boolean } {
  if (!isAvroContainer(start.bytes)) {
    const begins = start.bytes.length === 0 ? 'it is empty' : `it begins with ${quoteStart(start.bytes)}`
    throw new Undecodable(`${which} is not an Avro object container file: ${begins}`)
  }
  const container = explaining(
    (what) => `${which} has a header that cannot be read: ${what}`,
    which,
    () => openAvroContainer(start.bytes, isFile ? 'engine' : 'all'),
    start,
  )
  const fields = isFile ? fieldsOfAvroFile(container.schema) : fieldsOfAvro(container.schema)
  const rowsBefore = rows.length
  try {
    explaining(
      (what) => `row ${rows.length - rowsBefore + 1} of ${which} does not match its schema: ${what}`,
      which,
      () => readAvroBlocks(container, start, rows, limits),
    )
    return { fields, hasMore: false }
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error
    if (rows.length === 0) throw new Undecodable(`${which} holds more in its first row or block than a sample may have`)
    return { fields, hasMore: true }
  }
}

/** Converts errors to Undecodable. */
function explaining<Result>(
  describe: (what: string) => string,
  which: string,
  work: () => Result,
  { isWhole } = { isWhole: true },
): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof SchemaFault) throw new Undecodable(`the schema of ${which} ${error.what}`)
    if (error instanceof TooShort && !isWhole) throw new Undecodable(describe('it is longer than what is read of it'))
    throw error instanceof Misfit ? new Undecodable(describe(error.located)) : error
  }
}

export const confluentAvro: ConfluentFormat = {
  name: 'AvroConfluent',
  type: 'AVRO',
  compile({ schema, references }, id) {
    const record = parseAvroSchema(
      schema,
      references.map((reference) => reference.schema),
    )
    const body: BodyReader = {
      title: `schema ${id}`,
      fields: fieldsOfAvro(record),
      read: (reader, budget) => readAvroRow(record, reader, budget),
    }
    return () => body
  },
}

export function decodeConfluentAvro(records: Uint8Array[], registry: SchemaRegistry | undefined): Promise<Decoded> {
  return decodeConfluent(confluentAvro, records, registry)
}
