// This Penstock itself: whether it has been set up, and whether the master key is the one it was set up with.
import type { Sql } from '../database/sql.ts'
import { StartError } from '../lib/start-error.ts'
import { type SealContext, type Vault, VaultError } from '../lib/vault.ts'
import { findKeyCheck } from './store.ts'

const knownText = 'penstock'
export const keyCheckContext: SealContext = { organizationId: '', table: 'installation', row: '1', field: 'key_check' }

export function sealKeyCheck(vault: Vault): string {
  return vault.seal(knownText, keyCheckContext)
}

/** `new`: nobody has set it up; `wrong-key`: its secrets cannot be opened with these master keys. */
async function installationState(sql: Sql, vault: Vault): Promise<'new' | 'ready' | 'wrong-key'> {
  const keyCheck = await findKeyCheck(sql)
  if (keyCheck === undefined) return 'new'
  try {
    return vault.open(keyCheck, keyCheckContext) === knownText ? 'ready' : 'wrong-key'
  } catch (error) {
    if (error instanceof VaultError) return 'wrong-key'
    throw error
  }
}

/** Refuses keys that are not those of the data. True when there is no data yet. */
export async function checkKeys(
  sql: Sql,
  vault: Vault,
  { masterKeyFile }: { masterKeyFile: string },
  hasKeyFile: boolean,
): Promise<boolean> {
  const state = await installationState(sql, vault)
  if (state === 'wrong-key' && !hasKeyFile) {
    throw new StartError(
      `The master key file ${masterKeyFile} is missing, and the database has secrets sealed with it. Restore the file from your backup.`,
    )
  }
  if (state === 'wrong-key') {
    throw new StartError(
      `The master key file ${masterKeyFile} does not belong to this database. Restore the file that the database was set up with.`,
    )
  }
  return state === 'new'
}
