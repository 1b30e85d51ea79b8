// This Penstock itself: whether it has been set up, and whether the master key is the one it was set up with.
import type { Sql } from '../database/sql.ts'
import { type Place, type Vault, VaultError } from '../lib/vault.ts'
import { findKeyCheck } from './store.ts'

const knownText = 'penstock'
const place: Place = { organizationId: '', table: 'installation', row: '1', field: 'key_check' }

export function sealKeyCheck(vault: Vault): string {
  return vault.seal(knownText, place)
}

/** `new`: nobody has set it up; `wrong-key`: its secrets cannot be opened with these master keys. */
export async function installationState(sql: Sql, vault: Vault): Promise<'new' | 'ready' | 'wrong-key'> {
  const keyCheck = await findKeyCheck(sql)
  if (keyCheck === undefined) return 'new'
  try {
    return vault.open(keyCheck, place) === knownText ? 'ready' : 'wrong-key'
  } catch (error) {
    if (error instanceof VaultError) return 'wrong-key'
    throw error
  }
}
