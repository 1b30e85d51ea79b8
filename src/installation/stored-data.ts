// For commands that read or change the data as a whole, beside the processes that serve it or in their place.
import { join } from 'node:path'
import { type Exclusive, openExclusive } from '../database/exclusive.ts'
import { type DataLocation, openSnapshot, type Snapshot } from '../database/snapshot.ts'
import { NotSetUpError } from '../lib/start-error.ts'
import { type MasterKeys, newMasterKeys, Vault } from '../lib/vault.ts'
import { checkKeys } from './installation.ts'
import { readMasterKeys } from './master-keys.ts'

/** The settings that say where everything is. */
export interface DataSettings {
  databaseUrl: string | undefined
  dataFolder: string
  masterKeyFile: string
}

export function placeOf({ databaseUrl, dataFolder }: DataSettings): DataLocation {
  return { databaseUrl, sqliteFile: join(dataFolder, 'penstock.db') }
}

/** As it is at one moment; Penstock may run. */
export async function withSnapshot<Result>(
  settings: DataSettings,
  work: (data: { snapshot: Snapshot; masterKeys: MasterKeys; vault: Vault }) => Promise<Result>,
): Promise<Result> {
  const storedKeys = readMasterKeys(settings.masterKeyFile)
  const snapshot = await openSnapshot(placeOf(settings))
  try {
    return await work({ snapshot, ...(await requireKeys(snapshot, storedKeys, settings)) })
  } finally {
    await snapshot.close()
  }
}

/** One command at a time: of two who write the file of the keys, one would take away the other's key. */
export async function withKeysLocked<Result>(
  settings: DataSettings,
  work: (database: Exclusive) => Promise<Result>,
): Promise<Result> {
  // Refuses what is not a database of this version, and makes none.
  await withSnapshot(settings, async () => undefined)
  const database = await openExclusive(placeOf(settings), 'keys')
  try {
    await requireKeys(database, readMasterKeys(settings.masterKeyFile), settings)
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Keys that are missing are lost only where there is data. */
async function requireKeys(
  { sql }: Pick<Snapshot, 'sql'>,
  storedKeys: MasterKeys | undefined,
  settings: DataSettings,
): Promise<{ masterKeys: MasterKeys; vault: Vault }> {
  // New ones open nothing: with them, data is refused as that of missing keys.
  const masterKeys = storedKeys ?? newMasterKeys()
  const vault = new Vault(masterKeys)
  const isNew = await checkKeys(sql, vault, settings, storedKeys !== undefined)
  if (isNew) throw new NotSetUpError()
  return { masterKeys, vault }
}
