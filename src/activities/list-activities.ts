import { firstIdAt } from '../lib/id.ts'
import { pageOf, pageQuery, readPage, shortened } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import { Activity, activityExample } from './activity.ts'
import { listActivitySizes, listActivities as listRows } from './store.ts'

const dateTime = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', maxLength: 64, description }))

const beforeAll = firstIdAt(0)
const afterAll = 'g'

export const listActivities = operation({
  id: 'listActivities',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/activities',
  tag: 'Organization',
  summary: 'List activities',
  description:
    'Returns the audit log of the organization, newest first: every change, with its actor, address and changed ' +
    'fields. Activities cannot be changed or deleted. The log is tamper-evident: `penstock audit verify` detects ' +
    'later changes in the database.',
  access: 'developer',
  params: Type.Object(OrganizationPath),
  query: Type.Object(
    {
      ...pageQuery,
      from_date: dateTime('Returns only activities at or after this time.'),
      to_date: dateTime('Returns only activities before this time.'),
      type: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          pattern: '^[a-z_]+$',
          patternHint: 'lower-case letters and underscores such as member_role_changed',
          description: 'Returns only activities of this type, such as `member_role_changed`.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  result: Type.Array(Activity, { description: 'Activities, newest first.' }),
  problems: [],
  example: { summary: 'A member was made an admin', result: [activityExample] },
  async run({ sql }, { params, query }) {
    const { from_date, to_date, type } = query
    const from = from_date === undefined ? beforeAll : firstIdAt(millisecondOf(from_date))
    const to = to_date === undefined ? afterAll : firstIdAt(millisecondOf(to_date))
    if (from > to) {
      const detail = `from_date must not be after to_date, but ${from_date} is after ${to_date}`
      throw new Problem('invalid_query', detail, {
        fields: ['from_date', 'to_date'].map((path) => ({ path, detail })),
      })
    }
    const requested = readPage(query)
    // Ids are ordered by time, so the id alone finds the next page.
    const [, lastId] = requested.after
    const before = query.cursor !== undefined && lastId < to ? lastId : to
    const range = { organizationId: params.organizationId, type, from, before }
    const page = shortened(requested, await listActivitySizes(sql, { ...range, rows: requested.rows }))
    const found = await listRows(sql, { ...range, rows: page.rows })
    const { rows, ...next } = pageOf(page, found, ({ createdAt, id }) => [createdAt, id])
    return { result: rows, ...next }
  },
})

/** Activities have millisecond precision: a time between two milliseconds is rounded up. */
function millisecondOf(dateTime: string): number {
  const beyond = /\.\d{3}\d*[1-9]/.test(dateTime) ? 1 : 0
  return Date.parse(dateTime) + beyond
}
