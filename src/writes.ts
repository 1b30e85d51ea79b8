// Everything that writes to the database, by name: on SQLite a write runs in another thread and only its name is sent.
import type { Database, WriteContext } from './database/database.ts'
import { writeOperation } from './execute-operation.ts'
import type { OperationRequest, OperationSettings } from './http/operation.ts'
import { forgetOldKeys } from './idempotency/store.ts'
import { initialize } from './installation/initialize.ts'
import { createSample } from './installation/sample.ts'

export function makeWrites(settings: OperationSettings) {
  return {
    writeOperation: ({ sql, vault }: WriteContext, request: OperationRequest) =>
      writeOperation({ sql, vault, settings }, request),
    forgetOldKeys: ({ sql }: WriteContext, input: { now: string }) => forgetOldKeys(sql, input.now),
    initialize,
    createSample,
  }
}

type WriteList = ReturnType<typeof makeWrites>

export type PenstockDatabase = Database<WriteList>
