// An invitation lets whoever has its link join the organization, once and for a week. The token in the link is shown once
// and stored only as a keyed hash, like the secret of an API key.
import type { Sql } from '../database/sql.ts'
import { randomBase62 } from '../lib/id.ts'
import { notFound, Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { Secret } from '../lib/secret.ts'
import type { Vault } from '../lib/vault.ts'
import { MemberRole } from '../members/member.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'
import { findInvitation, findInvitationByToken, type InvitationOfToken, type StoredInvitation } from './store.ts'

export const invitationDays = 7

const tokenPrefix = 'inv_'
/** 43 base62 characters hold 256 random bits. */
const tokenLength = 43

export const InvitationPath = Type.Object({ ...OrganizationPath, invitationId: idParameter('The invitation.') })

const invitationFields = {
  id: Type.String({ format: 'uuid' }),
  email: Type.String({ format: 'email', description: 'Who is invited; in lower case.' }),
  role: MemberRole,
  createdAt: Type.String({ format: 'date-time' }),
  expireAt: Type.String({ format: 'date-time', description: 'From then on the link is refused.' }),
}

export const Invitation = Type.Object(invitationFields, { $id: 'Invitation', additionalProperties: false })
export type Invitation = Static<typeof Invitation>

/** The answer that has the link: the only one there is. */
export const InvitationWithLink = Type.Object(
  {
    ...invitationFields,
    link: Type.String({
      description:
        'Where the invitation is accepted; send it to the person. Whoever has it can join: it is shown only in this answer.',
    }),
  },
  { $id: 'InvitationWithLink', additionalProperties: false },
)

export const InvitationCreate = Type.Object(
  { email: Type.String({ format: 'email', maxLength: 254, description: 'Who is invited.' }), role: MemberRole },
  { $id: 'InvitationCreate', additionalProperties: false },
)

export const invitationExample: Invitation = {
  id: 'b2f7c9d4-1e5a-4c38-9f06-7a8d3e2c5b41',
  email: 'noor.haddad@northwind.example',
  role: 'developer',
  createdAt: '2026-11-02T16:40:09.120Z',
  expireAt: '2026-11-09T16:40:09.120Z',
}

/** As the console sends it: what stands behind `#` in the link. Not checked for its form: a wrong one is not found. */
export const InvitationToken = Type.String({ maxLength: 100, secret: true, writeOnly: true })

export interface NewInvitationToken {
  token: Secret
  tokenHash: string
}

export function newInvitationToken(vault: Vault): NewInvitationToken {
  const token = `${tokenPrefix}${randomBase62(tokenLength)}`
  return { token: new Secret(token), tokenHash: hashInvitationToken(vault, token) }
}

function hashInvitationToken(vault: Vault, token: string): string {
  return vault.fingerprint('invitation', token)
}

/** The token stands behind `#`: browsers keep that part to themselves, so that it is in no server's log. */
export function linkTo(publicUrl: string, token: Secret): string {
  return `${publicUrl}/console/invitations/accept#${token.reveal()}`
}

export async function loadInvitation(sql: Sql, organizationId: string, id: string): Promise<StoredInvitation> {
  const stored = await findInvitation(sql, organizationId, id)
  if (!stored) throw notFound(`invitation ${id} was not found in organization ${organizationId}`)
  return stored
}

/** Unknown, accepted, deleted, expired: one and the same answer. */
export async function loadValidInvitation(
  sql: Sql,
  vault: Vault,
  token: string,
  now: string,
): Promise<InvitationOfToken> {
  const found = await findInvitationByToken(sql, hashInvitationToken(vault, token))
  if (found && now < found.invitation.expireAt) return found
  throw new Problem(
    'invitation_not_valid',
    'this invitation was accepted or withdrawn, or has expired; ask whoever invited you for a new one',
  )
}
