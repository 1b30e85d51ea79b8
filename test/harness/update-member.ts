// A member to update, and what was recorded of it.
import type { RequestOptions, TestApp } from './test-app.ts'

interface ActivityRow {
  type: string
  created_at: string
  actor_id: string
  address: string
  user_agent: string
  request_id: string
  target: string
  changes: string
}

export const problemJson = { accept: 'application/problem+json' }

export function memberUpdates(app: () => TestApp) {
  const path = (organizationId: string, userId: string) => `/v1/organizations/${organizationId}/members/${userId}`

  /** An organization of its own for each test: one admin, one developer. */
  async function setUp() {
    const organization = await app().addOrganization()
    const { organizationId, admin, adminUserId } = organization
    const userId = await app().addMember(organizationId, 'developer')
    const activities = () =>
      app().query<ActivityRow>(`SELECT * FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`)
    const patch = (body: unknown, options: RequestOptions = {}, of = userId) =>
      app().request('PATCH', path(organizationId, of), { key: admin, body, ...options })
    const get = (of = userId) => app().request('GET', path(organizationId, of), { key: admin })
    return { organizationId, admin, adminUserId, userId, activities, patch, get }
  }

  return { path, setUp }
}
