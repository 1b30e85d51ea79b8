// Reads everything that a database holds, and creates empty data folders and databases.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { verifyChains } from '../../src/activities/seal.ts'
import { type App, openApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import { openExclusive } from '../../src/database/exclusive.ts'
import { openSnapshot } from '../../src/database/snapshot.ts'
import type { Dialect } from '../../src/database/sql.ts'
import { loadMasterKeys } from '../../src/installation/master-keys.ts'
import { listSealedOtherwise, sealedColumns } from '../../src/installation/sealed/store.ts'
import { type DataSettings, dataLocation, withSnapshot } from '../../src/installation/stored-data.ts'
import { Log } from '../../src/lib/log.ts'
import { Vault } from '../../src/lib/vault.ts'
import { basic, freshPostgresDatabase, type Key } from './test-app.ts'

type Rows = Record<string, unknown>[]

/** Every row of every table, in an order that both databases have. */
export async function everything(settings: DataSettings): Promise<Map<string, Rows>> {
  const snapshot = await openSnapshot(dataLocation(settings))
  const found = new Map<string, Rows>()
  for (const table of snapshot.tables) {
    const { columns, portions } = await snapshot.read(table)
    const rows: Rows = []
    for await (const portion of portions) {
      rows.push(...portion.map((row) => Object.fromEntries(row.map((value, at) => [columns[at]!, value]))))
    }
    found.set(
      table,
      rows.sort((a, b) => compareText(JSON.stringify(a), JSON.stringify(b))),
    )
  }
  await snapshot.close()
  return found
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** All sealed values, opened, by column and key. */
export async function everythingOpened(settings: DataSettings): Promise<Map<string, string>> {
  const vault = new Vault(loadMasterKeys(settings.masterKeyFile))
  const opened = new Map<string, string>()
  const database = await openExclusive(dataLocation(settings), 'keys')
  for (const column of sealedColumns) {
    const found = await listSealedOtherwise(database.sql, column, { after: column.firstKey, keyId: '-', limit: 10_000 })
    for (const { sealed, context, key } of found)
      opened.set(`${column.table} ${JSON.stringify(key)}`, vault.open(sealed, context))
  }
  await database.close()
  return opened
}

/** An empty data folder and database, with the master keys of another. */
export async function emptyData(from: Config, folder: string, dialect: Dialect): Promise<Config> {
  mkdirSync(folder, { mode: 0o700 })
  const masterKeyFile = join(folder, 'master-keys.json')
  copyFileSync(from.masterKeyFile, masterKeyFile)
  const databaseUrl = dialect === 'postgres' ? await freshPostgresDatabase() : undefined
  return { ...from, dataFolder: folder, masterKeyFile, databaseUrl }
}

/** Problems of the audit chains, and the number of intact activities. */
export async function auditOf(settings: DataSettings): Promise<{ problems: string[]; sealed: number }> {
  return withSnapshot(settings, async ({ snapshot, vault }) => {
    const problems: string[] = []
    let sealed = 0
    for await (const report of verifyChains(snapshot.sql, vault)) {
      sealed += report.sealed
      if (report.problem !== undefined) problems.push(report.problem)
    }
    return { problems, sealed }
  })
}

export function openQuietApp(config: Config): Promise<App> {
  return openApp(config, { log: new Log('silent'), mayCreateKeys: false, onFatal: () => undefined })
}

export async function ask(app: App, key: Key, path: string): Promise<{ status: number; text: string }> {
  const response = await app.server.inject({ method: 'GET', url: path, headers: { authorization: basic(key) } })
  return { status: response.statusCode, text: response.payload }
}
