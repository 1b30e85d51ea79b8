// Display of a pipe patch before it is sent: before and after, without secrets.
import type { Column, FieldMapping, Pipe, PipePatch, PostgresSourcePatch } from '../../../src/client/shapes.ts'
import type { FieldChange } from '../field-changes.ts'
import { rulesOf } from '../pipe-fields.ts'
import { differs } from './body.ts'
import { draftOf, isSameTable, isSecretGroup, presentValue } from './pipe-draft.ts'
import { tableTitle } from './table-mapping.ts'

/** Before and after of every field that a patch changes. */
export function changesOf(pipe: Pipe, patch: PipePatch): FieldChange[] {
  const present = draftOf(pipe)
  const changes = (value: unknown, path: string[]): FieldChange[] => {
    const name = path.at(-1) ?? ''
    const pointer = path.join('/')
    const field = path.join('.')
    const before = presentValue(present, pointer)
    if (name.startsWith('tableMappings') || name === 'validateSamples') return []
    if (path.some(isSecretGroup) && (value === null || typeof value === 'string')) {
      const from = typeof before === 'string' ? before : '(never shown)'
      return [{ field, from, ...(value === null ? {} : { to: 'changed' }) }]
    }
    if (Array.isArray(value) && name in lines) {
      return [{ field, from: lines[name]!(before as never[]), to: lines[name]!(value as never[]) }]
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return Object.entries(value).flatMap(([part, member]) => changes(member, [...path, part]))
    }
    const after = value ?? rulesOf(pointer).default
    return [{ field, ...(before === undefined ? {} : { from: before }), ...(after === undefined ? {} : { to: after }) }]
  }
  const { name, source = {}, ...others } = patch
  const all = [
    ...changes(name === undefined ? {} : { name }, []),
    ...changes(source, ['source']),
    ...tableChanges(pipe, source.postgres ?? {}),
    ...changes(others, []),
  ]
  return all.filter((change) => differs(change.from, change.to) || 'from' in change !== 'to' in change)
}

/** Lists that are compared as lines. */
const lines: Record<string, (items: never[]) => string> = {
  columns: (columns: Column[]) => columns.map(({ name, type }) => `${name} ${type}`).join('\n'),
  fieldMappings: (mappings: FieldMapping[]) =>
    mappings.map(({ sourceField, destinationField }) => `${sourceField} → ${destinationField}`).join('\n'),
}

function tableChanges({ source }: Pipe, patch: PostgresSourcePatch): FieldChange[] {
  const { tableMappingsToRemove: removals = [], tableMappingsToAdd: additions = [] } = patch
  const before = (source.postgres?.tableMappings ?? []).filter((mapping) =>
    removals.some((removal) => isSameTable(removal, mapping)),
  )
  const added = additions.filter((one) => !before.some((mapping) => isSameTable(one, mapping)))
  const title = (table: Parameters<typeof tableTitle>[0]) => `source.postgres.tableMappings ${tableTitle(table)}`
  return [
    ...before.map((mapping): FieldChange => {
      const replacement = additions.find((one) => isSameTable(one, mapping))
      return { field: title(mapping), from: mapping, ...(replacement ? { to: replacement } : {}) }
    }),
    ...added.map((one): FieldChange => ({ field: title(one), to: one })),
  ]
}

/** JSON with one line per list item: a hundred columns take a hundred lines. */
export function jsonText(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => inner + lineOf(item)).join(',\n')}\n${indent}]`
  }
  const members = Object.entries(value).map(
    ([name, part]) => `${inner}${JSON.stringify(name)}: ${jsonText(part, inner)}`,
  )
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`
}

function lineOf(item: unknown): string {
  if (typeof item !== 'object' || item === null) return JSON.stringify(item)
  return `{ ${Object.entries(item)
    .map(([name, part]) => `${JSON.stringify(name)}: ${JSON.stringify(part)}`)
    .join(', ')} }`
}
