// In which mapped tables copy and source differ, and whether the pipe says so.
import type { ReplicationWorld } from '../runner-world/replication-world.ts'

export interface Difference {
  table: string
  what: string
}

/** Columns that are gone at the source stay in the copy. A column that came without values is added with the first change. */
export async function listDifferences(world: ReplicationWorld): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const { sourceTable, targetTable, tableEngine } of world.source.tableMappings) {
    const what = await findDifference(world, { sourceTable, targetTable, isLog: tableEngine === 'MergeTree' })
    if (what !== undefined) differences.push({ table: sourceTable, what })
  }
  return differences
}

/** A log has a row for each that was there at any time: of those that are there, the last one is as they are. */
async function findDifference(
  world: ReplicationWorld,
  { sourceTable, targetTable, isLog }: { sourceTable: string; targetTable: string; isLog: boolean },
): Promise<string | undefined> {
  if (!world.replicas.tables.has(targetTable)) return `${targetTable} is missing`
  const rows = await world
    .query(`SELECT to_jsonb(row) AS row FROM (SELECT * FROM ${sourceTable} ORDER BY id) row`)
    .catch(() => undefined)
  if (!rows) return `${sourceTable} is missing`
  const expected = rows.map(({ row }) => row as Record<string, unknown>)
  const shown = world.replicas.shown(targetTable)
  const found = new Map(shown.map((row) => [row.id, row]))
  if (!isLog && shown.length !== expected.length) {
    return `${targetTable} has ${shown.length} rows instead of ${expected.length}`
  }
  for (const row of expected) {
    const copy = found.get(String(row.id))
    if (!copy) return `${targetTable} lacks ${row.id}`
    for (const [name, value] of Object.entries(row)) {
      if (textOf(value) !== textOf(copy[name])) {
        return `${targetTable} ${row.id}: ${name} is ${copy[name]} instead of ${textOf(value)}`
      }
    }
  }
  return undefined
}

/** Decimals are compared as numbers: `1.50` and `1.5` are one. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  const text = String(value)
  return /^-?\d+\.\d+$/.test(text) ? String(Number(text)) : text
}

/** Of what is about all tables. */
const aboutAll: readonly RegExp[] = [
  /^the replication slot \w+ (is gone|has lost|does not have)/,
  /^the database "\w+" has no publication/,
  /^the publication \w+ leaves out (?!columns)/,
]

/** Every table that differs is named, or the reason is about all of them. */
export function isTold(differences: Difference[], reason: string, losses: readonly { reason: string }[]): boolean {
  const told = [reason, ...losses.map((loss) => loss.reason)]
  return differences.every(
    ({ table }) =>
      aboutAll.some((known) => known.test(reason)) ||
      told.some((text) => new RegExp(`\\b(public\\.|IN )${table}\\b`).test(text)),
  )
}
