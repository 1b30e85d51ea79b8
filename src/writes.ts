// Everything that writes to the database, by name: on SQLite a write runs in another thread and only its name is sent.
import { sealActivities } from './activities/seal.ts'
import type { Database, WriteContext } from './database/database.ts'
import { writeOperation } from './execute-operation.ts'
import type { OperationRequest, OperationSettings } from './http/operation.ts'
import { forgetOldKeys } from './idempotency/store.ts'
import { initialize } from './installation/initialize.ts'
import { createSample } from './installation/sample.ts'
import { noteKeyUse } from './keys/key-use.ts'
import { claimServiceChecks, recordServiceCheck, type ServiceCheckRecord, type ServiceClaim } from './services/store.ts'

export function makeWrites(settings: OperationSettings) {
  return {
    writeOperation: ({ sql, vault }: WriteContext, request: OperationRequest) =>
      writeOperation({ sql, vault, settings }, request),
    forgetOldKeys: ({ sql }: WriteContext, input: { now: string }) => forgetOldKeys(sql, input.now),
    noteKeyUse,
    claimServiceChecks: ({ sql }: WriteContext, claim: ServiceClaim) => claimServiceChecks(sql, claim),
    recordServiceCheck: ({ sql }: WriteContext, record: ServiceCheckRecord) => recordServiceCheck(sql, record),
    sealActivities,
    initialize,
    createSample,
  }
}

type WriteList = ReturnType<typeof makeWrites>

export type PenstockDatabase = Database<WriteList>
