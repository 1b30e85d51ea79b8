import { readConfig } from '../config.ts'
import { addKey, countByKey, removeKey, rotateKeys } from '../installation/sealed/change-keys.ts'

/** Prints ids and counts, never keys. */
export async function listKeys(): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const { current, next, byKey, byOthers } = await countByKey(config)
  for (const [id, count] of byKey) {
    const mark = id === current ? ' (current)' : id === next ? ' (next)' : ''
    console.log(`${id}${mark}: ${values(count)} sealed with it`)
  }
  if (byOthers > 0) console.error(`${values(byOthers)} sealed with keys that are not in ${config.masterKeyFile}`)
}

export async function add(): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const id = await addKey(config)
  console.log(`Added the master key ${id} to ${config.masterKeyFile}; nothing is sealed with it yet.`)
  console.log(
    'Copy the file to every machine that runs a process of this Penstock, and back it up. Then run "penstock keys rotate".',
  )
}

export async function rotate(): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const { keyId, resealed, unopened, isFinished } = await rotateKeys(config)
  console.log(
    isFinished
      ? `An earlier rotation is finished: ${values(resealed)} sealed again with ${keyId}.`
      : `${keyId} is the current master key; ${values(resealed)} sealed again with it.`,
  )
  if (unopened > 0) {
    console.error(`${values(unopened)} left as they were: damaged, or sealed with a key that is not in the list.`)
  }
  console.log(
    `Back up ${config.masterKeyFile}. Keep the file of before as long as you keep backups that were made before.`,
  )
}

export async function remove(id: string): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  await removeKey(config, id)
  console.log(
    `Removed the master key ${id} from ${config.masterKeyFile}. Backups that were made before may still need it.`,
  )
}

function values(count: number): string {
  return count === 1 ? '1 value' : `${count} values`
}
