import type { WriteContext } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'
import { newKey } from '../keys/key.ts'
import { insertKey } from '../keys/store.ts'
import { newId } from '../lib/id.ts'
import { insertMember, insertUser } from '../members/store.ts'
import { insertOrganization } from '../organizations/store.ts'
import { findPersonByEmail } from '../sessions/store.ts'
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
export async function initialize(context: WriteContext, input: FirstOrganization): Promise<Initialized | undefined> {
  const { sql, vault } = context
  const now = new Date().toISOString()
  if (!(await insertKeyCheck(sql, sealKeyCheck(vault), now))) return undefined
  return makeOrganization(context, input.organizationName, await makePerson(sql, input, now), now)
}

/** Another one. Its admin is who has the email already; undefined when nobody has, and there is no name for somebody new. */
export async function addOrganization(
  context: WriteContext,
  input: FirstOrganization,
): Promise<Initialized | undefined> {
  const { sql } = context
  const now = new Date().toISOString()
  const known = (await findPersonByEmail(sql, input.adminEmail.toLowerCase()))?.id
  if (!known && input.adminName === '') return undefined
  return makeOrganization(context, input.organizationName, known ?? (await makePerson(sql, input, now)), now)
}

async function makePerson(sql: Sql, { adminName, adminEmail }: FirstOrganization, now: string): Promise<string> {
  const id = newId()
  await insertUser(sql, { id, name: adminName, email: adminEmail, now })
  return id
}

async function makeOrganization(
  { sql, vault }: WriteContext,
  name: string,
  adminUserId: string,
  now: string,
): Promise<Initialized> {
  const organizationId = newId()
  await insertOrganization(sql, { id: organizationId, name, now })
  await insertMember(sql, { organizationId, userId: adminUserId, role: 'admin', now })
  const key = newKey(vault)
  await insertKey(sql, { id: newId(), organizationId, key, name: 'First admin key', role: 'admin', now })
  return { organizationId, adminUserId, keyId: key.keyId, keySecret: key.secret.reveal() }
}
