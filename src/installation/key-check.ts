// Check that the installation is initialized and that the master keys belong to it.
import type { Sql } from '../database/sql.ts'
import { StartError } from '../lib/start-error.ts'
import { type SealContext, type Vault, VaultError } from '../lib/vault.ts'
import { findKeyCheck } from './store.ts'

const knownText = 'penstock'
export const keyCheckContext: SealContext = { organizationId: '', table: 'installation', row: '1', field: 'key_check' }

export function sealKeyCheck(vault: Vault): string {
  return vault.seal(knownText, keyCheckContext)
}

/** `new`: not initialized; `wrong-key`: these master keys cannot open its secrets. */
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

/** Refuses master keys that do not belong to the data. True when there is no data yet. */
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
