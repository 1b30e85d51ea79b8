// Keeps the open page true to the session: it may end, become another person's, or lose an organization or a role.
import type { QueryClient } from '@tanstack/react-query'
import type { RegisteredRouter } from '@tanstack/react-router'
import { loadAnew, rereadSession, type Session, sessionQuery } from './session.ts'

const isSession = (queryKey: readonly unknown[]): boolean => queryKey[0] === sessionQuery.queryKey[0]

export function watchSession(queries: QueryClient, router: RegisteredRouter): void {
  let known = queries.getQueryData(sessionQuery.queryKey)
  // Of the last person who was signed in here.
  let person = known?.signedIn ? known : undefined

  const compare = (session: Session): void => {
    const before = known
    const personBefore = person
    known = session
    // The frame of the page asks to sign in again; until then the page stands, with all that was typed.
    if (!session.signedIn) return
    person = session
    // Other pages, as the one for signing in, do not depend on who is signed in.
    if (!personBefore || !router.state.matches.some(({ routeId }) => routeId === '/signed-in')) return
    if (personBefore.user.id !== session.user.id) {
      // Nothing that one person was shown or typed may stay for another.
      void loadAnew('/console/')
      return
    }
    if (before?.signedIn === false) {
      void queries.invalidateQueries({ predicate: ({ queryKey }) => !isSession(queryKey) })
      void router.invalidate()
    } else if (JSON.stringify(personBefore.organizations) !== JSON.stringify(session.organizations)) {
      void router.invalidate()
    }
  }

  queries.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated') return
    const { query, action } = event
    if (isSession(query.queryKey)) {
      if (action.type === 'success') compare(query.state.data as Session)
    } else if (action.type === 'error') {
      void rereadSession(queries, action.error)
    }
  })
  queries.getMutationCache().subscribe((event) => {
    if (event.type === 'updated' && event.action.type === 'error') void rereadSession(queries, event.action.error)
  })
}
