import type { WriteContext } from '../database/database.ts'
import type { Sql } from '../database/sql.ts'
import { newKey } from '../keys/key.ts'
import { insertKey } from '../keys/store.ts'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { newId } from '../lib/id.ts'
import { insertMember, insertUser } from '../members/store.ts'
import { insertOrganization } from '../organizations/store.ts'
import { findPersonByEmail, listOrganizationsOf } from '../sessions/store.ts'
import { sealKeyCheck } from './key-check.ts'
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

/** Creates the first organization with its admin and an admin key. Returns undefined when one exists already. */
export async function initialize(context: WriteContext, input: FirstOrganization): Promise<Initialized | undefined> {
  const { sql, vault } = context
  const now = new Date().toISOString()
  if (!(await insertKeyCheck(sql, sealKeyCheck(vault), now))) return undefined
  return makeOrganization(context, input.organizationName, await makePerson(sql, input, now), now)
}

export interface AnotherOrganization extends FirstOrganization {
  /** If true, the account with this email becomes admin; if false, no such account may exist. */
  isForExistingAccount: boolean
}

/** An existing account with the email address. */
export interface KnownAccount {
  name: string
  email: string
  createdAt: string
  organizationNames: string[]
}

/**
 * Creates another organization. Anyone who was once given a link for that email may own the existing account, so it becomes admin
 * only on request. `known` is the existing account, or undefined when nobody has the email.
 */
export async function addOrganization(
  context: WriteContext,
  input: AnotherOrganization,
): Promise<{ made: Initialized } | { known: KnownAccount | undefined }> {
  const { sql } = context
  const now = new Date().toISOString()
  const person = await findPersonByEmail(sql, asciiLowerCase(input.adminEmail))
  if (person && !input.isForExistingAccount) {
    const organizations = await listOrganizationsOf(sql, person.id)
    const organizationNames = organizations.map(({ name }) => name).sort()
    return { known: { name: person.name, email: person.email, createdAt: person.createdAt, organizationNames } }
  }
  if (!person && (input.isForExistingAccount || input.adminName === '')) return { known: undefined }
  const adminUserId = person?.id ?? (await makePerson(sql, input, now))
  return { made: await makeOrganization(context, input.organizationName, adminUserId, now) }
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
