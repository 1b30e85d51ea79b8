/** Where to go after signing in: always a page of the console, whatever the link to the sign-in asked for. */
export function pageAfterSignIn(to: string | undefined): string {
  if (!to?.startsWith('/')) return '/console/'
  return to === '/console' || to.startsWith('/console/') ? to : `/console${to}`
}
