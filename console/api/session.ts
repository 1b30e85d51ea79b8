// Who is signed in, and what people do about their own account.
import { type QueryClient, queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { PenstockError } from '../../src/client/error.ts'
import type { Member } from '../../src/client/shapes.ts'
import { act, ask, setCsrfToken } from './client.ts'

export type Role = Member['role']

export interface SignInMethods {
  password: boolean
  oidc?: { name: string }
}

export interface SignedInSession {
  signedIn: true
  methods: SignInMethods
  user: {
    id: string
    name: string
    email: string
    hasPassword: boolean
    /** Without the present one: for a while after a sign-in by link. */
    mayReplacePassword: boolean
  }
  organizations: { id: string; name: string; role: Role }[]
  csrfToken: string
  sessionId: string
  expireAt: string
}

export type Session = { signedIn: false; methods: SignInMethods } | SignedInSession

export interface OpenSession {
  id: string
  createdAt: string
  usedAt: string
  address: string
  userAgent: string
  isCurrent: boolean
}

export interface InvitationLook {
  organizationName: string
  email: string
  role: Role
  expireAt: string
  invitedPerson: 'new' | 'known'
}

let lastSignedIn: SignedInSession | undefined

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    const session = await ask<Session>('GET', 'session')
    setCsrfToken(session.signedIn ? session.csrfToken : '')
    if (session.signedIn) lastSignedIn = session
    return session
  },
  staleTime: 60_000,
})

/** The person of this page; only below routes that need one. */
export function useSignedIn(): SignedInSession {
  const { data } = useSuspenseQuery(sessionQuery)
  // When the session ends, the page stands as it was until its person has signed in again, or has left.
  const session = data.signedIn ? data : lastSignedIn
  if (!session) throw new Error('nobody is signed in')
  return session
}

/** After a refusal: reads the session again if the refusal may come from a session that is not what the page takes it for. */
export async function rereadSession(queries: QueryClient, refusal: unknown): Promise<void> {
  if (!(refusal instanceof PenstockError)) return
  const { status, message } = refusal
  const isAboutSession =
    status === 401 || status === 403 || (status === 404 && /\borganization \S+ was not found/.test(message))
  if (!isAboutSession) return
  // Known already; pages that go on reading in the background must not ask each time.
  if (queries.getQueryData(sessionQuery.queryKey)?.signedIn === false) return
  // What could not be read leaves everything as it was.
  await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
}

/** Whether the person of this page may change things in the organization. */
export function useIsAdmin(organizationId: string): boolean {
  return useSignedIn().organizations.some(({ id, role }) => id === organizationId && role === 'admin')
}

/** Reads again who is signed in, and forgets what the person before was shown. */
export function useSessionChange(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
  }
}

/** Goes to a page by loading the console anew: nothing that the person was shown stays in memory. */
export function loadAnew(path: '/console/' | '/console/sign-in' | '/console/invitations/accept'): Promise<never> {
  location.replace(path)
  // Whatever waits for it goes no further.
  return new Promise(() => undefined)
}

export const account = {
  signIn: (email: string, password: string) => act<unknown>('POST', 'session', { email, password }),
  lookAtLink: (token: string) => ask<{ name: string; email: string }>('POST', 'link', { token }),
  signInWithLink: (token: string) => act<unknown>('POST', 'session/link', { token }),
  signOut: () => act<unknown>('DELETE', 'session'),
  signOutEverywhere: () => act<unknown>('DELETE', 'sessions'),
  sessions: () => ask<OpenSession[]>('GET', 'sessions'),
  lookAtInvitation: (token: string) => ask<InvitationLook>('POST', 'invitation', { token }),
  acceptInvitation: (input: { token: string; name?: string; password?: string }) =>
    act<{ organizationId: string }>('POST', 'invitation/accept', input),
  update: (change: { name: string }) => act<unknown>('PATCH', 'account', change),
  changePassword: (input: { currentPassword?: string; newPassword: string }) =>
    act<unknown>('POST', 'account/password', input),
}
