// What a backup says about itself. The last line of the file; with a keyed hash, so that nobody who has only the backup can change
// what is in it.
import type { Dialect } from '../../database/sql.ts'
import type { Vault } from '../../lib/vault.ts'

/** Of the file; counted on when an older Penstock could not read it. */
export const formatVersion = 1

export interface BackupPart {
  table: string
  columns: string[]
  rows: number
  /** Of the lines with its rows. */
  sha256: string
}

export interface Manifest {
  formatVersion: number
  /** The newest migration of the tables. */
  schema: number
  /** Everything that was acknowledged before it is in the backup. */
  createdAt: string
  database: Dialect
  parts: BackupPart[]
  /** The master keys that its secrets are sealed with; `check` tells whether a key is the same one, and nothing about it. */
  masterKeys: { id: string; check: string }[]
}

/**
 * What is of no use in another place or time. Leases and workers: nobody works there. Sessions and sign-in links: they would let in
 * again who has signed out since.
 */
export const tablesLeftOut: readonly string[] = ['runners', 'pipe_workers', 'sessions', 'sign_in_links']

/** A hash that only a holder of the pepper can make. */
export function sealOfManifest(vault: Vault, manifest: Manifest): string {
  return vault.fingerprint('backup', JSON.stringify(manifest))
}
