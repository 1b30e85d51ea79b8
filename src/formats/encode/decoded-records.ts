// Decodes Avro and Protobuf records and writes them as JSON by column name. A budget limits each record: a few bytes can stand for
// millions of values.
import { Buffer } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'
import { NotConnected, ProbeFailure, transientFailures } from '../../source-shapes/source-failure.ts'
import { readAvroRecord } from '../decode/avro-rows.ts'
import {
  type ConfluentFormat,
  compileBody,
  noRegistry,
  type OpenBody,
  readBody,
  schemaIdOf,
} from '../decode/confluent-records.ts'
import { findInRow } from '../decode/field-path.ts'
import type { SchemaRegistry } from '../decode/registered-schema.ts'
import { BudgetSpent, type SampleBudget } from '../decode/sample-budget.ts'
import { Undecodable } from '../undecodable.ts'
import type { ByteOutput } from './byte-output.ts'
import { type FilledColumn, shapeByColumn } from './field-plan.ts'
import { type ColumnWriter, makeColumnWriter } from './json-values.ts'
import type { RecordFormat } from './record-format.ts'
import type { SourceRecord } from './record-list.ts'
import { valueGetter } from './virtual-fields.ts'

function budgetOf({ value }: SourceRecord): SampleBudget {
  return { values: Math.min(10_000 + 16 * value.length, 4_000_000), unpackedBytes: 64 * 1024 * 1024 }
}

/** Format of records that are Avro object container files. */
export function avroRecords(filled: readonly FilledColumn[]): RecordFormat {
  const writeRow = makeRowWriter(filled)
  return {
    shape: shapeByColumn('JSONEachRow', filled),
    write(record, out) {
      for (const row of readAvroRecord(record.value, budgetOf(record))) writeRow(row, record.meta, out)
    },
  }
}

/** Least recently used schemas beyond it are loaded again when needed. */
const maxSchemas = 100
/** Per batch. Records of another format contain random schema ids; then the pipe reports an error. */
const maxUnusable = 100
/** A missing schema may be registered later. */
const unusableForMs = 60_000
const maxRemembered = 1_000

/** Format of records that contain the id of their schema. */
export function confluentRecords(
  format: ConfluentFormat,
  registry: SchemaRegistry | undefined,
  filled: readonly FilledColumn[],
): RecordFormat {
  const shape = shapeByColumn('JSONEachRow', filled)
  const writeRow = makeRowWriter(filled)
  const opened = new Map<number, OpenBody>()
  const unusable = new Map<number, { reason: Undecodable; sinceMs: number }>()
  const openOrReason = async (from: SchemaRegistry, id: number): Promise<OpenBody | Undecodable> => {
    const known = unusable.get(id)
    if (known && performance.now() - known.sinceMs < unusableForMs) return known.reason
    return opened.get(id) ?? (await openSchema(format, from, id))
  }
  const remember = (id: number, open: OpenBody | Undecodable): void => {
    opened.delete(id)
    if (!(open instanceof Undecodable)) opened.set(id, open)
    else if (unusable.get(id)?.reason !== open) unusable.set(id, { reason: open, sinceMs: performance.now() })
    for (const oldest of unusable.keys()) if (unusable.size > maxRemembered) unusable.delete(oldest)
  }
  return {
    shape,
    async prepare(records, signal) {
      if (!registry) throw noRegistry(format.name)
      const needed: Schemas = new Map()
      let unusableCount = 0
      for (const { value } of records) {
        const id = findSchemaId(value, format)
        if (id === undefined || needed.has(id)) continue
        const open = await openOrReason(registry, id)
        signal.throwIfAborted()
        needed.set(id, open)
        remember(id, open)
        if (open instanceof Undecodable && ++unusableCount > maxUnusable) throw tooManyUnusable(format.name)
      }
      for (const id of opened.keys()) if (opened.size > maxSchemas) opened.delete(id)
      return { shape, write: (record, out) => writeRow(rowOf(record, format, needed), record.meta, out) }
    },
    write() {
      throw new Error('the schemas of the records were not loaded')
    },
  }
}

function tooManyUnusable(format: ConfluentFormat['name']): ProbeFailure {
  return new ProbeFailure({
    step: 'decode',
    code: 'undecodable',
    reason: `the records name more than ${maxUnusable} schemas that the schema registry does not have, or that cannot be used`,
    remedy: `check that the records are ${format}, and that schemaRegistry is the one that their writers use`,
    field: 'schemaRegistry',
  })
}

/** By id: the schema, or why it cannot be used. */
type Schemas = Map<number, OpenBody | Undecodable>

function rowOf(record: SourceRecord, format: ConfluentFormat, schemas: Schemas): Row {
  const id = schemaIdOf(record.value, format.name, 'it')
  const open = schemas.get(id) ?? new Undecodable(`schema ${id} was not loaded`)
  if (open instanceof Undecodable) throw open
  try {
    return readBody(open, record.value, { which: 'it', id, budget: budgetOf(record) }).row
  } catch (error) {
    throw error instanceof BudgetSpent ? new Undecodable('it holds more values than a record may have') : error
  }
}

function findSchemaId(value: Uint8Array, format: ConfluentFormat): number | undefined {
  try {
    return schemaIdOf(value, format.name, 'it')
  } catch {
    return undefined
  }
}

/** An unusable schema is an error of the record; an unavailable schema registry is not. */
async function openSchema(
  format: ConfluentFormat,
  registry: SchemaRegistry,
  id: number,
): Promise<OpenBody | Undecodable> {
  try {
    return compileBody(format, await registry.loadSchema(id, 'it'), id)
  } catch (error) {
    if (error instanceof Undecodable) return error
    if (!(error instanceof ProbeFailure)) throw error
    if (error.code === 'not_found') return new Undecodable(error.reason)
    throw transientFailures.includes(error.code) ? new NotConnected('the schema registry', error) : error
  }
}

interface WrittenColumn {
  /** `"name":` as it precedes the value. */
  label: Uint8Array
  writer: ColumnWriter
  valueIn(row: Row, meta: Row): unknown
}

function makeRowWriter(filled: readonly FilledColumn[]): (row: Row, meta: Row, out: ByteOutput) => void {
  const columns: WrittenColumn[] = filled.map(({ name, type, field, isVirtual }) => ({
    label: Buffer.from(`${JSON.stringify(name)}:`),
    writer: makeColumnWriter(type, isVirtual ? 'timestamp' : 'day'),
    valueIn: isVirtual ? ofTransport(valueGetter(field, type)) : (row) => findInRow(row, field),
  }))
  return (row, meta, out) => {
    let before = '{'
    for (const { label, writer, valueIn } of columns) {
      const value = valueIn(row, meta)
      if (value === undefined || (value === null && !writer.mayBeNull)) continue
      out.text(before)
      out.bytes(label)
      writer.write(value, out)
      before = ','
    }
    out.text(before === '{' ? '{}\n' : '}\n')
  }
}

const ofTransport =
  (valueIn: (meta: Row) => unknown): WrittenColumn['valueIn'] =>
  (_row, meta) =>
    valueIn(meta)
