import { notFound, type Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'

const anyValue = (description: string) => Type.Optional<unknown>({ description })

const ActivityChange = Type.Object(
  {
    field: Type.String({ description: 'The path of the field, such as `settings.streaming_max_insert_wait_ms`.' }),
    from: anyValue('What it was, any JSON value. Absent when the field had no value, and for a secret.'),
    to: anyValue('What it became. Absent when the field has no value any more; `changed` for a secret.'),
  },
  { $id: 'ActivityChange', additionalProperties: false },
)

export const Activity = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Ids of later activities sort later.' }),
    type: Type.String({ description: 'What was done, such as `member_role_changed`.' }),
    createdAt: Type.String({ format: 'date-time', description: 'When it was done.' }),
    actor: Type.Object(
      {
        type: Type.Enum(['key', 'user', 'system'], {
          description: 'Who did it: an API key, a person in the console, or Penstock itself.',
        }),
        id: Type.String({ description: 'The id of the record of the key, or of the user.' }),
        name: Type.Optional(
          Type.String({ description: 'The present name of the key or the user. Absent when it is gone.' }),
        ),
      },
      { additionalProperties: false },
    ),
    address: Type.String({ description: 'The IP address that the request came from.' }),
    userAgent: Type.String({
      description: 'What the client called itself: its header `User-Agent`, at most 512 characters.',
    }),
    requestId: Type.String({ format: 'uuid', description: 'The request: as its answer had it in `X-Request-Id`.' }),
    target: Type.Object(
      {
        type: Type.String({ description: 'The kind of resource, such as `member` or `pipe`.' }),
        id: Type.String({ description: 'The resource.' }),
      },
      {
        description: 'What was changed, with the ids of what it belongs to, such as `serviceId`.',
        additionalProperties: Type.String(),
      },
    ),
    changes: Type.Array(ActivityChange, { description: 'The fields that were changed.' }),
  },
  { $id: 'Activity', additionalProperties: false },
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
