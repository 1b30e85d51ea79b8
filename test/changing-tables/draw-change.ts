// Random changes of a source: rows, tables, partitions, and the publication and replication slot of the pipe. A statement may
// fail because of earlier changes or a lock; then it has no effect.
import type { Random } from '../../chaos/random.ts'

export interface DrawnSource {
  random: Random
  /** Publication of the pipe. */
  publication: string
  slot: string
  /** Whether the publication belongs to the user: then it may be altered, and only the user repairs it. */
  isPublicationNamed: boolean
  isSlotNamed: boolean
  /** Tables that may be dropped and replaced. */
  plain: readonly string[]
  /** Mapped tables without partitions. Some have a column `k` in their sorting key. */
  tables: readonly string[]
  /** The append-only table. Its columns do not change. */
  log: string
  /** The mapped partitioned table. */
  partitioned: string
  /** Current columns of a table without its key. */
  listColumns(table: string): Promise<string[]>
  /** Current partitions at any depth. */
  listPartitions(): Promise<{ name: string; parent: string }[]>
}

interface Draw {
  /** Relative frequency. */
  weight: number
  sql(source: DrawnSource): string | Promise<string>
}

const mostId = 60
let names = 0
const newName = (): string => `n${++names}`

/** A mapped table, for changes of rows and publications. */
const anyMapped = ({ random, tables, partitioned, log }: DrawnSource): string =>
  random.pick([...tables, partitioned, log])
const anyTable = ({ random, tables, partitioned }: DrawnSource): string => random.pick([...tables, partitioned])
const plainTable = ({ random, plain }: DrawnSource): string => random.pick(plain)
const idOf = ({ random }: DrawnSource, table: string): number =>
  random.between(1, mostId) + (table === 'p' ? 100 * random.between(0, 2) : 0)

async function columnOf(source: DrawnSource, table: string): Promise<string> {
  const columns = await source.listColumns(table)
  return columns.length > 0 ? source.random.pick(columns) : 'missing'
}

async function changeRow(source: DrawnSource, table = anyMapped(source)): Promise<string> {
  const { random } = source
  const id = idOf(source, table)
  const isSorted = (table === 'p' || table === 's') && random.happens(0.5)
  const column = isSorted ? 'k' : await columnOf(source, table)
  const value = random.pick(['NULL', '1', '7', '42', '3000'])
  return random.pick([
    `INSERT INTO ${table} (id, ${column}) VALUES (${id}, ${value})`,
    `INSERT INTO ${table} (id) SELECT ${id} + i FROM generate_series(1, 3) i ON CONFLICT DO NOTHING`,
    `UPDATE ${table} SET ${column} = ${value} WHERE id <= ${id} AND id > ${id - 10}`,
    `UPDATE ${table} SET id = ${idOf(source, table)} WHERE id = ${id}`,
    `DELETE FROM ${table} WHERE id <= ${id} AND id > ${id - 4}`,
  ])
}

async function partitionOf(source: DrawnSource): Promise<{ name: string; parent: string }> {
  const partitions = await source.listPartitions()
  return partitions.length > 0 ? source.random.pick(partitions) : { name: 'missing', parent: 'missing' }
}

const newPartition = ({ random, partitioned }: DrawnSource, isFilled: boolean): string => {
  const [name, from] = [newName(), 100 * random.between(0, 5)]
  const fill = isFilled ? `INSERT INTO ${name} (id) VALUES (${from + 1}), (${from + 2});` : ''
  return `CREATE TABLE ${name} (LIKE ${partitioned} INCLUDING ALL); ${fill}
    ALTER TABLE ${partitioned} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${from + 100})`
}

const types = ['int', 'bigint', 'text', 'numeric(12, 2)', 'varchar(40)']

const draws: Record<string, Draw> = {
  row: { weight: 30, sql: (source) => changeRow(source) },
  'row of the log': { weight: 10, sql: (source) => changeRow(source, source.log) },
  transaction: {
    weight: 5,
    sql: async (source) => {
      const changes = [await changeRow(source), await changeRow(source)].join('; ')
      return `BEGIN; ${changes}; ${source.random.pick(['COMMIT', 'COMMIT', 'ROLLBACK'])}`
    },
  },
  truncate: { weight: 1, sql: (source) => `TRUNCATE ${anyTable(source)}` },
  'add a column': {
    weight: 3,
    sql: (source) => {
      const rest = source.random.pick(['', '', 'DEFAULT 5', 'DEFAULT floor(random() * 100)'])
      return `ALTER TABLE ${anyTable(source)} ADD COLUMN ${newName()} ${source.random.pick(['int', 'bigint'])} ${rest}`
    },
  },
  'drop a column': {
    weight: 2,
    sql: async (source) => {
      const table = anyTable(source)
      return `ALTER TABLE ${table} DROP COLUMN ${await columnOf(source, table)}`
    },
  },
  'change a type': {
    weight: 3,
    sql: async (source) => {
      const [table, type] = [anyTable(source), source.random.pick(types)]
      const column = await columnOf(source, table)
      return `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE ${type} USING ${column}::text::${type}`
    },
  },
  'rewrite values': {
    weight: 1,
    sql: async (source) => {
      const table = anyTable(source)
      const column = await columnOf(source, table)
      return `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE bigint USING length(${column}::text)`
    },
  },
  'rename a column': {
    weight: 1,
    sql: async (source) => {
      const table = anyTable(source)
      return `ALTER TABLE ${table} RENAME COLUMN ${await columnOf(source, table)} TO ${newName()}`
    },
  },
  'recreate a table': {
    weight: 1,
    sql: (source) => {
      const table = plainTable(source)
      return `DROP TABLE ${table}; CREATE TABLE ${table} (id int PRIMARY KEY, v int); INSERT INTO ${table} VALUES (1, 1), (3, 3)`
    },
  },
  'exchange tables': {
    weight: 1,
    sql: ({ plain: [one, other] }) =>
      `ALTER TABLE ${one} RENAME TO exchanged; ALTER TABLE ${other} RENAME TO ${one}; ALTER TABLE exchanged RENAME TO ${other}`,
  },
  'replica identity': {
    weight: 2,
    sql: (source) =>
      `ALTER TABLE ${anyTable(source)} REPLICA IDENTITY ${source.random.pick(['FULL', 'DEFAULT', 'DEFAULT'])}`,
  },
  'replica identity of a partition': {
    weight: 2,
    sql: async (source) =>
      `ALTER TABLE ${(await partitionOf(source)).name} REPLICA IDENTITY ${source.random.pick(['FULL', 'FULL', 'DEFAULT'])}`,
  },
  'log a partition, or not': {
    weight: 1,
    sql: async (source) =>
      `ALTER TABLE ${(await partitionOf(source)).name} SET ${source.random.pick(['LOGGED', 'UNLOGGED'])}`,
  },
  'create an unlogged partition': {
    weight: 1,
    sql: ({ random, partitioned }) => {
      const from = 100 * random.between(0, 5)
      return `CREATE UNLOGGED TABLE ${newName()} PARTITION OF ${partitioned} FOR VALUES FROM (${from}) TO (${from + 100})`
    },
  },
  'create a partition with partitions': {
    weight: 1,
    sql: ({ random, partitioned }) => {
      const [name, from] = [newName(), 100 * random.between(0, 5)]
      const range = `FOR VALUES FROM (${from}) TO (${from + 100})`
      return `CREATE TABLE ${name} PARTITION OF ${partitioned} ${range} PARTITION BY RANGE (id);
        CREATE TABLE ${newName()} PARTITION OF ${name} FOR VALUES FROM (${from}) TO (${from + 50});
        CREATE TABLE ${newName()} PARTITION OF ${name} FOR VALUES FROM (${from + 50}) TO (${from + 100})`
    },
  },
  'attach a partition again': {
    weight: 1,
    sql: async (source) => {
      const { name, parent } = await partitionOf(source)
      const change = source.random.pick([`DELETE FROM ${name}`, `UPDATE ${name} SET v = 8`, 'SELECT'])
      return `DO $$ DECLARE bound text := (SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = '${name}'::regclass); BEGIN
        ALTER TABLE ${parent} DETACH PARTITION ${name}; ${change === 'SELECT' ? '' : `${change};`}
        EXECUTE 'ALTER TABLE ${parent} ATTACH PARTITION ${name} ' || bound; END $$`
    },
  },
  'rewrite a table': { weight: 1, sql: async (source) => `VACUUM FULL ${anyTable(source)}` },
  'create a partition': {
    weight: 1,
    sql: ({ random, partitioned }) => {
      const from = 100 * random.between(0, 5)
      return `CREATE TABLE ${newName()} PARTITION OF ${partitioned} FOR VALUES FROM (${from}) TO (${from + 100})`
    },
  },
  'attach a partition': {
    weight: 3,
    sql: (source) => {
      const attach = newPartition(source, source.random.happens(0.8))
      return source.random.happens(0.5) ? `BEGIN; ${attach}; COMMIT` : attach
    },
  },
  'detach a partition': {
    weight: 2,
    sql: async (source) => {
      const { name, parent } = await partitionOf(source)
      return `ALTER TABLE ${parent} DETACH PARTITION ${name}`
    },
  },
  'drop a partition': { weight: 1, sql: async (source) => `DROP TABLE ${(await partitionOf(source)).name}` },
  'truncate a partition': { weight: 2, sql: async (source) => `TRUNCATE ${(await partitionOf(source)).name}` },
  'leave a table out': {
    weight: 2,
    sql: (source) => `ALTER PUBLICATION ${source.publication} DROP TABLE ${anyMapped(source)}`,
  },
  'leave a table out for a time': {
    weight: 1,
    sql: (source) => {
      const table = anyMapped(source)
      return `ALTER PUBLICATION ${source.publication} DROP TABLE ${table}; DELETE FROM ${table} WHERE id % 5 = 0;
        ALTER PUBLICATION ${source.publication} ADD TABLE ${table}`
    },
  },
  'publish less': {
    weight: 2,
    sql: ({ random, publication }) =>
      `ALTER PUBLICATION ${publication} SET (publish = '${random.pick(['insert', 'insert, update, delete', 'update'])}')`,
  },
  'filter rows': {
    weight: 1,
    sql: (source) => `ALTER PUBLICATION ${source.publication} SET TABLE ${anyMapped(source)} WHERE (id < 5)`,
  },
  'publish a schema': {
    weight: 1,
    sql: ({ publication, random }) =>
      `ALTER PUBLICATION ${publication} ${random.pick(['ADD', 'DROP'])} TABLES IN SCHEMA public`,
  },
  'drop the publication': { weight: 1, sql: ({ publication }) => `DROP PUBLICATION ${publication}` },
  'drop the slot': {
    weight: 1,
    // A replication slot that the user has created is not dropped.
    sql: ({ slot, isSlotNamed }) =>
      isSlotNamed
        ? 'SELECT 1'
        : `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '${slot}' AND active;
       SELECT pg_sleep(0.05); SELECT pg_drop_replication_slot('${slot}')`,
  },
}

export async function drawChange(source: DrawnSource): Promise<{ name: string; sql: string }> {
  const all = Object.entries(draws)
  let left = source.random.below(all.reduce((sum, [, { weight }]) => sum + weight, 0))
  for (const [name, { weight, sql }] of all) {
    if (left < weight) return { name, sql: await sql(source) }
    left -= weight
  }
  throw new Error('a draw is beyond the weights')
}
