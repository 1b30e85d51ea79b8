// Everything that writes to the database, by name: on SQLite a write runs in another thread and only its name is sent.
import type { Database, WriteContext } from './database/database.ts'
import { writeOperation } from './execute-operation.ts'
import { forgetOldKeys } from './idempotency/store.ts'
import { initialize } from './installation/initialize.ts'
import { createSample } from './installation/sample.ts'

export const writes = {
  writeOperation,
  forgetOldKeys: ({ sql }: WriteContext, input: { now: string }) => forgetOldKeys(sql, input.now),
  initialize,
  createSample,
}

export type PenstockDatabase = Database<typeof writes>
