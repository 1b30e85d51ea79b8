// Splits a table into ranges that are loaded with one COPY each. With CDC, ranges are blocks (ctid), which the server reads fastest; a
// row that moves during the load also comes with the change that moved it. Without CDC, ranges are primary key ranges, which stay
// valid when an interrupted load resumes.
import { hash } from 'node:crypto'
import type { TableFile } from './postgres-files.ts'
import type { PostgresLink } from './postgres-link.ts'
import { escapeIdentifier, escapeLiteral, quotedTable } from './postgres-names.ts'
import type { MappedTable } from './postgres-tables.ts'

export interface LoadPlan {
  ranges: string[]
  rowsEstimated: number | null
}

export interface LoadPlanOptions {
  rowsPerRange: number
  /** With CDC. */
  isFollowed: boolean
  /** Such as 170002. */
  serverVersion: number
}

/** Stored as JSON. */
interface Range {
  /** The table or one of its partitions, quoted. */
  from: string
  where: string
  /** Only without a primary key range: the files for which the ctid range is valid. */
  place?: { file: string; leaves: string }
}

/** Limits of a range, which is held in memory and inserted as one block. */
const mostRangeRows = 500_000
const mostRangeBytes = 32 * 1024 * 1024
/** First version with TID range scans. */
const firstWithTidRanges = 140_000

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
  const mayCutByKey = primaryKey.length > 0 && (!isFollowed || serverVersion < firstWithTidRanges)
  const mayCutByBlock = serverVersion >= firstWithTidRanges
  const rows = Math.min(rowsPerRange, mostRangeRows)
  const ranges = mayCutByKey
    ? await byKey(link, table, rowsFor(leaves, rows))
    : leaves.flatMap((leaf) => {
        const validFor = { file: fileText(leaf), leaves: digestOf(leaves) }
        const cut = mayCutByBlock ? byBlock(leaf, rows) : [{ from: leaf.name, where: 'true' }]
        return cut.map((range) => ({ ...range, place: validFor }))
      })
  return { ranges: ranges.map((range) => JSON.stringify(range)), rowsEstimated }
}

/** Whether ranges of an earlier plan are still valid: the same files, and no partition added or removed. */
export function areStillThere(ranges: string[], files: TableFile[]): boolean {
  const present = new Set(files.map(fileText))
  const leaves = digestOf(files)
  return ranges.every((range) => {
    const { place: validFor } = JSON.parse(range) as Range
    return !validFor || (validFor.leaves === leaves && present.has(validFor.file))
  })
}

function fileText({ tableId, fileNumber }: TableFile): string {
  return `${tableId}/${fileNumber}`
}

function digestOf(leaves: TableFile[]): string {
  const ids = leaves.map(({ tableId }) => tableId).toSorted()
  return hash('sha256', ids.join(','), 'hex').slice(0, 16)
}

/** COPY of the expressions for the rows of a range. */
export function copyText(range: string, expressions: string[]): string {
  const { from, where } = JSON.parse(range) as Range
  return `COPY (SELECT ${expressions.join(', ')} FROM ${from} WHERE ${where}) TO STDOUT`
}

interface Leaf extends TableFile {
  /** With `ONLY`, which leaves out inheriting tables. */
  name: string
  blocks: number
  sizeBytes: number
  /** From the last ANALYZE; negative without one. */
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

/** Undefined before the first ANALYZE. */
function rowsOf({ blocks, countedRows, countedBlocks }: Leaf): number | undefined {
  if (blocks === 0) return 0
  if (countedRows < 0 || countedBlocks === 0) return undefined
  return Math.round((countedRows / countedBlocks) * blocks)
}

/** Estimate before the first ANALYZE: a full block of rows of usual size. */
const usualRowsPerBlock = 100

function byBlock(leaf: Leaf, rowsPerRange: number): Range[] {
  const { name, blocks, sizeBytes } = leaf
  const rowsPerBlock = Math.max(1, (rowsOf(leaf) ?? blocks * usualRowsPerBlock) / Math.max(1, blocks))
  const blocksByRows = Math.floor(rowsPerRange / rowsPerBlock)
  const blocksByBytes = Math.floor(mostRangeBytes / Math.max(1, sizeBytes / Math.max(1, blocks)))
  const step = Math.max(1, Math.min(blocksByRows, blocksByBytes))
  const ranges: Range[] = []
  for (let begin = 0; begin === 0 || begin < blocks; begin += step) {
    // The last range has no end, because the table may grow before it is read.
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
  const key = found.primaryKey.map((name) => escapeIdentifier(name)).join(', ')
  const from = `${found.kind === 'p' ? '' : 'ONLY '}${quotedTable(mapping)}`
  const bounds = await link.query(
    `SELECT ${key} FROM (SELECT ${key}, row_number() OVER (ORDER BY ${key}) AS penstock_number FROM ${from}) numbered
     WHERE penstock_number % ${rowsPerRange} = 0 ORDER BY ${key}`,
  )
  const literals = bounds.map((values) => values.map((value) => escapeLiteral(value ?? '')).join(', '))
  const ends = [...literals.map((literal) => `(${key}) <= (${literal})`), undefined]
  return ends.map((end, index) => {
    const begin = index === 0 ? undefined : `(${key}) > (${literals[index - 1]})`
    return { from, where: [begin, end].filter((part) => part !== undefined).join(' AND ') || 'true' }
  })
}
