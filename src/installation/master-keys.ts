// Reads and writes the master key file, which no other user may read.
import { readFileSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { explainNoAccess } from '../lib/no-access.ts'
import { explainFileMode, writePrivateFile } from '../lib/private-file.ts'
import { StartError } from '../lib/start-error.ts'
import { type LoadChangedKeys, type MasterKeys, Vault, VaultError } from '../lib/vault.ts'

/** Undefined when the file does not exist. `mayBeOpen` skips the check of the file mode. */
export function readMasterKeys(file: string, { mayBeOpen = false } = {}): MasterKeys | undefined {
  let text: string
  let stats: Stats
  try {
    text = readFileSync(file, 'utf8')
    stats = statSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    const remedy = 'set PENSTOCK_DATA (or PENSTOCK_MASTER_KEY_FILE) to the right path.'
    const reason =
      code === 'EACCES'
        ? `: ${explainNoAccess(file)}, or ${remedy}`
        : code === 'ENOTDIR'
          ? `: ${dirname(file)} is not a folder; ${remedy}`
          : ` (${code}).`
    throw new StartError(`The master key file ${file} cannot be read${reason}`)
  }
  const open = mayBeOpen ? undefined : explainFileMode(file, stats)
  if (open) throw new StartError(`The master key file ${open.found}: ${open.remedy}.`)
  try {
    const keys = JSON.parse(text) as MasterKeys
    // Validates the keys.
    new Vault(keys)
    return keys
  } catch (error) {
    const reason = error instanceof VaultError ? error.message : 'it is not the JSON that Penstock wrote'
    throw new StartError(`The master key file ${file} is damaged: ${reason}. Restore it from your backup.`)
  }
}

export function loadMasterKeys(file: string): MasterKeys {
  const keys = readMasterKeys(file)
  if (!keys) throw new StartError(`The master key file ${file} is missing. Put back the one that belongs to the data.`)
  return keys
}

/** Synced to disk before any value is sealed with a new key, because a lost key means lost data. */
export function writeMasterKeys(file: string, keys: MasterKeys, mode: 'create' | 'replace' = 'create'): void {
  writePrivateFile(file, `${JSON.stringify(keys, null, 2)}\n`, mode)
}

/** A running process notices changes by `penstock keys` within this time. */
export const keysFollowedWithinMs = 1_000

/** Reloads keys that change while the process runs. A missing, damaged or foreign file is ignored. */
export function followMasterKeys(file: string, pepper: string): LoadChangedKeys {
  let seen = ''
  let lookedMs = Number.NEGATIVE_INFINITY
  return (need) => {
    const nowMs = performance.now()
    if (need === 'soon' && nowMs - lookedMs < keysFollowedWithinMs) return undefined
    lookedMs = nowMs
    try {
      const { ino, mtimeMs, size } = statSync(file)
      const look = `${ino} ${mtimeMs} ${size}`
      if (look === seen) return undefined
      const keys = readMasterKeys(file)
      seen = look
      return keys?.pepper === pepper ? keys : undefined
    } catch {
      return undefined
    }
  }
}
