// Opens the configured database: for a running server, or read-only for commands.
import { existsSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Config, operationSettings } from '../config.ts'
import type { DatabaseEvents } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'
import { openSqlite } from '../database/sqlite-database.ts'
import { openSqliteReadOnly } from '../database/sqlite-read-only.ts'
import { type WriterData, writerModule } from '../execution/writer.ts'
import { makeWrites, type PenstockDatabase } from '../execution/writes.ts'
import { checkKeys } from '../installation/key-check.ts'
import { readMasterKeys } from '../installation/master-keys.ts'
import { explainNoAccess } from '../lib/no-access.ts'
import { NotSetUpError, StartError } from '../lib/start-error.ts'
import { type MasterKeys, newMasterKeys, Vault } from '../lib/vault.ts'

export async function openDatabase(
  config: Config,
  masterKeys: MasterKeys,
  vault: Vault,
  events: DatabaseEvents,
): Promise<PenstockDatabase> {
  if (config.databaseUrl) {
    // Loaded only for PostgreSQL: the driver takes memory.
    const { openPostgres } = await import('../database/postgres.ts')
    return openPostgres({ url: config.databaseUrl, writes: makeWrites(operationSettings(config)), vault, events })
  }
  const file = join(config.dataFolder, 'penstock.db')
  const writerData: WriterData = { masterKeys, settings: operationSettings(config) }
  return openSqlite({ file, writer: writerModule, writerData: { ...writerData }, events })
}

export interface StoredData {
  sql: Sql
  vault: Vault
  close(): Promise<void>
}

/** For commands that only read; works while a server runs on the same data. */
export async function openStoredData(config: Config): Promise<StoredData> {
  const masterKeys = readMasterKeys(config.masterKeyFile)
  const vault = new Vault(masterKeys ?? newMasterKeys())
  let data: StoredData
  if (config.databaseUrl) {
    const { openPostgresReadOnly } = await import('../database/postgres-read-only.ts')
    const { sql, close } = await openPostgresReadOnly(config.databaseUrl)
    data = { sql, vault, close }
  } else {
    const connection = openSqliteReadOnly(join(config.dataFolder, 'penstock.db'))
    data = { sql: connection, vault, close: async () => connection.close() }
  }
  try {
    const isNew = await checkKeys(data.sql, vault, config, masterKeys !== undefined)
    if (isNew) throw new NotSetUpError()
    return data
  } catch (error) {
    await data.close()
    throw error
  }
}

/** Creates the data folder with mode 0700. An existing one that other users can read is refused, not changed. */
export function prepareFolder({ dataFolder }: Config): void {
  let stats: Stats
  try {
    if (!existsSync(dataFolder)) {
      mkdirSync(dirname(dataFolder), { recursive: true })
      mkdirSync(dataFolder, { mode: 0o700 })
    }
    stats = statSync(dataFolder)
    if (stats.isDirectory()) readdirSync(dataFolder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') {
      throw new StartError(
        `The data folder ${dataFolder} cannot be used: ${explainNoAccess(dataFolder)}, or set PENSTOCK_DATA to a folder that this user may write.`,
      )
    }
    throw new StartError(
      `The data folder ${dataFolder} cannot be used (${code}). Set PENSTOCK_DATA to a folder that this user may write.`,
    )
  }
  if (!stats.isDirectory()) {
    throw new StartError(`The data folder ${dataFolder} is not a folder. Set PENSTOCK_DATA to one.`)
  }
  if ((stats.mode & 0o077) !== 0) {
    throw new StartError(
      `The data folder ${dataFolder} is open to other users. Run "chmod 700" on it, or set PENSTOCK_DATA to another one.`,
    )
  }
}
