// Checks that the mapped tables can be replicated. The first kind of error is reported, with all tables that have it.
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import { type FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import { type FoundTable, findTables, listNamesakes } from './postgres-catalog.ts'
import { type FoundColumn, listColumns } from './postgres-columns.ts'
import type { PostgresSession } from './postgres-connection.ts'
import { escapeIdentifier, listed, plainName, quotedTable, tableName } from './postgres-names.ts'

export interface MappedTable {
  /** Index in `tableMappings`. */
  index: number
  mapping: TableMapping
  found: FoundTable
  allColumns: FoundColumn[]
  /** Replicated columns. */
  columns: FoundColumn[]
}

type Mapped = Pick<MappedTable, 'index' | 'mapping'>

interface Complaint<Table extends Mapped> {
  code: FailureCode
  /** Name of the table or column that has the error; undefined without the error. */
  of: (table: Table) => string | undefined
  reason: (names: string) => string
  remedy: (concerned: Table[]) => string
  /** Field of the mapping. */
  field: keyof TableMapping
}

/** Rejects with a ProbeFailure. */
export async function loadMappedTables(session: PostgresSession, config: PostgresSource): Promise<MappedTable[]> {
  const { tableMappings, settings, database } = config
  const found = await findTables(session, tableMappings)
  const present: (Mapped & { found: FoundTable })[] = []
  const absent: Mapped[] = []
  for (const [index, mapping] of tableMappings.entries()) {
    const table = found[index]
    if (table) present.push({ index, mapping, found: table })
    else absent.push({ index, mapping })
  }
  if (absent.length > 0) throw await notFound(session, absent, database)
  const isFollowed = settings.replicationMode !== 'snapshot'
  const columnsOf = await listColumns(session, [...new Set(present.map(({ found: { id } }) => id))])
  const tables = present.map((table): MappedTable => {
    const allColumns = columnsOf.get(table.found.id) ?? []
    const excluded = new Set(table.mapping.excludedColumns)
    const columns = allColumns.filter(({ name, isGenerated }) => !excluded.has(name) && !(isGenerated && isFollowed))
    return { ...table, allColumns, columns }
  })
  const isLoaded = settings.replicationMode !== 'cdc_only'
  const checked = [
    ...complaints,
    ...(isLoaded ? complaintsWhenLoaded : []),
    ...(isLoaded && isFollowed ? [loadedByPartition] : []),
    ...(isFollowed ? [...complaintsWhenFollowed, mappedTwice(tables)] : []),
  ]
  for (const complaint of checked) complain(tables, complaint)
  return tables
}

function complain<Table extends Mapped>(tables: Table[], complaint: Complaint<Table>): void {
  const concerned = tables.flatMap((table) => {
    const name = complaint.of(table)
    return name === undefined ? [] : [{ table, name }]
  })
  const [first] = concerned
  if (!first) return
  throw new ProbeFailure({
    step: 'describe',
    code: complaint.code,
    reason: complaint.reason(listed(concerned.map(({ name }) => name))),
    remedy: complaint.remedy(concerned.map(({ table }) => table)),
    field: `tableMappings[${first.table.index}].${complaint.field}`,
    mappings: concerned.map(({ table: { index } }) => index),
  })
}

async function notFound(session: PostgresSession, absent: Mapped[], database: string): Promise<ProbeFailure> {
  const namesakes = await listNamesakes(
    session,
    absent.map(({ mapping }) => mapping.sourceTable),
  )
  const names = absent.map(({ mapping }) => {
    const alike = namesakes.get(mapping.sourceTable.toLowerCase()) ?? []
    // In the same schema, only upper and lower case differ.
    const meant = alike.find(({ sourceSchemaName }) => sourceSchemaName === mapping.sourceSchemaName) ?? alike[0]
    return meant ? `${tableName(mapping)} (there is ${tableName(meant)})` : tableName(mapping)
  })
  return new ProbeFailure({
    step: 'describe',
    code: 'not_found',
    reason: `the database ${JSON.stringify(database)} has no table ${listed(names)}`,
    remedy: 'check sourceSchemaName and sourceTable, also for capitals',
    field: `tableMappings[${absent[0]!.index}].sourceTable`,
  })
}

const kinds: Record<string, string> = {
  v: 'a view',
  m: 'a materialized view',
  f: 'a foreign table',
  S: 'a sequence',
  i: 'an index',
  I: 'an index',
  c: 'a type',
  t: 'a part of another table',
}

const nameOf = ({ mapping }: Mapped): string => tableName(mapping)
const nameIf = <Table extends Mapped>(isInvalid: (table: Table) => boolean) => {
  return (table: Table): string | undefined => (isInvalid(table) ? nameOf(table) : undefined)
}
/** Names of invalid columns of a mapping, such as `public.orders.total`. */
const columnsIf = (findInvalidColumns: (table: MappedTable) => string[]) => {
  return (table: MappedTable): string | undefined => {
    const invalid = findInvalidColumns(table)
    return invalid.length === 0 ? undefined : listed(invalid.map((column) => `${nameOf(table)}.${plainName(column)}`))
  }
}
const statementNames = (tables: Mapped[]): string => listed(tables.map(({ mapping }) => quotedTable(mapping)))

const missing = ({ allColumns }: MappedTable, names: string[]): string[] => {
  const present = new Set(allColumns.map(({ name }) => name))
  return names.filter((name) => !present.has(name))
}

const needsPrimaryKey = (table: MappedTable): boolean => isReplacing(table) && !table.mapping.useCustomSortingKey

/** Ends with the primary key, so that different rows have different sorting keys. */
export function sortingKeyOf({
  mapping,
  found,
  columns,
}: Pick<MappedTable, 'mapping' | 'found' | 'columns'>): string[] {
  if (!mapping.useCustomSortingKey) return found.primaryKey
  const replicated = new Set(columns.map(({ name }) => name))
  return [...new Set([...mapping.sortingKeys, ...found.primaryKey.filter((name) => replicated.has(name))])]
}

/** Whether rows are found by the primary key, which is the default replica identity of a new table or partition. */
export function isFoundByPrimaryKey(table: Pick<MappedTable, 'mapping' | 'found' | 'columns'>): boolean {
  return sortingKeyOf(table).every((name) => table.found.primaryKey.includes(name))
}

const isReplacing = ({ mapping }: Mapped): boolean => mapping.tableEngine === 'ReplacingMergeTree'

/** Whether the sorting key is unique by one of these keys. */
function isSortedBy(table: MappedTable, keys: string[][]): boolean {
  const sortingKey = sortingKeyOf(table)
  return keys.some((key) => key.every((name) => sortingKey.includes(name)))
}

const complaints: Complaint<MappedTable>[] = [
  {
    code: 'not_set_up',
    of: (table) => {
      const { kind, isSystem } = table.found
      if (kind === 'r' || kind === 'p') return isSystem ? `${nameOf(table)} (a table of PostgreSQL's own)` : undefined
      return `${nameOf(table)} (${kinds[kind] ?? 'something else'})`
    },
    reason: (names) => `only tables can be replicated, not ${names}`,
    remedy: () => 'map the tables that the data is in',
    field: 'sourceTable',
  },
  {
    code: 'permission_missing',
    of: nameIf(({ found }) => !found.maySeeSchema),
    reason: (names) => `the user may not look into the schema of ${names}`,
    remedy: (tables) => {
      const schemas = new Set(tables.map(({ mapping }) => escapeIdentifier(mapping.sourceSchemaName)))
      return `have its owner run GRANT USAGE ON SCHEMA ${listed([...schemas])} TO the user of this source`
    },
    field: 'sourceSchemaName',
  },
  {
    code: 'permission_missing',
    of: nameIf(({ columns }) => columns.some(({ mayRead }) => !mayRead)),
    reason: (names) => `the user may not read ${names}`,
    remedy: (tables) => `have its owner run GRANT SELECT ON TABLE ${statementNames(tables)} TO the user of this source`,
    field: 'sourceTable',
  },
  {
    code: 'not_found',
    of: columnsIf((table) => missing(table, table.mapping.excludedColumns)),
    reason: (names) => `excludedColumns has columns that are not there: ${names}`,
    remedy: () => 'check their names, also for capitals',
    field: 'excludedColumns',
  },
  {
    code: 'not_found',
    of: columnsIf((table) => missing(table, table.mapping.sortingKeys)),
    reason: (names) => `sortingKeys has columns that are not there: ${names}`,
    remedy: () => 'check their names, also for capitals',
    field: 'sortingKeys',
  },
  {
    code: 'not_set_up',
    of: nameIf(({ columns }) => columns.length === 0),
    reason: (names) => `no column is left to replicate of ${names}`,
    remedy: () => 'exclude fewer columns; generated ones do not count, because PostgreSQL does not replicate them',
    field: 'excludedColumns',
  },
  {
    code: 'not_set_up',
    of: nameIf((table) => needsPrimaryKey(table) && table.found.primaryKey.length === 0),
    reason: (names) => `a ReplacingMergeTree needs a key, and there is no primary key in ${names}`,
    remedy: () => 'add a primary key to the table, or choose columns with useCustomSortingKey and sortingKeys',
    field: 'useCustomSortingKey',
  },
  {
    code: 'not_set_up',
    of: columnsIf((table) => {
      const replicated = new Set(table.columns.map(({ name }) => name))
      return needsPrimaryKey(table) ? table.found.primaryKey.filter((name) => !replicated.has(name)) : []
    }),
    reason: (names) => `a ReplacingMergeTree needs the primary key, of which this is not replicated: ${names}`,
    remedy: () => 'do not exclude it, or choose columns with useCustomSortingKey and sortingKeys',
    field: 'excludedColumns',
  },
  {
    code: 'not_set_up',
    of: nameIf((table) => {
      const isUnique = isSortedBy(table, table.found.uniqueKeys)
      return isReplacing(table) && !isUnique
    }),
    reason: (names) =>
      `a ReplacingMergeTree keeps one row for each sorting key, and several rows may have the same sortingKeys in ${names}`,
    remedy: () =>
      'add a primary key, or a unique index of columns that are NOT NULL and in sortingKeys, or use the tableEngine MergeTree',
    field: 'sortingKeys',
  },
]

const complaintsWhenLoaded: Complaint<MappedTable>[] = [
  {
    code: 'permission_missing',
    of: nameIf(({ found }) => found.hasRowSecurity),
    reason: (names) => `row-level security hides rows from the user in ${names}`,
    remedy: () => 'have a superuser run ALTER ROLE … BYPASSRLS for the user of this source',
    field: 'sourceTable',
  },
]

/** A load that is followed reads blocks of each partition, which needs more than SELECT on the columns of the partitioned table. */
const loadedByPartition: Complaint<MappedTable> = {
  code: 'permission_missing',
  of: nameIf(({ found }) => !found.mayReadParts),
  reason: (names) => `the user needs SELECT on the whole table, and on each partition, of ${names}`,
  remedy: (tables) =>
    `have its owner run GRANT SELECT ON TABLE ${statementNames(tables)} TO the user of this source${alsoPartitions(tables)}`,
  field: 'sourceTable',
}

const complaintsWhenFollowed: Complaint<MappedTable>[] = [
  {
    code: 'not_set_up',
    of: columnsIf(({ mapping, allColumns }) =>
      mapping.sortingKeys.filter((key) => allColumns.some(({ name, isGenerated }) => isGenerated && name === key)),
    ),
    reason: (names) => `generated columns are not replicated by PostgreSQL, and sortingKeys has ${names}`,
    remedy: () => 'choose other columns',
    field: 'sortingKeys',
  },
  {
    code: 'not_set_up',
    of: nameIf(({ found }) => !found.isLogged),
    reason: (names) => `changes cannot be followed in what is not in the write-ahead log: ${names}`,
    remedy: (tables) =>
      tables.some(({ found }) => found.kind === 'p')
        ? 'run ALTER TABLE … SET LOGGED for each of its partitions that is unlogged'
        : alterEach(tables, 'SET LOGGED'),
    field: 'sourceTable',
  },
  {
    code: 'not_set_up',
    of: nameIf(({ found }) => !found.hasIdentity),
    reason: (names) => `updates and deletes do not identify their row in ${names}`,
    remedy: (tables) =>
      `add a primary key that is not DEFERRABLE, or ${alterEach(tables, 'REPLICA IDENTITY FULL')}${alsoPartitions(tables)}`,
    field: 'sourceTable',
  },
  {
    code: 'not_set_up',
    of: nameIf((table) => isReplacing(table) && !isSortedBy(table, table.found.immediateKeys)),
    reason: (names) =>
      `two rows may temporarily have the same sorting key, because its constraint is DEFERRABLE, and one of them would be lost in ${names}`,
    remedy: () => 'make the constraint NOT DEFERRABLE, or use the tableEngine MergeTree',
    field: 'sortingKeys',
  },
  {
    code: 'not_set_up',
    of: columnsIf((table) =>
      isReplacing(table) && !table.found.hasFullIdentity
        ? sortingKeyOf(table).filter((name) => !table.found.identityKey.includes(name))
        : [],
    ),
    reason: (names) =>
      `updates and deletes find a row by its old sorting key, and the replica identity does not have ${names}`,
    remedy: (tables) =>
      `${alterEach(tables, 'REPLICA IDENTITY FULL')}${alsoPartitions(tables)}, or sort by columns of the replica identity, which is the primary key by default`,
    field: 'sortingKeys',
  },
]

/** Rejects mappings of both a partitioned table and its partition: each change has only one table name. */
function mappedTwice(tables: MappedTable[]): Complaint<MappedTable> {
  const ids = new Set(tables.map(({ found }) => found.id))
  return {
    code: 'not_set_up',
    of: nameIf(({ found }) => found.ancestors.some((id) => ids.has(id))),
    reason: (names) =>
      `changes of a partition come in the name of its partitioned table, which is mapped beside ${names}`,
    remedy: () => 'map the partitioned table, or its partitions, and not both',
    field: 'sourceTable',
  }
}

/** Each partition has its own replica identity. */
function alsoPartitions(tables: MappedTable[]): string {
  return tables.some(({ found }) => found.kind === 'p') ? ', for every partition too' : ''
}

function alterEach([first, ...others]: Mapped[], change: string): string {
  const statement = `run ALTER TABLE ${quotedTable(first!.mapping)} ${change}`
  return others.length === 0 ? statement : `${statement}, and the same for the other tables`
}
