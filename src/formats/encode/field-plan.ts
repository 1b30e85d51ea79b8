// Assigns source fields to the columns they fill.
import type { EngineColumn } from '../../engine/engine.ts'
import type { RowShape } from './rows.ts'

export interface FieldMapping {
  sourceField: string
  destinationField: string
}

export interface FilledColumn extends EngineColumn {
  field: string
  /** Metadata of the transport, not a field of the record. */
  isVirtual: boolean
}

export type SourceKindName = 'kafka' | 'kinesis' | 'objectStorage'

const virtualFields: Record<SourceKindName, readonly string[]> = {
  kafka: ['_topic', '_partition', '_offset', '_timestamp', '_key', '_headers'],
  kinesis: ['_stream', '_shard', '_sequence', '_timestamp', '_key'],
  objectStorage: ['_path', '_file', '_size', '_time'],
}

export function fillColumns(
  kind: SourceKindName,
  columns: readonly EngineColumn[],
  fieldMappings: readonly FieldMapping[],
): FilledColumn[] {
  const mapped = new Map(fieldMappings.map((mapping) => [mapping.destinationField, mapping.sourceField]))
  return columns.map(({ name, type }) => {
    const field = mapped.get(name) ?? name
    return { name, type, field, isVirtual: virtualFields[kind].includes(field) }
  })
}

/** Whether one field fills columns of different types. A field has one type in the body, so each such column needs its own copy. */
export function hasConflictingTypes(filled: readonly FilledColumn[]): boolean {
  const types = new Map<string, string>()
  return filled.some(({ field, type, isVirtual }) => {
    const other = types.get(field)
    types.set(field, type)
    return !isVirtual && other !== undefined && other !== type
  })
}

/** Shape of rows whose fields are named after the columns. */
export function shapeByColumn(format: RowShape['format'], filled: readonly FilledColumn[]): RowShape {
  return {
    format,
    fields: filled.map(({ name, type }) => ({ name, type })),
    columns: filled.map(({ name }) => ({ column: name, field: name })),
  }
}

/** Shape of rows whose fields are named as in the source. */
export function shapeByField(format: RowShape['format'], filled: readonly FilledColumn[]): RowShape {
  const fields = new Map(filled.map(({ field, type }) => [field, type]))
  return {
    format,
    fields: [...fields].map(([name, type]) => ({ name, type })),
    columns: filled.map(({ name, field }) => ({ column: name, field })),
  }
}
