// Who sends a request, and the answer when nobody knows.
import { Problem } from '../lib/problem.ts'

export type Role = 'admin' | 'developer'

/** Who is asking: an API key or a person with a session, either of which has been checked. */
export interface Caller {
  type: 'key' | 'user'
  /** The id of the key's record or of the user, which is what activities name. */
  id: string
  /** Of a user; a key has none. */
  sessionId?: string
  /** Empty for a user in an operation whose path names no organization. */
  organizationId: string
  address: string
  userAgent: string
}

/** Unknown key, wrong secret, disabled, expired, no header at all: one and the same answer. */
export function unauthorized(): Problem {
  return new Problem(
    'unauthorized',
    'send a valid API key: header "Authorization: Basic", key id as user name and key secret as password',
    { headers: { 'www-authenticate': 'Basic realm="penstock"' } },
  )
}

/** Without a challenge: with one the browser would open a password window of its own, which no session can be typed into. */
export function signInAgain(): Problem {
  return new Problem('unauthorized', 'you are not signed in, or your session has ended; sign in again')
}
