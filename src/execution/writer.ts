// Entry point of the SQLite writer thread. The main thread imports this file only for its URL.
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { serveWrites } from '../database/sqlite-writer.ts'
import { type MasterKeys, Vault } from '../lib/vault.ts'
import type { OperationSettings } from '../operation/operation.ts'
import { makeWrites } from './writes.ts'

export const writerModule = new URL(import.meta.url)

export interface WriterData {
  masterKeys: MasterKeys
  settings: OperationSettings
}

if (!isMainThread) {
  const { file, masterKeys, settings } = workerData as WriterData & { file: string }
  const vault = new Vault(masterKeys)
  const writes = makeWrites(settings)
  await serveWrites(parentPort!, file, (sql, name, input) =>
    writes[name as keyof typeof writes]({ sql, vault }, input as never),
  )
}
