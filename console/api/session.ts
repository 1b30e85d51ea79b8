// The signed-in person, and actions on the own account.
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
    /** True for a while after a sign-in by link: the current password is not needed. */
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

/** The signed-in person; only in routes that require one. */
export function useSignedIn(): SignedInSession {
  const { data } = useSuspenseQuery(sessionQuery)
  // When the session ends, the page stays until its person has signed in again or leaves.
  const session = data.signedIn ? data : lastSignedIn
  if (!session) throw new Error('nobody is signed in')
  return session
}

/** Refetches the session after a refusal that a changed session may have caused. */
export async function rereadSession(queries: QueryClient, refusal: unknown): Promise<void> {
  if (!(refusal instanceof PenstockError)) return
  const { status, message } = refusal
  const isAboutSession =
    status === 401 || status === 403 || (status === 404 && /\borganization \S+ was not found/.test(message))
  if (!isAboutSession) return
  // Already known; background reads must not ask each time.
  if (queries.getQueryData(sessionQuery.queryKey)?.signedIn === false) return
  // A failed read changes nothing.
  await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
}

/** Whether the signed-in person is an admin of the organization. */
export function useIsAdmin(organizationId: string): boolean {
  return useSignedIn().organizations.some(({ id, role }) => id === organizationId && role === 'admin')
}

/** Refetches the session and clears the data of the previous person. */
export function useSessionChange(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
  }
}

/** Opens a page by reloading the console, so that no data of the person stays in memory. */
export function loadPageAgain(path: '/console/' | '/console/sign-in' | '/console/invitations/accept'): Promise<never> {
  location.replace(path)
  // Never settles, so that the caller stops here.
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
