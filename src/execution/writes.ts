// List of all database writes by name: on SQLite a write runs in another thread, and only its name is sent.
import { signInWithOidc } from '../accounts/sign-in-with-oidc.ts'
import { sealActivities } from '../activities/seal.ts'
import type { Database, WriteContext } from '../database/database.ts'
import { forgetOldKeys } from '../idempotency/store.ts'
import { addOrganization, initialize } from '../installation/initialize.ts'
import { createSample } from '../installation/sample.ts'
import { noteKeyUse } from '../keys/key-use.ts'
import type { ActionCall } from '../operation/console-action.ts'
import type { OperationRequest, OperationSettings } from '../operation/operation.ts'
import { progressWrites } from '../progress/writes.ts'
import {
  claimServiceChecks,
  recordServiceCheck,
  type ServiceCheckRecord,
  type ServiceClaim,
} from '../services/store.ts'
import { createSignInLink } from '../sessions/open-session.ts'
import { forgetOldSessions, type SessionUse, setSessionUsedAt } from '../sessions/store.ts'
import { writeActivity, writeOperation } from './execute-operation.ts'

export function makeWrites(settings: OperationSettings) {
  return {
    writeOperation: ({ sql, vault }: WriteContext, request: OperationRequest) =>
      writeOperation({ sql, vault, settings }, request),
    writeActivity,
    // Loaded with the first action, so that the writer thread needs no memory for the console until it is used.
    writeAction: async ({ sql, vault }: WriteContext, call: ActionCall) =>
      (await import('./execute-action.ts')).writeAction({ sql, vault, settings }, call),
    createSignInLink,
    signInWithOidc,
    noteSessionUse: ({ sql }: WriteContext, use: SessionUse) => setSessionUsedAt(sql, use),
    forgetOldSessions: ({ sql }: WriteContext, input: { now: string }) => forgetOldSessions(sql, input.now),
    forgetOldKeys: ({ sql }: WriteContext, input: { now: string }) => forgetOldKeys(sql, input.now),
    noteKeyUse,
    claimServiceChecks: ({ sql }: WriteContext, claim: ServiceClaim) => claimServiceChecks(sql, claim),
    recordServiceCheck: ({ sql }: WriteContext, record: ServiceCheckRecord) => recordServiceCheck(sql, record),
    ...progressWrites,
    sealActivities,
    initialize,
    addOrganization,
    createSample,
  }
}

type WriteList = ReturnType<typeof makeWrites>

export type PenstockDatabase = Database<WriteList>
