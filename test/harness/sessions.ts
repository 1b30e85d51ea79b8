// People, sign-ins and sessions for the tests of sessions.
import { hashPassword } from '../../src/lib/password.ts'
import type { TestApp, TestResponse, TestSession } from './test-app.ts'
import { freshAddress } from './world.ts'

export const password = 'correct horse battery staple'
export const origin = 'https://penstock.example.com'

export const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString()

const passwordHash = hashPassword(password)

/** A person who can sign in, in an organization of their own. */
export async function addPerson(app: TestApp) {
  const { organizationId, adminUserId: userId } = await app.addOrganization()
  await app.query(`UPDATE users SET password_hash = '${await passwordHash}' WHERE id = '${userId}'`)
  return { organizationId, userId, email: `${userId}@northwind.example` }
}

export function signIn(app: TestApp, body: unknown, headers: Record<string, string> = {}): Promise<TestResponse> {
  return app.request('POST', '/console/api/session', {
    key: null,
    body,
    address: freshAddress(),
    headers: { origin, 'user-agent': 'Firefox', ...headers },
  })
}

/** Cookies and CSRF token of a browser after this response. */
function cookieOf(response: TestResponse): string {
  return String(response.headers['set-cookie']).split(';')[0]!
}

export function tokenOf(response: TestResponse): string {
  return cookieOf(response).split('=')[1]!
}

/** The session of a browser that has read the CSRF token. */
export async function browserOf(app: TestApp, response: TestResponse): Promise<TestSession> {
  const cookie = cookieOf(response)
  const session = await app.request('GET', '/console/api/session', { key: null, headers: { cookie } })
  const { csrfToken, sessionId } = session.body.result
  const headers = { cookie, origin, 'sec-fetch-site': 'same-origin', 'x-csrf-token': csrfToken }
  return { id: sessionId, token: tokenOf(response), csrfToken, headers }
}

export async function sessionIdsOf(app: TestApp, userId: string): Promise<string[]> {
  const rows = await app.query<{ id: string }>(
    `SELECT id FROM sessions WHERE user_id = '${userId}' ORDER BY created_at, id`,
  )
  return rows.map(({ id }) => id)
}

export async function isSignedIn(app: TestApp, session: TestSession): Promise<boolean> {
  const { body } = await app.request('GET', '/console/api/session', { session, address: freshAddress() })
  return body.result.signedIn
}
