// Manifest of a backup, the last line of the file. A keyed hash protects it, so that nobody with only the backup can change its
// content.
import type { Dialect } from '../../database/sql.ts'
import type { Vault } from '../../lib/vault.ts'

/** Version of the file format; incremented when older versions cannot read it. */
export const formatVersion = 1

export interface BackupPart {
  table: string
  columns: string[]
  rows: number
  /** SHA-256 of the lines with its rows. */
  sha256: string
}

export interface Manifest {
  formatVersion: number
  /** Number of the newest migration. */
  schema: number
  /** Everything confirmed before this time is in the backup. */
  createdAt: string
  database: Dialect
  parts: BackupPart[]
  /** The master keys that its secrets are sealed with; `check` verifies a key without revealing it. */
  masterKeys: { id: string; check: string }[]
}

/**
 * Tables that are not backed up. Leases and workers belong to running processes. Restored sessions and sign-in links would sign in
 * people who have signed out since.
 */
export const tablesLeftOut: readonly string[] = ['runners', 'pipe_workers', 'sessions', 'sign_in_links']

/** Keyed hash that needs the pepper. */
export function sealOfManifest(vault: Vault, manifest: Manifest): string {
  return vault.fingerprint('backup', JSON.stringify(manifest))
}
