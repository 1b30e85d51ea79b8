// The user in a round of R21 for tables: does exactly what the pipe requests.
import type { ReplicationWorld } from '../runner-world/replication-world.ts'
import type { DrawnSource } from './draw-change.ts'

type Note = (text: string) => void

const allOperations = `publish = 'insert, update, delete, truncate'`

/** Returns whether there was anything to do. */
export async function help(world: ReplicationWorld, source: DrawnSource, note: Note): Promise<boolean> {
  const { state, reason = '' } = world.statuses.at(-1) ?? {}
  if (state !== 'degraded' && !reason) return false
  if (renameColumn(world, reason, note)) return true
  const sql = await remedyFor(world, source, reason)
  if (sql === undefined) return false
  const refusal = await world.query(`SET lock_timeout = '500ms'; ${sql}`).then(
    () => '',
    (error: Error) => ` refused: ${error.message}`,
  )
  note(`the user: ${sql}${refusal}`)
  return refusal === ''
}

async function remedyFor(
  world: ReplicationWorld,
  { publication, isPublicationNamed, partitioned }: DrawnSource,
  reason: string,
): Promise<string | undefined> {
  const named = [...new Set([...reason.matchAll(/public\.(\w+)/g)].map(([, name]) => name!))]
  const mapped = world.source.tableMappings.map(({ sourceTable }) => sourceTable)
  const tables = named.filter((name) => mapped.includes(name))
  if (/not in the write-ahead log/.test(reason)) {
    const unlogged = await namesOf(world, `relpersistence = 'u' AND relkind = 'r'`, partitioned)
    return statements(unlogged.map((name) => `ALTER TABLE ${name} SET LOGGED`))
  }
  if (/the replica identity does not have|do not identify their row/.test(reason)) {
    const lacking = await Promise.all(
      tables.map(async (name) => [name, ...(await namesOf(world, `relkind IN ('r', 'p')`, name))]),
    )
    return statements([...new Set(lacking.flat())].map((name) => `ALTER TABLE ${name} REPLICA IDENTITY FULL`))
  }
  if (!isPublicationNamed) return undefined
  if (/has no publication/.test(reason)) return createPublication(publication, mapped)
  if (/the publication \w+ leaves out/.test(reason)) return `ALTER PUBLICATION ${publication} SET (${allOperations})`
  if (/does not publish|filters the rows|leaves out columns/.test(reason)) {
    return `ALTER PUBLICATION ${publication} SET TABLE ${mapped.join(', ')}`
  }
  return undefined
}

export function createPublication(name: string, tables: readonly string[]): string {
  return `CREATE PUBLICATION ${name} FOR TABLE ${tables.join(', ')} WITH (publish_via_partition_root = true)`
}

const statements = (all: string[]): string | undefined => (all.length > 0 ? all.join('; ') : undefined)

/** Partitions at any depth. */
async function namesOf(world: ReplicationWorld, condition: string, table: string): Promise<string[]> {
  const rows = await world.query(
    `SELECT oid::regclass::text AS name FROM pg_class
     WHERE oid IN (SELECT relid FROM pg_partition_tree(to_regclass('${table}'))) AND ${condition} AND relname <> '${table}'`,
  )
  return rows.map(({ name }) => String(name))
}

function renameColumn(world: ReplicationWorld, reason: string, note: Note): boolean {
  const [, before, now, table] = /run RENAME (\w+) TO (\w+) IN (\w+)$/.exec(reason) ?? []
  const replica = world.replicas.tables.get(table ?? '')
  const column = replica?.columns.find(({ name }) => name === before)
  if (!replica || !column || now === undefined || before === undefined) return false
  note(`the user renames ${before} to ${now} in ${table}`)
  column.name = now
  for (const row of replica.rows) {
    row[now] = row[before] ?? null
    delete row[before]
  }
  return true
}
