// Authenticates requests by API key or session, and records the last use of each with a delay.

import type { PenstockDatabase } from '../execution/writes.ts'
import type { Authentication } from '../http/admission.ts'
import { addressAllowed } from '../keys/ip-access.ts'
import { type ApiKey, hashSecret, isKeyId, keyOpens } from '../keys/key.ts'
import { findKey } from '../keys/store.ts'
import { describeError } from '../lib/describe-error.ts'
import { LastUsed } from '../lib/last-used.ts'
import type { Log } from '../lib/log.ts'
import type { Vault } from '../lib/vault.ts'
import { csrfTokenOf, isSessionToken, sessionTokenHash } from '../sessions/session.ts'
import { type ActiveSession, findSession } from '../sessions/store.ts'

export interface OpenAuthentication {
  keyUses: LastUsed<ApiKey>
  sessionUses: LastUsed<ActiveSession>
  authentication: Omit<Authentication, 'guard'>
}

export function openAuthentication(parts: { database: PenstockDatabase; vault: Vault; log: Log }): OpenAuthentication {
  const { database, vault, log } = parts
  const { reader } = database
  const useNotNoted = (error: unknown): void =>
    log.debug('the use of a key or a session could not be noted', { error: describeError(error) })
  const keyUses = new LastUsed<ApiKey>(
    ({ id, organizationId }, usedAt) => database.write('noteKeyUse', { id, organizationId, usedAt }, organizationId),
    useNotNoted,
  )
  const sessionUses = new LastUsed<ActiveSession>(
    ({ id, userId }, usedAt) => database.write('noteSessionUse', { id, usedAt }, userId),
    useNotNoted,
  )
  return {
    keyUses,
    sessionUses,
    authentication: {
      hashSecret: (secret) => hashSecret(vault, secret),
      async authenticate(keyId, secretHash, address) {
        const key = isKeyId(keyId) ? await findKey(reader, keyId) : undefined
        if (!keyOpens(key, secretHash)) return undefined
        keyUses.note(key!)
        const { id, organizationId, role, ipAccessList } = key!
        return { id, keyId, organizationId, role, addressAllowed: addressAllowed(ipAccessList, address) }
      },
      async findPerson(token, organizationId) {
        if (!isSessionToken(token)) return undefined
        const key = { tokenHash: sessionTokenHash(vault, token), organizationId }
        const session = await findSession(reader, key, new Date().toISOString())
        if (!session) return undefined
        sessionUses.note(session)
        const { id: sessionId, userId, role } = session
        return { sessionId, userId, role, csrfToken: csrfTokenOf(vault, token) }
      },
    },
  }
}
