// Restores a backup into an empty database in one transaction, including the migration to this version's schema. If it is
// interrupted, the database stays empty.
import { appliedMigrations, type Exclusive, hasRows, openExclusive } from '../../database/exclusive.ts'
import {
  applyMigration,
  createMigrationsTable,
  loadMigrations,
  type Migration,
  MigrationError,
  newestOf,
  tablesOf,
} from '../../database/migrate.ts'
import type { SqlValue } from '../../database/sql.ts'
import { StartError } from '../../lib/start-error.ts'
import { Vault } from '../../lib/vault.ts'
import { loadMasterKeys } from '../master-keys.ts'
import { type DataSettings, dataLocation } from '../stored-data.ts'
import { checkWhole, DamagedFile, UnreadableFile } from './backup-file.ts'
import { type Manifest, sealOfManifest } from './manifest.ts'
import { readBackup } from './read-backup.ts'
import { settleRestoredPipes } from './store.ts'

const duplicateTable = '42P07'
const notAllowed = '42501'

/** Refuses a backup that is damaged, newer than this version, or sealed with other keys, before anything is written. */
export async function checkBackup(file: string, { masterKeyFile }: DataSettings): Promise<Manifest> {
  const vault = new Vault(loadMasterKeys(masterKeyFile))
  const { manifest, seal } = await orDamaged(file, async () => {
    await checkWhole(file)
    return readBackup(file)
  })
  const newest = newestOf(loadMigrations())
  if (manifest.schema > newest) {
    throw new StartError(
      `The backup ${file} was made by a newer Penstock (schema ${manifest.schema}; this one knows schemas up to ${newest}). Use the newer version.`,
    )
  }
  for (const { id, check } of manifest.masterKeys) {
    const found = vault.checkOfKey(id)
    if (found === check) continue
    throw new StartError(
      found === undefined
        ? `The backup ${file} needs the master key ${id}, which is not in ${masterKeyFile}. Put back the file that belongs to the backup.`
        : `The master key ${id} in ${masterKeyFile} is not the one that the backup ${file} was made with. Put back the file that belongs to it.`,
    )
  }
  if (sealOfManifest(vault, manifest) !== seal) {
    throw new StartError(
      `The pepper in ${masterKeyFile} is not the one that the backup ${file} was made with, or somebody has changed the backup. Put back the file that belongs to it.`,
    )
  }
  return manifest
}

export interface Restored {
  rows: number
  pipes: number
}

export async function restoreBackup(settings: DataSettings, file: string, manifest: Manifest): Promise<Restored> {
  const database = await openExclusive(dataLocation(settings), 'schema')
  try {
    return await orDamaged(file, () => database.transaction(() => restoreAll(database, file, manifest)))
  } catch (error) {
    if (error instanceof MigrationError) throw new StartError(error.message)
    const { code } = error as { code?: string }
    if (code === duplicateTable) {
      throw new StartError(
        'The database has tables of something else with the names of ours. Use a database of its own.',
      )
    }
    if (code === notAllowed) {
      throw new StartError('The user of DATABASE_URL may not create tables. Allow it, and restore again.')
    }
    throw error
  } finally {
    await database.close()
  }
}

async function restoreAll(database: Exclusive, file: string, manifest: Manifest): Promise<Restored> {
  const migrations = loadMigrations()
  await makeTablesOf(database, migrations, manifest.schema)
  const known = new Set(
    tablesOf(
      migrations.filter(({ number }) => number <= manifest.schema),
      database.dialect,
    ),
  )
  let rows = 0
  const read = await readBackup(file, async ({ table, columns }, lines) => {
    if (!known.has(table) || !columns.every((column) => /^[a-z_]+$/.test(column))) throw new DamagedFile()
    await database.insert(
      table,
      columns,
      lines.map((line) => JSON.parse(line.toString()) as SqlValue[]),
    )
    rows += lines.length
  })
  // The file could have been replaced since it was checked.
  if (JSON.stringify(read.manifest) !== JSON.stringify(manifest)) throw new DamagedFile()
  for (const migration of migrations) {
    if (migration.number > manifest.schema) await applyMigration(database, migration)
  }
  const { createdAt } = manifest
  return { rows, pipes: await settleRestoredPipes(database.sql, { createdAt, now: new Date().toISOString() }) }
}

/** Creates the empty tables of the backup's schema. */
async function makeTablesOf(database: Exclusive, migrations: Migration[], schema: number): Promise<void> {
  const applied = await appliedMigrations(database)
  if (Math.max(0, ...applied) > newestOf(migrations)) {
    throw new StartError('The database was made by a newer Penstock. Use the newer version, or an empty database.')
  }
  const tables = tablesOf(
    migrations.filter(({ number }) => applied.includes(number)),
    database.dialect,
  )
  for (const table of tables) {
    if (!(await hasRows(database, table))) continue
    throw new StartError('There is a Penstock with data here already. A backup is restored only into an empty one.')
  }
  const isLater = applied.some((number) => number > schema)
  if (isLater) {
    for (const table of tables.toReversed()) await database.execute(`DROP TABLE ${table}`)
    await database.execute('DROP TABLE schema_migrations')
  }
  await database.execute(createMigrationsTable)
  for (const migration of migrations) {
    const isThere = !isLater && applied.includes(migration.number)
    if (migration.number <= schema && !isThere) await applyMigration(database, migration)
  }
}

async function orDamaged<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DamagedFile) {
      throw new StartError(`The backup ${file} is damaged, or is not a backup. Nothing was restored; use another copy.`)
    }
    if (error instanceof UnreadableFile) throw new StartError(`The backup ${file} cannot be read (${error.message}).`)
    throw error
  }
}
