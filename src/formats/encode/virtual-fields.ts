// Virtual fields of a record (metadata of the transport), as members inserted into its JSON.
import { Buffer } from 'node:buffer'
import type { Row } from '../../source-shapes/probe.ts'
import type { ByteOutput } from './byte-output.ts'
import { parseType } from './engine-type.ts'
import type { FilledColumn } from './field-plan.ts'
import { type ColumnWriter, makeColumnWriter } from './json-values.ts'
import type { RowShape } from './rows.ts'

export interface VirtualField {
  /** Name in the body. */
  name: string
  /** `"name":` as it precedes the value. */
  label: Uint8Array
  type: string
  writer: ColumnWriter
  valueIn(meta: Row): unknown
}

export interface VirtualFields {
  fields: VirtualField[]
  columns: RowShape['columns']
}

/** Columns of different types that use the same virtual field each get their own copy. */
export function virtualFieldsFor(filled: readonly FilledColumn[]): VirtualFields {
  const fields: (VirtualField & { source: string })[] = []
  const columns: RowShape['columns'] = []
  for (const { name: column, type, field: source, isVirtual } of filled) {
    if (!isVirtual) continue
    const ofSource = fields.filter((field) => field.source === source)
    let field = ofSource.find((other) => other.type === type)
    if (!field) {
      const name = ofSource.length === 0 ? source : `${source}_${ofSource.length + 1}`
      const label = Buffer.from(`${JSON.stringify(name)}:`)
      const writer = makeColumnWriter(type, 'timestamp')
      field = { source, name, label, type, writer, valueIn: valueGetter(source, type) }
      fields.push(field)
    }
    columns.push({ column, field: field.name })
  }
  return { fields, columns }
}

/** Reads the value of a virtual field in the form that the column type needs. */
export function valueGetter(source: string, type: string): (meta: Row) => unknown {
  if (source !== '_headers') return (meta) => meta[source] ?? null
  const { name, elements } = parseType(type)
  const isOfLists = name === 'Map' && elements[1]?.name === 'Array'
  if (isOfLists) return (meta) => meta._headers ?? null
  const pick =
    name === 'Map' ? (list: unknown[]) => list.at(-1) : (list: unknown[]) => (list.length > 1 ? list : list[0])
  return ({ _headers: headers }) => {
    if (typeof headers !== 'object' || headers === null) return null
    const single = Object.entries(headers).map(([key, list]) => [key, Array.isArray(list) ? pick(list) : list])
    return Object.fromEntries(single)
  }
}

const comma = 0x2c

/** Writes comma-separated members; returns false when there are no members. */
export function writeVirtualMembers(fields: readonly VirtualField[], meta: Row, out: ByteOutput): boolean {
  let hasAny = false
  for (const { label, writer, valueIn } of fields) {
    const value = valueIn(meta)
    if (value === null && !writer.mayBeNull) continue
    if (hasAny) out.byte(comma)
    out.bytes(label)
    writer.write(value, out)
    hasAny = true
  }
  return hasAny
}
