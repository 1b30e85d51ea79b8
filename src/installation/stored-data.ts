// Data access for commands that read or change all data.
import { join } from 'node:path'
import { type Exclusive, openExclusive } from '../database/exclusive.ts'
import { type DataLocation, openSnapshot, type Snapshot } from '../database/snapshot.ts'
import { NotSetUpError } from '../lib/start-error.ts'
import { type MasterKeys, newMasterKeys, Vault } from '../lib/vault.ts'
import { checkKeys } from './key-check.ts'
import { readMasterKeys } from './master-keys.ts'

/** Settings with the locations of database and master keys. */
export interface DataSettings {
  databaseUrl: string | undefined
  dataFolder: string
  masterKeyFile: string
}

export function dataLocation({ databaseUrl, dataFolder }: DataSettings): DataLocation {
  return { databaseUrl, sqliteFile: join(dataFolder, 'penstock.db') }
}

/** Runs `work` on a consistent snapshot; Penstock may run. */
export async function withSnapshot<Result>(
  settings: DataSettings,
  work: (data: { snapshot: Snapshot; masterKeys: MasterKeys; vault: Vault }) => Promise<Result>,
): Promise<Result> {
  const storedKeys = readMasterKeys(settings.masterKeyFile)
  const snapshot = await openSnapshot(dataLocation(settings))
  try {
    return await work({ snapshot, ...(await requireKeys(snapshot, storedKeys, settings)) })
  } finally {
    await snapshot.close()
  }
}

/** Allows one command at a time: concurrent writers of the key file would lose each other's keys. */
export async function withKeysLocked<Result>(
  settings: DataSettings,
  work: (database: Exclusive) => Promise<Result>,
): Promise<Result> {
  // Refuses databases of other versions, and creates none.
  await withSnapshot(settings, async () => undefined)
  const database = await openExclusive(dataLocation(settings), 'keys')
  try {
    await requireKeys(database, readMasterKeys(settings.masterKeyFile), settings)
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Missing keys are an error only if there is data. */
async function requireKeys(
  { sql }: Pick<Snapshot, 'sql'>,
  storedKeys: MasterKeys | undefined,
  settings: DataSettings,
): Promise<{ masterKeys: MasterKeys; vault: Vault }> {
  // New keys open nothing, so existing data is refused with the error for missing keys.
  const masterKeys = storedKeys ?? newMasterKeys()
  const vault = new Vault(masterKeys)
  const isNew = await checkKeys(sql, vault, settings, storedKeys !== undefined)
  if (isNew) throw new NotSetUpError()
  return { masterKeys, vault }
}
