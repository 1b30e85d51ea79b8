import { notFound, type Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'

const anyValue = (description: string) => Type.Optional<unknown>({ description })

const ActivityChange = Type.Object(
  {
    field: Type.String({ description: 'Path of the field, such as `settings.streaming_max_insert_wait_ms`.' }),
    from: anyValue('Previous value. Absent if the field had no value, and for a secret.'),
    to: anyValue('New value. Absent if the field was cleared; `changed` for a secret.'),
  },
  { $id: 'ActivityChange', description: 'One changed field.', additionalProperties: false },
)

export const Activity = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Id of the activity. Ids sort by time.' }),
    type: Type.String({ description: 'Type of the change, such as `member_role_changed`.' }),
    createdAt: Type.String({ format: 'date-time', description: 'When the change was made.' }),
    actor: Type.Object(
      {
        type: Type.Enum(['key', 'user', 'system'], {
          description: '`key`: an API key. `user`: a user of the console. `system`: Penstock itself.',
        }),
        id: Type.String({ description: '`id` of the API key, or `userId` of the user.' }),
        name: Type.Optional(
          Type.String({ description: 'Current name of the API key or the user. Absent if it was deleted.' }),
        ),
      },
      { additionalProperties: false, description: 'Who made the change.' },
    ),
    address: Type.String({ description: 'IP address that sent the request.' }),
    userAgent: Type.String({
      description: 'Header `User-Agent` of the request, at most 512 characters.',
    }),
    requestId: Type.String({
      format: 'uuid',
      description: 'Id of the request, as in the header `X-Request-Id` of its response.',
    }),
    target: Type.Object(
      {
        type: Type.String({ description: 'Type of the resource, such as `member` or `pipe`.' }),
        id: Type.String({ description: 'Id of the resource.' }),
      },
      {
        description: 'Changed resource, with the ids of its parents, such as `serviceId`.',
        additionalProperties: Type.String(),
      },
    ),
    changes: Type.Array(ActivityChange, { description: 'Changed fields with their previous and new values.' }),
  },
  { $id: 'Activity', description: 'One change in the organization.', additionalProperties: false },
)
export type Activity = Static<typeof Activity>

export const activityExample: Activity = {
  id: '01a11be3-1d90-7000-8d4f-3b1e5a7c9d20',
  type: 'member_role_changed',
  createdAt: '2026-10-08T14:20:31.504Z',
  actor: { type: 'key', id: '4f6f2d7e-58a5-4e6c-9d5e-0d6d1f3c2b1a', name: 'First admin key' },
  address: '192.0.2.44',
  userAgent: 'curl/8.9.1',
  requestId: '5d1c2a3e-7f64-4b0a-9c1e-2f8b7d6a5e43',
  target: { type: 'member', id: '7c9e6679-7425-40de-944b-e07fc1f90ae7' },
  changes: [{ field: 'role', from: 'developer', to: 'admin' }],
}

export function activityNotFound(organizationId: string, activityId: string): Problem {
  return notFound(`activity ${activityId} was not found in organization ${organizationId}`)
}
