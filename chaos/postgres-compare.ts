// Compares the tables of the source with those of the engine: every row with every value, and no additional rows.
import type pg from 'pg'
import type { EngineServer } from '../test/real/servers/engine.ts'
import type { Difference } from './expected-rows.ts'
import type { SourceTable } from './postgres-tables.ts'

export interface CompareParts {
  client: pg.Client
  engine: EngineServer
  /** Database in the engine. */
  database: string
  hasNulls: boolean
}

type Rows = Map<string, string>

/** A row older than that of the source counts as lost, a duplicate row as extra. */
export async function compareTable(parts: CompareParts, table: SourceTable, target = table.name): Promise<Difference> {
  const expected = await readSource(parts, table)
  const { rows: found, doubled } =
    table.engine === 'MergeTree' ? await readLog(parts, table, target) : await readLatest(parts, table, target)
  const difference: Difference = { lost: 0, extra: doubled.length, examples: [] }
  const example = (what: string): void => {
    if (difference.examples.length < 20) difference.examples.push(`${target}: ${what}`)
  }
  for (const row of doubled) example(`twice: ${row}`)
  for (const [key, row] of expected) {
    const there = found.get(key)
    if (there === row) continue
    difference.lost++
    example(there === undefined ? `lost: ${key} ${row}` : `stale: ${key} is ${there} instead of ${row}`)
  }
  for (const [key, row] of found) {
    if (expected.has(key)) continue
    difference.extra++
    example(`extra: ${key} ${row}`)
  }
  return difference
}

function split({ keyColumns }: SourceTable, row: string[]): [key: string, rest: string] {
  return [row.slice(0, keyColumns).join(' '), row.slice(keyColumns).join(' ')]
}

async function readSource({ client, hasNulls }: CompareParts, table: SourceTable): Promise<Rows> {
  const columns = table.columns.map(({ source }) => source(hasNulls))
  const { rows } = await client.query({ text: `SELECT ${columns.join(', ')} FROM ${table.name}`, rowMode: 'array' })
  return new Map((rows as string[][]).map((row) => split(table, row)))
}

interface Found {
  rows: Rows
  doubled: string[]
}

async function readLatest(parts: CompareParts, table: SourceTable, target: string): Promise<Found> {
  const columns = table.columns.map(({ engine }) => engine)
  const from = `${parts.database}.${target} FINAL WHERE _penstock_deleted = 0`
  const rows: Rows = new Map()
  const doubled: string[] = []
  for (const row of await select(parts, `SELECT ${columns.join(', ')} FROM ${from}`)) {
    const [key, rest] = split(table, row)
    if (rows.has(key)) doubled.push(key)
    rows.set(key, rest)
  }
  return { rows, doubled }
}

async function readLog(parts: CompareParts, table: SourceTable, target: string): Promise<Found> {
  const columns = [
    'toString(_penstock_version)',
    'toString(_penstock_deleted)',
    ...table.columns.map(({ engine }) => engine),
  ]
  const latest = new Map<string, { version: bigint; rest: string | undefined }>()
  const seen = new Set<string>()
  const doubled: string[] = []
  for (const [version = '', deleted, ...row] of await select(
    parts,
    `SELECT ${columns.join(', ')} FROM ${parts.database}.${target}`,
  )) {
    const [key, rest] = split(table, row)
    const change = `${key} at ${version}`
    if (seen.has(change)) doubled.push(change)
    seen.add(change)
    const known = latest.get(key)
    if (known && known.version > BigInt(version)) continue
    latest.set(key, { version: BigInt(version), rest: deleted === '1' ? undefined : rest })
  }
  const rows: Rows = new Map()
  for (const [key, { rest }] of latest) if (rest !== undefined) rows.set(key, rest)
  return { rows, doubled }
}

async function select({ engine }: CompareParts, sql: string): Promise<string[][]> {
  const { data } = JSON.parse(await engine.query(`${sql} FORMAT JSONCompact`)) as { data: string[][] }
  return data
}
