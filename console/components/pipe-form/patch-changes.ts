// Display of a pipe patch before it is sent: before and after, without secrets.
import type {
  Column,
  FieldMapping,
  Pipe,
  PipePatch,
  PipeSettings,
  PostgresSourcePatch,
} from '../../../src/client/shapes.ts'
import type { FieldChange } from '../field-changes.ts'
import { kindOf, settingFields } from '../pipe-fields.ts'
import { differs } from './patch.ts'
import { isSameTable, isSecretGroup, postgresNumberDefaults, type TableName } from './pipe-draft.ts'

/** The patch for display: secrets are replaced by "changed". */
export function shownPatch(patch: PipePatch): PipePatch {
  const masked = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value === null ? null : 'changed'
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, masked(part)]))
  }
  const sources = Object.entries(patch.source ?? {}).map(([kind, source]) => [
    kind,
    typeof source === 'object'
      ? Object.fromEntries(
          Object.entries(source).map(([name, value]) => [name, isSecretGroup(name) ? masked(value) : value]),
        )
      : source,
  ])
  return { ...patch, ...(patch.source ? { source: Object.fromEntries(sources) } : {}) }
}

/** Before and after of every field that a patch changes. */
export function changesOf(pipe: Pipe, patch: PipePatch): FieldChange[] {
  const { name, source = {}, destination, fieldMappings, settings = {} } = patch
  const kind = kindOf(pipe)
  const changes: FieldChange[] = [
    ...(name !== undefined ? [{ field: 'name', from: pipe.name, to: name }] : []),
    ...sourceChanges(`source.${kind}`, pipe, source[kind] ?? {}),
    ...(destination?.columns
      ? [
          {
            field: 'destination.columns',
            from: columnLines(pipe.destination.columns),
            to: columnLines(destination.columns),
          },
        ]
      : []),
    ...(fieldMappings
      ? [{ field: 'fieldMappings', from: mappingLines(pipe.fieldMappings), to: mappingLines(fieldMappings) }]
      : []),
    ...Object.entries(settings).map(([setting, value]) => {
      const field = setting as keyof PipeSettings
      return { field: `settings.${field}`, from: pipe.settings[field], to: value ?? settingFields[field].default }
    }),
  ]
  return changes.filter((change) => differs(change.from, change.to) || 'from' in change !== 'to' in change)
}

const columnLines = (columns: Column[]): string => columns.map(({ name, type }) => `${name} ${type}`).join('\n')

const mappingLines = (mappings: FieldMapping[]): string =>
  mappings.map(({ sourceField, destinationField }) => `${sourceField} → ${destinationField}`).join('\n')

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

const neverShown = '(never shown)'

function sourceChanges(path: string, pipe: Pipe, patch: object): FieldChange[] {
  const present = pipe.source[kindOf(pipe)] as unknown as Record<string, unknown>
  return Object.entries(patch)
    .flatMap(([name, value]): FieldChange[] => {
      if (name === 'tableMappingsToAdd' || name === 'tableMappingsToRemove') return []
      if (name === 'settings') return postgresSettingChanges(`${path}.settings`, pipe, value)
      const field = `${path}.${name}`
      if (name === 'connectionString') return [secretChange(field, value, present[name] ?? neverShown)]
      if (isSecretGroup(name)) {
        if (value === null) return [secretChange(field, null)]
        return Object.entries(value as object).map(([part, secret]) => secretChange(`${field}.${part}`, secret))
      }
      return [
        {
          field,
          ...(present[name] === undefined ? {} : { from: present[name] }),
          ...(value === null ? {} : { to: value }),
        },
      ]
    })
    .concat(tableChanges(`${path}.tableMappings`, pipe, patch))
}

function secretChange(field: string, value: unknown, from: unknown = neverShown): FieldChange {
  return { field, from, ...(value === null ? {} : { to: 'changed' }) }
}

function postgresSettingChanges(path: string, { source }: Pipe, patch: PostgresSourcePatch['settings'] = {}) {
  return Object.entries(patch).map(([name, value]) => {
    const setting = name as keyof typeof postgresNumberDefaults
    return {
      field: `${path}.${name}`,
      from: source.postgres!.settings[setting],
      to: value ?? postgresNumberDefaults[setting],
    }
  })
}

function tableChanges(path: string, { source }: Pipe, patch: PostgresSourcePatch): FieldChange[] {
  const { tableMappingsToRemove: removals = [], tableMappingsToAdd: additions = [] } = patch
  const before = (source.postgres?.tableMappings ?? []).filter((mapping) =>
    removals.some((removal) => isSameTable(removal, mapping)),
  )
  const title = ({ sourceSchemaName, sourceTable }: TableName) => `${path} ${sourceSchemaName}.${sourceTable}`
  const replaced = before.map((mapping): FieldChange => {
    const replacement = additions.find((one) => isSameTable(one, mapping))
    return { field: title(mapping), from: mapping, ...(replacement ? { to: replacement } : {}) }
  })
  const added = additions.filter((one) => !before.some((mapping) => isSameTable(one, mapping)))
  return [...replaced, ...added.map((one): FieldChange => ({ field: title(one), to: one }))]
}
