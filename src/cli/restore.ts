import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { checkBackup, restoreBackup } from '../installation/backup/restore-backup.ts'
import { prepareFolder } from '../startup/open-database.ts'

/** Restores into an empty database only. Pipes stay stopped until started by a person. */
export async function restore(backupFile: string): Promise<void> {
  const config = readConfig(process.env, { logLevel: 'warn' })
  const file = resolve(backupFile)
  const manifest = await checkBackup(file, config)
  prepareFolder(config)
  const { rows, pipes } = await restoreBackup(config, file, manifest)
  console.log(`Restored ${rows} rows, as they were at ${manifest.createdAt}.`)
  if (pipes > 0) {
    console.log(
      `${pipes === 1 ? 'Its pipe does' : `Its ${pipes} pipes do`} not run: read "After a restore" in docs/how-to/back-up-and-restore.md before you start ${pipes === 1 ? 'it' : 'them'}.`,
    )
  }
  console.log('Run "penstock audit verify", then "penstock start".')
}
