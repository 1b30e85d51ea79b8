import { asciiLowerCase } from '../lib/ascii-case.ts'
import { newId } from '../lib/id.ts'
import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { isMember } from '../members/store.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import {
  type Invitation,
  InvitationCreate,
  InvitationWithLink,
  invitationDays,
  invitationExample,
  linkTo,
  newInvitationToken,
} from './invitation.ts'
import { findInvitationByEmail, insertInvitation, removeInvitation } from './store.ts'

export const createInvitation = operation({
  id: 'createInvitation',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/invitations',
  tag: 'User management',
  summary: 'Create invitation',
  description:
    'Creates an invitation to the organization. Penstock sends no email: send the `link` of the response to the ' +
    `person. The link is valid for ${invitationDays} days, can be used once, and is returned only in this response. ` +
    'An expired invitation for the same email address is replaced.',
  access: 'admin',
  activity: 'invitation_created',
  params: Type.Object(OrganizationPath),
  body: InvitationCreate,
  result: InvitationWithLink,
  problems: ['already_member', 'invitation_exists'],
  example: {
    summary: 'Invite a developer',
    body: { email: invitationExample.email, role: invitationExample.role },
    result: {
      ...invitationExample,
      link: 'https://penstock.example.com/console/invitations/accept#inv_<43 random characters>',
    },
  },
  async run({ sql, vault, settings, now, record }, { params, body }) {
    const { organizationId } = params
    const { role } = body
    const email = asciiLowerCase(body.email)
    if (await isMember(sql, organizationId, email)) {
      throw new Problem('already_member', `${email} is already a member of organization ${organizationId}`)
    }
    const earlier = await findInvitationByEmail(sql, organizationId, email)
    if (earlier && now < earlier.expireAt) {
      throw new Problem(
        'invitation_exists',
        `${email} is already invited, until ${earlier.expireAt}; to send a new link, delete invitation ${earlier.id} first`,
      )
    }
    if (earlier) await removeInvitation(sql, organizationId, earlier.id)

    const expiry = new Date(now)
    expiry.setUTCDate(expiry.getUTCDate() + invitationDays)
    const invitation: Invitation = { id: newId(), email, role, createdAt: now, expireAt: expiry.toISOString() }
    const { token, tokenHash } = newInvitationToken(vault)
    await insertInvitation(sql, organizationId, invitation, tokenHash)
    const replaced = earlier && { id: earlier.id, email, role: earlier.role, expireAt: earlier.expireAt }
    record({ type: 'invitation', id: invitation.id }, [
      { field: 'invitation', ...(replaced ? { from: replaced } : {}), to: { email, role } },
    ])
    return { result: { ...invitation, link: linkTo(settings.publicUrl, token) } }
  },
})
