// The master keys live in a file of their own, readable by nobody else, beside the database or wherever the operator puts it.
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { StartError } from '../lib/start-error.ts'
import { type MasterKeys, Vault, VaultError } from '../lib/vault.ts'

/** Undefined when there is no such file. */
export function readMasterKeys(file: string): MasterKeys | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartError(`The master key file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
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

/** Durable before anything is sealed with it: a database whose key was lost is lost. */
export function writeMasterKeys(file: string, keys: MasterKeys): void {
  writePrivateFile(file, `${JSON.stringify(keys, null, 2)}\n`, 'wx')
}

export function writePrivateFile(file: string, text: string, flag: 'wx' | 'w'): void {
  try {
    const handle = openSync(file, flag, 0o600)
    writeSync(handle, text)
    fsyncSync(handle)
    closeSync(handle)
  } catch (error) {
    throw new StartError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`)
  }
}
