// An invitation lets the holder of its link join the organization once, within 7 days. The token in the link is shown once and
// stored only as a keyed hash.
import { randomBase62 } from '../lib/id.ts'
import { type Static, Type } from '../lib/schema.ts'
import { Secret } from '../lib/secret.ts'
import type { Vault } from '../lib/vault.ts'
import { MemberRole } from '../members/member.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'

export const invitationDays = 7

const tokenPrefix = 'inv_'
/** 43 base62 characters hold 256 random bits. */
const tokenLength = 43

export const InvitationPath = Type.Object({ ...OrganizationPath, invitationId: idParameter('Id of the invitation.') })

const invitationFields = {
  id: Type.String({ format: 'uuid', description: 'Id of the invitation.' }),
  email: Type.String({ format: 'email', description: 'Email address of the invited person, in lower case.' }),
  role: MemberRole,
  createdAt: Type.String({ format: 'date-time', description: 'When the invitation was created.' }),
  expireAt: Type.String({ format: 'date-time', description: 'When the link expires.' }),
}

export const Invitation = Type.Object(invitationFields, {
  $id: 'Invitation',
  description: 'Invitation to an organization.',
  additionalProperties: false,
})
export type Invitation = Static<typeof Invitation>

/** The only response that has the link. */
export const InvitationWithLink = Type.Object(
  {
    ...invitationFields,
    link: Type.String({
      description:
        'URL to accept the invitation. Send it to the invited person. Anyone with the link can join. It is returned only ' +
        'in this response.',
    }),
  },
  { $id: 'InvitationWithLink', description: 'New invitation with its link.', additionalProperties: false },
)

export const InvitationCreate = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: 254, description: 'Email address of the person to invite.' }),
    role: MemberRole,
  },
  { $id: 'InvitationCreate', description: 'Invitation to create.', additionalProperties: false },
)

export const invitationExample: Invitation = {
  id: 'b2f7c9d4-1e5a-4c38-9f06-7a8d3e2c5b41',
  email: 'noor.haddad@northwind.example',
  role: 'developer',
  createdAt: '2026-11-02T16:40:09.120Z',
  expireAt: '2026-11-09T16:40:09.120Z',
}

/** The fragment of the link. Its format is not checked: a malformed token is not found. */
export const InvitationToken = Type.String({ maxLength: 100, secret: true, writeOnly: true })

export interface NewInvitationToken {
  token: Secret
  tokenHash: string
}

export function newInvitationToken(vault: Vault): NewInvitationToken {
  const token = `${tokenPrefix}${randomBase62(tokenLength)}`
  return { token: new Secret(token), tokenHash: hashInvitationToken(vault, token) }
}

export function hashInvitationToken(vault: Vault, token: string): string {
  return vault.fingerprint('invitation', token)
}

/** The token is in the fragment, which browsers do not send, so it does not reach server logs. */
export function linkTo(publicUrl: string, token: Secret): string {
  return `${publicUrl}/console/invitations/accept#${token.reveal()}`
}
