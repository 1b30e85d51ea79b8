// The writer thread of SQLite: the list of writes, served where the file is owned. The main thread imports this file only to
// know where it is.
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { serveWrites } from './database/sqlite-writer.ts'
import { type MasterKeys, Vault } from './lib/vault.ts'
import { writes } from './writes.ts'

export const writerModule = new URL(import.meta.url)

if (!isMainThread) {
  const { file, masterKeys } = workerData as { file: string; masterKeys: MasterKeys }
  const vault = new Vault(masterKeys)
  await serveWrites(parentPort!, file, (sql, name, input) =>
    writes[name as keyof typeof writes]({ sql, vault }, input as never),
  )
}
