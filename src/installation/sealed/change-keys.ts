// Commands of `penstock keys`. A key is in the file before any value is sealed with it, and is removed only when none is. So the
// file can open all sealed values even after an interruption.
import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../lib/start-error.ts'
import { type MasterKeys, Vault, withNextKey } from '../../lib/vault.ts'
import { keysFollowedWithinMs, loadMasterKeys, writeMasterKeys } from '../master-keys.ts'
import { type DataSettings, withKeysLocked, withSnapshot } from '../stored-data.ts'
import { type Resealed, reseal } from './reseal.ts'
import { countSealed } from './store.ts'

export type Rotation = Resealed & {
  keyId: string
  /** Whether this finished an earlier, interrupted rotation. */
  isFinished: boolean
}

/** Upper limit of the time from sealing a value to its commit. */
const writesEndWithinMs = 60_000

export async function countByKey(
  settings: DataSettings,
): Promise<Pick<MasterKeys, 'current' | 'next'> & { byKey: Map<string, number>; byOthers: number }> {
  return withSnapshot(settings, async ({ snapshot, masterKeys, vault }) => ({
    ...masterKeys,
    ...(await countSealed(snapshot.sql, vault.keyIds)),
  }))
}

/** Adds a key that becomes the current one with the next rotation. Returns its id. */
export async function addKey(settings: DataSettings): Promise<string> {
  return withKeysLocked(settings, async () => {
    const keys = loadMasterKeys(settings.masterKeyFile)
    if (keys.next !== undefined) {
      throw new StartError(`The key ${keys.next} was added already; "penstock keys rotate" makes it the current one.`)
    }
    const withNext = withNextKey(keys)
    writeMasterKeys(settings.masterKeyFile, withNext, 'replace')
    return withNext.next
  })
}

export async function rotateKeys(settings: DataSettings): Promise<Rotation> {
  return withKeysLocked(settings, async (database) => {
    const { masterKeyFile } = settings
    const keys = loadMasterKeys(masterKeyFile)
    const left = keys.next === undefined ? await reseal(database, new Vault(keys)) : undefined
    if (left && left.resealed > 0) return { ...left, keyId: keys.current, isFinished: true }
    if (left && database.dialect === 'postgres') {
      throw new StartError(
        `Everything is sealed with ${keys.current}. For another key run "penstock keys add", copy ${masterKeyFile} to every machine ` +
          'that runs a process of this Penstock, then run "penstock keys rotate" again.',
      )
    }
    const rotated = withNextMadeCurrent(keys)
    writeMasterKeys(masterKeyFile, rotated, 'replace')
    const vault = new Vault(rotated)
    const total = await reseal(database, vault)
    if (database.dialect === 'postgres') {
      // Running processes have sealed with the previous key until they reloaded the file.
      await sleep(2 * keysFollowedWithinMs)
      total.resealed += (await reseal(database, vault)).resealed
    }
    return { ...total, keyId: rotated.current, isFinished: false }
  })
}

function withNextMadeCurrent(keys: MasterKeys): MasterKeys {
  const { next, ...others } = keys.next === undefined ? withNextKey(keys) : keys
  return { ...others, current: next ?? others.current }
}

export async function removeKey(settings: DataSettings, id: string): Promise<void> {
  await withKeysLocked(settings, async ({ dialect, sql }) => {
    const { masterKeyFile } = settings
    const { keys, next, ...others } = loadMasterKeys(masterKeyFile)
    const { [id]: removed, ...left } = keys
    if (removed === undefined) throw new StartError(`There is no master key ${JSON.stringify(id)} in ${masterKeyFile}.`)
    if (id === others.current) {
      throw new StartError(`${id} is the current master key. Run "penstock keys rotate" first; then it can be removed.`)
    }
    const count = (await countSealed(sql, [id])).byKey.get(id)!
    if (count > 0) {
      throw new StartError(
        `${count} ${count === 1 ? 'value is' : 'values are'} still sealed with ${id}. Run "penstock keys rotate", which seals them again.`,
      )
    }
    const ageMs = Date.now() - statSync(masterKeyFile).mtimeMs
    if (dialect === 'postgres' && id !== next && ageMs < writesEndWithinMs) {
      throw new StartError(
        'The master keys were changed less than a minute ago, and a running process may still store what it sealed before. Try again in a minute.',
      )
    }
    const keptNext = next === undefined || next === id ? {} : { next }
    writeMasterKeys(masterKeyFile, { ...others, ...keptNext, keys: left }, 'replace')
  })
}
