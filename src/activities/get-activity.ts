import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { idParameter, OrganizationPath } from '../organizations/organization.ts'
import { Activity, activityExample, activityNotFound } from './activity.ts'
import { findActivity } from './store.ts'

export const getActivity = operation({
  id: 'getActivity',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/activities/{activityId}',
  tag: 'Organization',
  summary: 'Get activity',
  description: 'Returns one entry of the audit log: a change with its actor, address and changed fields.',
  access: 'developer',
  params: Type.Object({ ...OrganizationPath, activityId: idParameter('Id of the activity.') }),
  result: Activity,
  problems: [],
  example: { summary: 'A member was made an admin', result: activityExample },
  async run({ sql }, { params }) {
    const activity = await findActivity(sql, params.organizationId, params.activityId)
    if (!activity) throw activityNotFound(params.organizationId, params.activityId)
    return { result: activity }
  },
})
