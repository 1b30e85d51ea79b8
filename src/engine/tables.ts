// Prepares the table of a pipe: a managed table is created and extended, never reduced; any other must already match. Concurrent workers
// must not fail because of each other.
import type { Capabilities } from './capabilities.ts'
import { addressText } from './check.ts'
import { findUnknownFamily, loadTypeFamilies } from './check-destination.ts'
import type { EngineClient } from './client.ts'
import { type Delivery, type EngineColumn, EngineError, type EngineTable } from './engine.ts'
import { quoteName } from './names.ts'
import { fullName, parseRows, queryTables } from './side-tables.ts'
import {
  areTokensFirst,
  deliveryOf,
  isMergeTree,
  isReplicated,
  keepsTokens,
  markerColumn,
  type TableTraits,
} from './table-delivery.ts'
import {
  addColumnStatement,
  createTableStatement,
  definitionSettings,
  describeTableStatement,
  keepTokensStatement,
  listColumnsStatement,
  modifyColumnStatement,
  setAsideStatement,
} from './table-statements.ts'
import { holdsAll, isSameType, nestedFields } from './types.ts'

export interface ReadyTable {
  database: string
  table: string
  /** Columns that an insert can fill, with their types in ClickHouse. */
  columns: EngineColumn[]
  /** Partition key as ClickHouse writes it; empty when there is no partition key. */
  partitionKey: string
  keepsTokens: boolean
  /** Whether the table may have a token without its rows. */
  areTokensFirst: boolean
  hasMarker: boolean
  delivery: Delivery
  /** The table was created by this call. */
  isNew: boolean
}

/** Parameters shared by the steps of `makeTableReady`. */
interface Making {
  client: EngineClient
  capabilities: Capabilities
  table: EngineTable
  signal: AbortSignal | undefined
}

/** Rejects with an EngineError. */
export async function makeTableReady(
  client: EngineClient,
  capabilities: Capabilities,
  table: EngineTable,
  signal?: AbortSignal,
): Promise<ReadyTable> {
  const making: Making = { client, capabilities, table, signal }
  let found = await findTable(making)
  const isNew = !found
  if (table.definition) {
    if (!found) found = await createTable(making, table.definition)
    found = await extendTable(making, found)
    checkTypes(making, found)
  } else if (!found) throw missingTable(making)
  const missing = missingColumns(table.columns, found.columns)
  if (missing.length > 0) throw lackingColumns(making, missing)
  const { database, partitionKey, columns, hasMarker } = found
  return {
    database,
    table: table.table,
    columns,
    partitionKey,
    keepsTokens: keepsTokens(found),
    areTokensFirst: areTokensFirst(found),
    hasMarker,
    delivery: deliveryOf(found),
    isNew,
  }
}

interface FoundTable extends TableTraits {
  partitionKey: string
  columns: EngineColumn[]
}

interface TableRow {
  engine: string
  engine_full: string
  partition_key: string
}

interface ColumnRow extends EngineColumn {
  default_kind: string
}

async function findTable({ client, capabilities, table, signal }: Making): Promise<FoundTable | undefined> {
  const answers = await Promise.all([
    queryTables(client, describeTableStatement(table), signal),
    queryTables(client, listColumnsStatement(table), signal),
  ])
  const [[found], columns] = [parseRows<TableRow>(answers[0]), parseRows<ColumnRow>(answers[1])]
  if (!found) return undefined
  const { hasTokens, defaultTokenWindow } = capabilities
  // ClickHouse computes the values of these columns.
  const fillable = columns.filter(({ default_kind }) => default_kind !== 'MATERIALIZED' && default_kind !== 'ALIAS')
  return {
    database: table.database,
    table: table.table,
    engine: found.engine,
    engineFull: found.engine_full,
    partitionKey: found.partition_key,
    columns: fillable.map(({ name, type }) => ({ name, type })),
    hasMarker: fillable.some(({ name, type }) => name === markerColumn && type === 'String'),
    hasTokens,
    defaultTokenWindow,
  }
}

async function loadTable(making: Making): Promise<FoundTable> {
  const found = await findTable(making)
  if (!found) throw missingTable(making)
  return found
}

async function createTable(making: Making, definition: NonNullable<EngineTable['definition']>): Promise<FoundTable> {
  const { capabilities, table } = making
  const isKept = definition.engine.type !== 'Null'
  const hasTokenWindow = isKept && canKeepTokens(capabilities)
  const hasMarker = isKept && !hasTokenWindow && !table.columns.some(({ name }) => name === markerColumn)
  const text = createTableStatement(table, definition, { hasTokenWindow, hasMarker })
  return await alter(making, text, async () => await findTable(making))
}

const unknownType = 50
const unknownDatabase = 81

/** Replaces an error about a missing database or type by one that names it. */
async function explain(making: Making, error: EngineError): Promise<EngineError> {
  if (error.code === unknownDatabase) return missingDatabase(making)
  return (error.code === unknownType ? await findMissingType(making) : undefined) ?? error
}

async function findMissingType({ client, table, signal }: Making): Promise<EngineError | undefined> {
  const families = await loadTypeFamilies(client, signal)
  if (!families) return undefined
  for (const { name, type } of table.columns) {
    const family = findUnknownFamily(type, families)
    if (family === undefined) continue
    return new EngineError(
      'user',
      `the engine at ${addressText(client.access)} has no type ${family}, which the column ${JSON.stringify(name)} of the table ` +
        `${fullName(table)} needs; create the pipe again with another type, or use a newer engine`,
    )
  }
  return undefined
}

function missingDatabase({ client, table: { database } }: Making): EngineError {
  const name = quoteName(database)
  return new EngineError(
    'user',
    `the engine at ${addressText(client.access)} has no database ${name}; run CREATE DATABASE ${name} there, or create the pipe ` +
      'again with another database',
  )
}

/** Runs a statement; a failure is ignored when another worker has made the same change. */
async function alter<Result>(making: Making, text: string, find: () => Promise<Result | undefined>): Promise<Result> {
  const { client, capabilities, signal } = making
  let failure: EngineError | undefined
  try {
    await client.query(text, { settings: definitionSettings(capabilities), signal })
  } catch (error) {
    if (!(error instanceof EngineError) || signal?.aborted) throw error
    failure = error
  }
  const found = await find()
  if (found !== undefined) return found
  throw failure
    ? await explain(making, failure)
    : new EngineError('passing', 'the engine does not show yet what was changed in the table')
}

function canKeepTokens({ hasTokens, defaultTokenWindow }: Capabilities): boolean {
  return hasTokens && defaultTokenWindow !== undefined
}

/** Adds missing columns, and a deduplication window or a marker column. */
async function extendTable(making: Making, found: FoundTable): Promise<FoundTable> {
  const { capabilities, table } = making
  const isKept = isMergeTree(found.engine)
  const needsMarker = isKept && !canKeepTokens(capabilities) && !found.hasMarker
  const marker = needsMarker ? missingColumns([{ name: markerColumn, type: 'String' }], found.columns) : []
  let extended = found
  for (const column of [...missingColumns(table.columns, found.columns), ...marker]) {
    const text = addColumnStatement(table, column, { mayBeThere: capabilities.canAddIfMissing })
    extended = await alter(making, text, async () => {
      const now = await loadTable(making)
      return missingColumns([column], now.columns).length === 0 ? now : undefined
    })
  }
  if (!isKept || !canKeepTokens(capabilities) || isReplicated(found.engine) || keepsTokens(extended)) return extended
  return await alter(making, keepTokensStatement(table), async () => {
    const now = await loadTable(making)
    return keepsTokens(now) ? now : undefined
  })
}

function missingColumns(desired: EngineColumn[], there: EngineColumn[]): EngineColumn[] {
  const names = new Set(there.map(({ name }) => name))
  return desired.filter((column) => !names.has(column.name) && !isFlattened(column, names))
}

/** ClickHouse flattens a Nested column into one column per field. */
function isFlattened({ name, type }: EngineColumn, names: ReadonlySet<string>): boolean {
  const fields = nestedFields(type)
  return fields?.every((field) => names.has(`${name}.${field.name}`)) ?? false
}

function checkTypes({ capabilities, table }: Making, { columns }: FoundTable): void {
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  for (const column of table.columns) {
    const type = types.get(column.name)
    if (type === undefined || isSameType(type, column.type)) continue
    // ClickHouse converts values without an error even if the new type cannot hold them.
    const statement = holdsAll(column.type, type)
      ? modifyColumnStatement(table, column)
      : setAsideStatement(table, column.name, capabilities)
    throw new EngineError(
      'user',
      `the column ${JSON.stringify(column.name)} of the table ${fullName(table)} has the type ${type} in the engine and ` +
        `${column.type} in the pipe; change the pipe, or run ${statement}`,
    )
  }
}

function missingTable({ table }: Making): EngineError {
  const name = fullName(table)
  return new EngineError(
    'user',
    `the engine has no table ${name}, or does not show it to its user; create it, or grant the rights`,
  )
}

const maxListed = 5

function lackingColumns({ table }: Making, missing: EngineColumn[]): EngineError {
  const statement = addColumnStatement(table, missing[0]!, { mayBeThere: false })
  const listed = missing.slice(0, maxListed).map(({ name }) => JSON.stringify(name))
  const more = missing.length > maxListed ? ` and ${missing.length - maxListed} more` : ''
  const sentence = `the table ${fullName(table)} has no column ${listed.join(', ')}${more} that a pipe could fill`
  return new EngineError('user', `${sentence}; remove it from the pipe, or run ${statement}`)
}
