import type { WriteContext } from '../database/database.ts'
import { newKey } from '../keys/key.ts'
import { insertKey } from '../keys/store.ts'
import { newId } from '../lib/id.ts'
import { insertMember, insertUser } from '../members/store.ts'
import { insertOrganization } from '../organizations/store.ts'
import { sealKeyCheck } from './installation.ts'
import { insertKeyCheck } from './store.ts'

export interface FirstOrganization {
  organizationName: string
  adminName: string
  adminEmail: string
}

export interface Initialized {
  organizationId: string
  adminUserId: string
  keyId: string
  /** Shown once. */
  keySecret: string
}

/** The first organization with its admin and an admin key. Returns undefined when there is one already. */
export async function initialize(
  { sql, vault }: WriteContext,
  input: FirstOrganization,
): Promise<Initialized | undefined> {
  const now = new Date().toISOString()
  if (!(await insertKeyCheck(sql, sealKeyCheck(vault), now))) return undefined
  const organizationId = newId()
  const adminUserId = newId()
  await insertOrganization(sql, { id: organizationId, name: input.organizationName, now })
  await insertUser(sql, { id: adminUserId, name: input.adminName, email: input.adminEmail, now })
  await insertMember(sql, { organizationId, userId: adminUserId, role: 'admin', now })
  const key = newKey(vault)
  await insertKey(sql, { id: newId(), organizationId, key, name: 'First admin key', role: 'admin', now })
  return { organizationId, adminUserId, keyId: key.keyId, keySecret: key.secret.reveal() }
}
