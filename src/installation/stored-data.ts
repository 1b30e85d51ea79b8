// For commands that read or change the data as a whole, beside the processes that serve it or in their place.
import { join } from 'node:path'
import { type Exclusive, openExclusive } from '../database/exclusive.ts'
import { type DataPlace, openSnapshot, type Snapshot } from '../database/snapshot.ts'
import { StartError } from '../lib/start-error.ts'
import { type MasterKeys, Vault } from '../lib/vault.ts'
import { checkKeys } from './installation.ts'
import { loadMasterKeys } from './master-keys.ts'

/** The settings that say where everything is. */
export interface DataSettings {
  databaseUrl: string | undefined
  dataFolder: string
  masterKeyFile: string
}

export function placeOf({ databaseUrl, dataFolder }: DataSettings): DataPlace {
  return { databaseUrl, sqliteFile: join(dataFolder, 'penstock.db') }
}

/** As it is at one moment; Penstock may run. */
export async function withSnapshot<Result>(
  settings: DataSettings,
  work: (data: { snapshot: Snapshot; masterKeys: MasterKeys; vault: Vault }) => Promise<Result>,
): Promise<Result> {
  const masterKeys = loadMasterKeys(settings.masterKeyFile)
  const vault = new Vault(masterKeys)
  const snapshot = await openSnapshot(placeOf(settings))
  try {
    await mustBeSetUp(snapshot, vault, settings)
    return await work({ snapshot, masterKeys, vault })
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
    await mustBeSetUp(database, new Vault(loadMasterKeys(settings.masterKeyFile)), settings)
    return await work(database)
  } finally {
    await database.close()
  }
}

async function mustBeSetUp({ sql }: Pick<Snapshot, 'sql'>, vault: Vault, settings: DataSettings): Promise<void> {
  if (await checkKeys(sql, vault, settings, true)) {
    throw new StartError('This Penstock has not been set up yet: it has no data.')
  }
}
