/** The page to open after signing in: always a page of the console. */
export function pageAfterSignIn(to: string | undefined): string {
  if (!to?.startsWith('/')) return '/console/'
  return to === '/console' || to.startsWith('/console/') ? to : `/console${to}`
}
