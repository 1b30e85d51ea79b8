import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { makeBackup } from '../installation/backup/make-backup.ts'

/** Works while Penstock runs; the backup contains everything confirmed before. */
export async function backup(target: string): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const { file, sizeBytes, manifest, lostKeyIds } = await makeBackup(config, resolve(target))
  const { parts, masterKeys, createdAt } = manifest
  const rows = parts.reduce((sum, part) => sum + part.rows, 0)
  const keyIds = masterKeys.map(({ id }) => id).join(', ')
  console.log(`${file}: ${rows} rows of ${parts.length} tables, ${sizeBytes} bytes, as of ${createdAt}.`)
  console.log(`To restore it, ${config.masterKeyFile} is needed too (master keys: ${keyIds}). Keep it somewhere else.`)
  for (const id of lostKeyIds) {
    console.error(`Some values are sealed with ${id}, which is not in the master key file: they cannot be opened.`)
  }
}
