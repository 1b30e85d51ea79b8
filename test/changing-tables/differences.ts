// Compares the mapped tables with the source, and checks whether the pipe reports the differences.
import type { ReplicationWorld } from '../runner-world/replication-world.ts'

export interface Difference {
  table: string
  what: string
  /** A log table has a row twice, which no report excuses. */
  isDoubled?: boolean
}

/** Columns removed from the source stay in the copy. A column added without values is added with the first change. */
export async function listDifferences(world: ReplicationWorld): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const { sourceTable, targetTable, tableEngine } of world.source.tableMappings) {
    const isLog = tableEngine === 'MergeTree'
    const doubled = isLog ? findDoubled(world, targetTable) : undefined
    const what = doubled ?? (await findDifference(world, { sourceTable, targetTable, isLog }))
    if (what !== undefined) differences.push({ table: sourceTable, what, isDoubled: doubled !== undefined })
  }
  return differences
}

/** An append-only table has a row for every version: the last version of each existing row must be current. */
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

/** No transaction here has so many changes that they share a version. The source numbers each row that a change leaves in `change`. */
function findDoubled(world: ReplicationWorld, targetTable: string): string | undefined {
  const seen = new Set<string>()
  for (const row of world.replicas.tables.get(targetTable)?.rows ?? []) {
    const { id, change, _penstock_version: version, _penstock_deleted: deleted } = row
    const facts = deleted === '0' ? [`version ${version}`, `change ${change}`] : [`version ${version}`]
    for (const fact of facts.map((text) => `${id} of ${text}`)) {
      if (seen.has(fact)) return `${targetTable} has two rows ${fact}`
      seen.add(fact)
    }
  }
  return undefined
}

/** Decimals are compared as numbers: `1.50` equals `1.5`. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  const text = String(value)
  return /^-?\d+\.\d+$/.test(text) ? String(Number(text)) : text
}

/** Reasons that concern all tables. */
const aboutAll: readonly RegExp[] = [
  /^the replication slot \w+ (is gone|has lost|does not have)/,
  /^the database "\w+" has no publication/,
  /^the publication \w+ leaves out (?!columns)/,
]

/** Whether every differing table is named, or the reason concerns all tables. */
export function isReported(differences: Difference[], reason: string, losses: readonly { reason: string }[]): boolean {
  const reported = [reason, ...losses.map((loss) => loss.reason)]
  return differences.every(
    ({ table, isDoubled }) =>
      !isDoubled &&
      (aboutAll.some((known) => known.test(reason)) ||
        reported.some((text) => new RegExp(`\\b(public\\.|IN )${table}\\b`).test(text))),
  )
}
