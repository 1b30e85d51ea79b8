// The authenticated caller of a request, and the 401 problems.
import { Problem } from '../lib/problem.ts'

export type Role = 'admin' | 'developer'

/** An authenticated API key, or a person with a valid session. */
export interface Caller {
  type: 'key' | 'user'
  /** Id of the key record or the user, as in activities. */
  id: string
  /** Of a user only. */
  sessionId?: string
  /** Empty for a user when the path names no organization. */
  organizationId: string
  address: string
  userAgent: string
}

/** Same response for an unknown key, a wrong secret, a disabled or expired key, and a missing header. */
export function unauthorized(): Problem {
  return new Problem(
    'unauthorized',
    'send a valid API key: header "Authorization: Basic", key id as user name and key secret as password',
    { headers: { 'www-authenticate': 'Basic realm="penstock"' } },
  )
}

/** Without WWW-Authenticate: the browser would open its own password dialog. */
export function signInAgain(): Problem {
  return new Problem('unauthorized', 'you are not signed in, or your session has ended; sign in again')
}
