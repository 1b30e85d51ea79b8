// The master keys live in a file of their own, readable by nobody else, beside the database or wherever the operator puts it.
import { readFileSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { explainNoAccess } from '../lib/no-access.ts'
import { complainOfMode, writePrivateFile } from '../lib/private-file.ts'
import { StartError } from '../lib/start-error.ts'
import { type KeyNews, type MasterKeys, Vault, VaultError } from '../lib/vault.ts'

/** Undefined when there is no such file. `mayBeOpen`: for whoever looks at who may read it. */
export function readMasterKeys(file: string, { mayBeOpen = false } = {}): MasterKeys | undefined {
  let text: string
  let stats: Stats
  try {
    text = readFileSync(file, 'utf8')
    stats = statSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    const mend = 'set PENSTOCK_DATA (or PENSTOCK_MASTER_KEY_FILE) to the right place.'
    const reason =
      code === 'EACCES'
        ? `: ${explainNoAccess(file)}, or ${mend}`
        : code === 'ENOTDIR'
          ? `: ${dirname(file)} is not a folder; ${mend}`
          : ` (${code}).`
    throw new StartError(`The master key file ${file} cannot be read${reason}`)
  }
  const open = mayBeOpen ? undefined : complainOfMode(file, stats)
  if (open) throw new StartError(`The master key file ${open.found}: ${open.remedy}.`)
  try {
    const keys = JSON.parse(text) as MasterKeys
    // Refuses what is not a list of good keys, before anything depends on it.
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

/** Durable before anything is sealed with it: a database whose key was lost is lost. */
export function writeMasterKeys(file: string, keys: MasterKeys, mode: 'create' | 'replace' = 'create'): void {
  writePrivateFile(file, `${JSON.stringify(keys, null, 2)}\n`, mode)
}

/** A running process sees what `penstock keys` does within this time. */
export const keysFollowedWithinMs = 1_000

/** For a process that goes on while its keys change. A file that is gone or damaged, or another Penstock's, is no news. */
export function followMasterKeys(file: string, pepper: string): KeyNews {
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
