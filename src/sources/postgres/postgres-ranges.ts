// How a table is cut into ranges that are loaded one by one, each with one COPY. What follows changes cuts by where rows lie, which
// the server reads fastest: a row that moves meanwhile comes again with the change that moved it. A load that nothing follows cuts
// by the primary key, which stays what it is when the load is interrupted and goes on with what the table is then.
import { hash } from 'node:crypto'
import pg from 'pg'
import type { TableFile } from './postgres-files.ts'
import type { PostgresLink } from './postgres-link.ts'
import type { MappedTable } from './postgres-tables.ts'
import { quotedTable } from './postgres-words.ts'

export interface LoadPlan {
  ranges: string[]
  rowsEstimated: number | null
}

export interface LoadPlanOptions {
  rowsPerRange: number
  /** Whether changes are followed too. */
  isFollowed: boolean
  /** Such as 170002. */
  serverVersion: number
}

/** As it is kept: which table, and which of its rows. */
interface Range {
  /** Of a partitioned table, one of its partitions; quoted. */
  from: string
  where: string
  /** Of one that is not cut by the key: it means these rows only as long as they lie there. */
  place?: { file: string; leaves: string }
}

/** In memory, and in one block of the engine. */
const mostRangeRows = 500_000
const mostRangeBytes = 32 * 1024 * 1024
/** Reading by place is quick since then. */
const firstWithPlaces = 140_000

export async function planLoad(
  link: PostgresLink,
  table: MappedTable,
  { rowsPerRange, isFollowed, serverVersion }: LoadPlanOptions,
): Promise<LoadPlan> {
  const leaves = await listLeaves(link, table)
  const estimates = leaves.map(rowsOf)
  const rowsEstimated = estimates.every((rows) => rows !== undefined)
    ? estimates.reduce<number>((sum, rows) => sum + (rows ?? 0), 0)
    : null
  const { primaryKey } = table.found
  const mayCutByKey = primaryKey.length > 0 && (!isFollowed || serverVersion < firstWithPlaces)
  const mayCutByPlace = serverVersion >= firstWithPlaces
  const rows = Math.min(rowsPerRange, mostRangeRows)
  const ranges = mayCutByKey
    ? await byKey(link, table, rowsFor(leaves, rows))
    : leaves.flatMap((leaf) => {
        const place = { file: fileText(leaf), leaves: digestOf(leaves) }
        const cut = mayCutByPlace ? byPlace(leaf, rows) : [{ from: leaf.name, where: 'true' }]
        return cut.map((range) => ({ ...range, place }))
      })
  return { ranges: ranges.map((range) => JSON.stringify(range)), rowsEstimated }
}

/** Whether ranges of an earlier plan still are the rows that they were: no file is another one, and no partition gone or new. */
export function areStillThere(ranges: string[], files: TableFile[]): boolean {
  const present = new Set(files.map(fileText))
  const leaves = digestOf(files)
  return ranges.every((range) => {
    const { place } = JSON.parse(range) as Range
    return !place || (place.leaves === leaves && present.has(place.file))
  })
}

function fileText({ tableId, fileNumber }: TableFile): string {
  return `${tableId}/${fileNumber}`
}

function digestOf(leaves: TableFile[]): string {
  const ids = leaves.map(({ tableId }) => tableId).toSorted()
  return hash('sha256', ids.join(','), 'hex').slice(0, 16)
}

/** COPY of the rows of a range, with what the expressions make of them. */
export function copyText(range: string, expressions: string[]): string {
  const { from, where } = JSON.parse(range) as Range
  return `COPY (SELECT ${expressions.join(', ')} FROM ${from} WHERE ${where}) TO STDOUT`
}

interface Leaf extends TableFile {
  /** With `ONLY`: what inherits from a table is another table. */
  name: string
  blocks: number
  sizeBytes: number
  /** As the last analysis counted them; negative when there was none. */
  countedRows: number
  countedBlocks: number
}

async function listLeaves(link: PostgresLink, { found: { id } }: MappedTable): Promise<Leaf[]> {
  const rows = await link.query(
    `SELECT
       format('ONLY %I.%I', schema.nspname, leaf.relname),
       leaf.oid,
       pg_catalog.pg_relation_filenode(leaf.oid),
       pg_catalog.pg_relation_size(leaf.oid) / current_setting('block_size')::bigint,
       pg_catalog.pg_table_size(leaf.oid),
       leaf.reltuples::bigint,
       leaf.relpages
     FROM pg_catalog.pg_class leaf JOIN pg_catalog.pg_namespace schema ON schema.oid = leaf.relnamespace
     WHERE leaf.oid = ${Number(id)} AND leaf.relkind <> 'p' OR leaf.oid IN (
       SELECT relid FROM pg_catalog.pg_partition_tree(${Number(id)}) WHERE isleaf AND relid <> ${Number(id)})
     ORDER BY 1`,
  )
  return rows.map(([name, tableId, fileNumber = null, ...numbers]) => {
    const [blocks = 0, sizeBytes = 0, countedRows = -1, countedBlocks = 0] = numbers.map(Number)
    return { name: name ?? '', tableId: tableId ?? '', fileNumber, blocks, sizeBytes, countedRows, countedBlocks }
  })
}

/** Undefined when nobody has counted. */
function rowsOf({ blocks, countedRows, countedBlocks }: Leaf): number | undefined {
  if (blocks === 0) return 0
  if (countedRows < 0 || countedBlocks === 0) return undefined
  return Math.round((countedRows / countedBlocks) * blocks)
}

/** Of a row in a block when nobody has counted: as many as there can be of usual ones. */
const usualRowsPerBlock = 100

function byPlace(leaf: Leaf, rowsPerRange: number): Range[] {
  const { name, blocks, sizeBytes } = leaf
  const rowsPerBlock = Math.max(1, (rowsOf(leaf) ?? blocks * usualRowsPerBlock) / Math.max(1, blocks))
  const blocksByRows = Math.floor(rowsPerRange / rowsPerBlock)
  const blocksByBytes = Math.floor(mostRangeBytes / Math.max(1, sizeBytes / Math.max(1, blocks)))
  const step = Math.max(1, Math.min(blocksByRows, blocksByBytes))
  const ranges: Range[] = []
  for (let begin = 0; begin === 0 || begin < blocks; begin += step) {
    // The last one has no end: the table may grow before it is read.
    const end = begin + step < blocks ? ` AND ctid < '(${begin + step},0)'` : ''
    ranges.push({ from: name, where: `ctid >= '(${begin},0)'${end}` })
  }
  return ranges
}

function rowsFor(leaves: Leaf[], rowsPerRange: number): number {
  const rows = leaves.reduce((sum, leaf) => sum + (rowsOf(leaf) ?? leaf.blocks * usualRowsPerBlock), 0)
  const sizeBytes = leaves.reduce((sum, leaf) => sum + leaf.sizeBytes, 0)
  const rowBytes = sizeBytes / Math.max(1, rows)
  return Math.max(1_000, Math.min(rowsPerRange, Math.floor(mostRangeBytes / Math.max(1, rowBytes))))
}

async function byKey(link: PostgresLink, { mapping, found }: MappedTable, rowsPerRange: number): Promise<Range[]> {
  const key = found.primaryKey.map((name) => pg.escapeIdentifier(name)).join(', ')
  const from = `${found.kind === 'p' ? '' : 'ONLY '}${quotedTable(mapping)}`
  const bounds = await link.query(
    `SELECT ${key} FROM (SELECT ${key}, row_number() OVER (ORDER BY ${key}) AS penstock_number FROM ${from}) numbered
     WHERE penstock_number % ${rowsPerRange} = 0 ORDER BY ${key}`,
  )
  const literals = bounds.map((values) => values.map((value) => pg.escapeLiteral(value ?? '')).join(', '))
  const ends = [...literals.map((literal) => `(${key}) <= (${literal})`), undefined]
  return ends.map((end, index) => {
    const begin = index === 0 ? undefined : `(${key}) > (${literals[index - 1]})`
    return { from, where: [begin, end].filter((part) => part !== undefined).join(' AND ') || 'true' }
  })
}
