// Comparison of a replication with its source.
import type { MemoryRow } from './memory-replicas.ts'
import type { ReplicationWorld } from './replication-world.ts'

/** The rows of the source as the engine would show them. */
const inSource = async (world: ReplicationWorld, table: string, columns = '*'): Promise<MemoryRow[]> => {
  const rows = await world.query(`SELECT to_json(r) AS row FROM (SELECT ${columns} FROM ${table} ORDER BY 1) r`)
  return rows.map(({ row }) =>
    Object.fromEntries(
      Object.entries(row as Record<string, unknown>).map(([name, value]) => [
        name,
        value === null ? null : String(value),
      ]),
    ),
  )
}

const isSame = async (world: ReplicationWorld, table: string, target = table): Promise<boolean> =>
  world.replicas.tables.has(target) &&
  JSON.stringify(world.replicas.shown(target)) === JSON.stringify(await inSource(world, table))
export const follows = (world: ReplicationWorld, table: string): Promise<void> =>
  world.until(`${table} is the same`, () => isSame(world, table))
