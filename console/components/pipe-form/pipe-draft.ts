// Form state of a pipe, new or existing.
import type { Column, FieldMapping, Pipe, TableMappingToAdd } from '../../../src/client/shapes.ts'
import { kindOf, type PipeKind, rulesOf } from '../pipe-fields.ts'

export interface TableName {
  sourceSchemaName: string
  sourceTable: string
}

export type Value =
  | string
  | number
  | boolean
  | null
  | string[]
  | Column[]
  | FieldMapping[]
  | TableMappingToAdd[]
  | TableName[]

/**
 * By pointer of the field in the body. A missing value is untouched: it follows the pipe, also after concurrent changes, or is the
 * default of a new pipe. An empty text or list clears a field, null a number.
 */
export type Values = Record<string, Value>

export interface PipeDraft {
  /** The pipe to change; none for a new one. */
  pipe?: Pipe | undefined
  serviceId: string
  kind: PipeKind | undefined
  values: Values
}

export const emptyDraft: PipeDraft = { serviceId: '', kind: undefined, values: {} }

export function draftOf(pipe: Pipe, values: Values = {}): PipeDraft {
  return { pipe, serviceId: pipe.serviceId, kind: kindOf(pipe), values }
}

/** Initial values of a new pipe that are not the default of the API. */
const initialValues: Values = {
  'source/validateSamples': true,
  'source/kafka/schemaRegistry/authentication': 'none',
}

/** Value of a field that is untouched. */
export function presentValue({ pipe }: PipeDraft, pointer: string): Value | undefined {
  if (!pipe) {
    const { default: value, enum: choices } = rulesOf(pointer)
    return initialValues[pointer] ?? value ?? choices?.[0]
  }
  let present: unknown = pipe
  for (const name of pointer.split('/')) present = (present as Record<string, unknown> | undefined)?.[name]
  return present as Value | undefined
}

export function fieldValue(draft: PipeDraft, pointer: string): Value | undefined {
  return pointer in draft.values ? draft.values[pointer] : presentValue(draft, pointer)
}

export function textOf(draft: PipeDraft, pointer: string): string {
  const value = fieldValue(draft, pointer)
  return typeof value === 'string' ? value : ''
}

/** Null: empty, so the default applies. */
export function numberOf(draft: PipeDraft, pointer: string): number | null {
  const isUntouched = !draft.pipe && !(pointer in draft.values)
  const value = isUntouched ? null : fieldValue(draft, pointer)
  return typeof value === 'number' ? value : null
}

export function isOn(draft: PipeDraft, pointer: string): boolean {
  return fieldValue(draft, pointer) === true
}

export function listOf<Item>(draft: PipeDraft, pointer: string): Item[] {
  const value = fieldValue(draft, pointer)
  return Array.isArray(value) ? (value as Item[]) : []
}

export const columnsOf = (draft: PipeDraft): Column[] => listOf(draft, 'destination/columns')

/** The tables that a new pipe has, or that are added to an existing one. */
export const addedTablesPointer = ({ pipe }: PipeDraft): string => `source/postgres/tableMappings${pipe ? 'ToAdd' : ''}`
export const removedTablesPointer = 'source/postgres/tableMappingsToRemove'

export const addedTables = (draft: PipeDraft): TableMappingToAdd[] => listOf(draft, addedTablesPointer(draft))
export const removedTables = (draft: PipeDraft): TableName[] => listOf(draft, removedTablesPointer)

export function isSameTable(one: TableName, other: TableName): boolean {
  return one.sourceSchemaName === other.sourceSchemaName && one.sourceTable === other.sourceTable
}

/** Undefined, and empty texts, lists and objects. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '') return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** Whether input would be lost; service and kind do not count. */
export function hasInput(draft: PipeDraft): boolean {
  return Object.entries(draft.values).some(([pointer, value]) => {
    const isTyped = !isEmpty(value) && value !== null
    return isTyped && value !== presentValue(draft, pointer)
  })
}

/** Source fields with secrets. */
const secretGroups = ['credentials', 'accessKey', 'connectionString']

export const isSecretGroup = (name: string): boolean => secretGroups.includes(name)

/** Whether secrets were typed, which the shown patch does not contain. */
export function hasTypedSecrets({ values }: PipeDraft): boolean {
  return Object.entries(values).some(([pointer, value]) => pointer.split('/').some(isSecretGroup) && Boolean(value))
}

/** The chosen authentication of the source; `none` if it has none. */
export function authenticationOf(draft: PipeDraft): string {
  return textOf(draft, `source/${draft.kind}/authentication`) || 'none'
}

export const isAzureStorage = (draft: PipeDraft): boolean =>
  draft.kind === 'objectStorage' && textOf(draft, 'source/objectStorage/type') === 'azureblobstorage'

/** The secrets of the chosen authentication, and the field of the source that contains them. */
export function neededSecrets(draft: PipeDraft): { group: string; names: string[] } | undefined {
  const login = ['username', 'password']
  const userKey = ['accessKeyId', 'secretKey']
  const authentication = authenticationOf(draft)
  if (draft.kind === 'postgres') return { group: 'credentials', names: login }
  if (isAzureStorage(draft)) return { group: 'connectionString', names: ['connectionString'] }
  if (authentication === 'IAM_ROLE' || authentication === 'none') return undefined
  if (draft.kind !== 'kafka') {
    return authentication === 'IAM_USER' ? { group: 'accessKey', names: userKey } : undefined
  }
  if (authentication === 'IAM_USER') return { group: 'credentials', names: userKey }
  if (authentication === 'MUTUAL_TLS') return { group: 'credentials', names: ['certificate', 'privateKey'] }
  const isEventHub = textOf(draft, 'source/kafka/type') === 'azureeventhub'
  return { group: 'credentials', names: isEventHub ? [...login, 'connectionString'] : login }
}
