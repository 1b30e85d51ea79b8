import { type Static, Type } from '../lib/schema.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'

export const MemberRole = Type.Enum(['admin', 'developer'], {
  description: '`admin`: all operations. `developer`: read operations only.',
})

export const MemberPath = Type.Object({
  ...OrganizationPath,
  userId: idParameter('Id of the user, the same in every organization.'),
})

export const Member = Type.Object(
  {
    userId: Type.String({ format: 'uuid', description: 'Id of the user, the same in every organization.' }),
    name: Type.String({ description: 'Name from the profile of the user.' }),
    email: Type.String({ format: 'email', description: 'Email address from the profile of the user.' }),
    role: MemberRole,
    joinedAt: Type.String({ format: 'date-time', description: 'When the user joined the organization.' }),
  },
  { $id: 'Member', description: 'Member of an organization.', additionalProperties: false },
)
export type Member = Static<typeof Member>

export const MemberPatch = Type.Object(
  { role: MemberRole },
  { $id: 'MemberPatch', description: 'New role of a member.', additionalProperties: false },
)

export const memberExample: Member = {
  userId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  name: 'Amara Okafor',
  email: 'amara.okafor@northwind.example',
  role: 'developer',
  joinedAt: '2026-03-02T09:15:00.000Z',
}
