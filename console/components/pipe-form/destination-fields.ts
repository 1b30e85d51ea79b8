// Fields of the destination of a pipe, of its columns and tables, and of its settings.
import {
  destinationFields,
  type FieldText,
  type fieldMappingFields,
  rulesOf,
  scalingFields,
  settingFields,
  tableDefinitionFields,
  tableEngineFields,
} from '../pipe-fields.ts'
import { always, type FormField, type FormSection, fieldsAt, has, type Is, isKind, isNew, not } from './form-field.ts'
import {
  addedTablesPointer,
  isEmpty,
  isOn,
  isSameTable,
  type PipeDraft,
  presentValue,
  removedTablesPointer,
  type TableName,
  textOf,
  type Value,
} from './pipe-draft.ts'

const destination = fieldsAt('destination', destinationFields)
const definition = fieldsAt('destination/tableDefinition', tableDefinitionFields)
const engine = fieldsAt('destination/tableDefinition/engine', tableEngineFields)
const database = destination('database', 'text', { placeholder: 'analytics' })
const isManaged: Is = (draft) => !isKind('postgres')(draft) && isOn(draft, 'destination/managedTable')
const hasEngine = (type: string): Is => {
  const isChosen = has('destination/tableDefinition/engine/type', type)
  return (draft) => isManaged(draft) && isChosen(draft)
}

const engineMeanings: Record<string, string> = {
  MergeTree: 'Keeps every row.',
  ReplacingMergeTree: 'Keeps the newest row of each sorting key.',
  SummingMergeTree: 'Adds up the rows of each sorting key.',
  Null: 'Keeps nothing; feeds materialized views.',
}

export const databaseSection: FormSection = { title: 'Database', rows: [database] }

export const tableSection: FormSection = {
  title: 'Table',
  rows: [
    [
      database,
      destination('table', 'text', { placeholder: 'orders', isShown: not(isKind('postgres')), isNeeded: always }),
    ],
    destination('managedTable', 'switch', {
      about: (draft) =>
        isManaged(draft)
          ? 'Penstock creates and extends the table.'
          : 'The table must be there already; Penstock only fills it.',
      isShown: not(isKind('postgres')),
    }),
  ],
}

export const definitionSection: FormSection = {
  title: destinationFields.tableDefinition.label,
  about: 'How Penstock creates the table.',
  rows: [
    [
      engine('type', 'choice', {
        about: (draft) => engineMeanings[textOf(draft, 'destination/tableDefinition/engine/type')]!,
        choices: Object.fromEntries(Object.keys(engineMeanings).map((name) => [name, name])),
        alsoAt: ['destination/tableDefinition/engine', 'destination/tableDefinition'],
        isShown: isManaged,
      }),
      engine('versionColumnId', 'columnName', {
        about: 'The column that identifies the newest row.',
        isShown: hasEngine('ReplacingMergeTree'),
      }),
    ],
    engine('columnIds', 'columnNames', {
      about: 'Left empty: all columns of numbers that are not in the sorting key.',
      isShown: hasEngine('SummingMergeTree'),
    }),
    definition('sortingKey', 'columnNames', {
      about: `${tableDefinitionFields.sortingKey.about} Their order matters.`,
      isShown: isManaged,
    }),
  ],
  more: {
    label: 'More about the table',
    rows: [
      [
        definition('partitionBy', 'text', { placeholder: 'toYYYYMM(ordered_at)', isShown: isManaged }),
        definition('primaryKey', 'text', { placeholder: 'order_id', isShown: isManaged }),
      ],
    ],
  },
}

/** A postgres pipe has table mappings instead, unless it has a table of its own. */
const hasColumns: Is = (draft) => {
  if (draft.kind !== 'postgres') return true
  const { destination, fieldMappings } = draft.pipe ?? {}
  return (
    destination !== undefined &&
    (destination.table !== undefined || destination.columns.length + fieldMappings!.length > 0)
  )
}

/** Items with their fields in a fixed order, so that lists can be compared. */
const itemsWith =
  (texts: object) =>
  (items: Value | undefined): unknown =>
    (Array.isArray(items) ? items : []).map((item) =>
      Object.fromEntries(Object.keys(texts).map((name) => [name, item[name as keyof typeof item]])),
    )

/** Omits switches that are off, and empty lists. */
const tablesToBody = (tables: Value | undefined): unknown =>
  (Array.isArray(tables) ? tables : []).map((table) =>
    Object.fromEntries(Object.entries(table).filter(([, value]) => value === '' || (value && !isEmpty(value)))),
  )

/** Removed tables that the pipe still has: another person may have removed some. */
function removedToBody(names: Value | undefined, { pipe }: PipeDraft): TableName[] {
  const removed = Array.isArray(names) ? (names as TableName[]) : []
  return (pipe?.source.postgres?.tableMappings ?? [])
    .filter((mapping) => removed.some((name) => isSameTable(name, mapping)))
    .map(({ sourceSchemaName, sourceTable }) => ({ sourceSchemaName, sourceTable }))
}

export const tableFields = (draft: PipeDraft): FormField[] => [
  {
    pointer: removedTablesPointer,
    input: 'other',
    label: '',
    isMutable: true,
    isShown: not(isNew),
    toBody: removedToBody,
  },
  { pointer: addedTablesPointer(draft), input: 'other', label: 'Tables', isMutable: true, toBody: tablesToBody },
]

const columnFieldNames = { name: '', type: '' }
export const listFields: FormField[] = [
  destination('columns', 'other', { isShown: hasColumns, toBody: itemsWith(columnFieldNames) }),
  {
    pointer: 'fieldMappings',
    input: 'other',
    label: 'Field mappings',
    isShown: hasColumns,
    toBody: itemsWith({ sourceField: '', destinationField: '' } satisfies Record<
      keyof typeof fieldMappingFields,
      string
    >),
  },
]

/** Settings with these prefixes apply to some source kinds only. An existing pipe may have others, which can be reset. */
function settingMatters(name: string): Is {
  const special = name.startsWith('streaming_')
    ? isKind('kafka', 'kinesis')
    : name.startsWith('object_storage_')
      ? isKind('objectStorage')
      : always
  const pointer = `settings/${name}`
  return (draft) => special(draft) || (!isNew(draft) && presentValue(draft, pointer) !== rulesOf(pointer).default)
}

const fieldsOfGroup = (group: string, texts: Record<string, FieldText>, isShown: (name: string) => Is): FormField[] =>
  Object.keys(texts).map((name) => fieldsAt(group, texts)(name, 'other', { isShown: isShown(name) }))

export const settingsOfPipe = fieldsOfGroup('settings', settingFields, settingMatters)
export const scalingOfPipe = fieldsOfGroup('scaling', scalingFields, () => always)
