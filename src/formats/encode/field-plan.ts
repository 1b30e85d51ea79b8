// Which field of the records fills which column, and what that asks of the encoding.
import type { EngineColumn } from '../../engine/engine.ts'
import type { RowShape } from '../../runner/rows.ts'

export interface FieldMapping {
  sourceField: string
  destinationField: string
}

export interface FilledColumn extends EngineColumn {
  field: string
  /** The transport has it, not the record. */
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

/** One field can have one type in the body: columns that disagree each get a copy of their own. */
export function isSharedUnequally(filled: readonly FilledColumn[]): boolean {
  const types = new Map<string, string>()
  return filled.some(({ field, type, isVirtual }) => {
    const other = types.get(field)
    types.set(field, type)
    return !isVirtual && other !== undefined && other !== type
  })
}

/** Of rows that have the columns by their names. */
export function shapeByColumn(format: RowShape['format'], filled: readonly FilledColumn[]): RowShape {
  return {
    format,
    fields: filled.map(({ name, type }) => ({ name, type })),
    columns: filled.map(({ name }) => ({ column: name, field: name })),
  }
}

/** Of rows that have the fields as the source names them. */
export function shapeByField(format: RowShape['format'], filled: readonly FilledColumn[]): RowShape {
  const fields = new Map(filled.map(({ field, type }) => [field, type]))
  return {
    format,
    fields: [...fields].map(([name, type]) => ({ name, type })),
    columns: filled.map(({ name, field }) => ({ column: name, field })),
  }
}
