// Watches the session: it may end, switch to another person, or lose an organization or a role.
import type { QueryClient } from '@tanstack/react-query'
import type { RegisteredRouter } from '@tanstack/react-router'
import { loadPageAgain, rereadSession, type Session, sessionQuery } from './session.ts'

const isSession = (queryKey: readonly unknown[]): boolean => queryKey[0] === sessionQuery.queryKey[0]

export function watchSession(queries: QueryClient, router: RegisteredRouter): void {
  let known = queries.getQueryData(sessionQuery.queryKey)
  // Session of the last signed-in person.
  let person = known?.signedIn ? known : undefined

  const compare = (session: Session): void => {
    const before = known
    const personBefore = person
    known = session
    // The shell asks to sign in again; until then the page stays with all input.
    if (!session.signedIn) return
    person = session
    // Other pages, such as the sign-in page, do not depend on the person.
    if (!personBefore || !router.state.matches.some(({ routeId }) => routeId === '/signed-in')) return
    if (personBefore.user.id !== session.user.id) {
      // No data or input of one person may stay for another.
      void loadPageAgain('/console/')
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
