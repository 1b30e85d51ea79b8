// The start and callback URLs of a sign-in with an OpenID provider. Every failure redirects to the sign-in page.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { FairQueue, QueueFull } from '../lib/fair-queue.ts'
import { networkOf } from '../lib/ip-range.ts'
import { OwnCookie } from './cookie.ts'
import { refuseOtherMethods } from './methods.ts'
import { plainAddress, userAgentOf } from './request.ts'
import type { SessionGuard } from './session-guard.ts'

export interface OidcRouteParts {
  publicUrl: string
  guard: SessionGuard
  /** How long the sign-in at the provider may take. */
  attemptSeconds: number
  begin(to: string | undefined): Promise<{ location: string; attempt: string }>
  finish(returned: {
    query: string
    attempt: string | undefined
    address: string
    userAgent: string
  }): Promise<{ to: string; sessionToken: string }>
  /** The requested page if it is one of the console, otherwise its start page. */
  pageAsked(to: string | undefined): string
  /** The page to open after an attempt; undefined when the attempt is not one of ours. */
  pageOfAttempt(attempt: string | undefined): string | undefined
  /** Logs the error and returns the code for which the console has a message. */
  explain(error: unknown, requestId: string): string
}

const contentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function serveOidc(server: FastifyInstance, parts: OidcRouteParts): void {
  const { publicUrl, guard } = parts
  // Lax: the browser returns from another site.
  const cookie = new OwnCookie('penstock-oidc', publicUrl, 'Lax')
  /**
   * Each callback sends requests to the provider, so only a few run at once. Failures are not counted by address: that would
   * lock out others behind the same address.
   */
  const returns = new FairQueue({ atOnce: 8, mostWaiting: 256, mostWaitingPerKey: 32 })

  const route = (
    url: string,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void => {
    server.route({ method: 'GET', url, handler: (request, reply) => handler(request, prepare(request, reply)) })
    refuseOtherMethods(server, url, ['GET'])
  }
  /** Keeps the requested page, so that signing in another way still leads there. */
  const toSignIn = (reply: FastifyReply, problem: string, page: string | undefined): FastifyReply => {
    const to = page === undefined || page === '/console/' ? '' : `&to=${encodeURIComponent(page)}`
    return reply.redirect(`${publicUrl}/console/sign-in?problem=${problem}${to}`, 303)
  }

  route('/console/oidc/start', async (request, reply) => {
    const { to } = request.query as Record<string, unknown>
    const asked = typeof to === 'string' ? to : undefined
    try {
      const { location, attempt } = await parts.begin(asked)
      reply.header('set-cookie', cookie.set(attempt, parts.attemptSeconds))
      return reply.redirect(location, 303)
    } catch (error) {
      return toSignIn(reply, parts.explain(error, request.penstock.requestId), parts.pageAsked(asked))
    }
  })

  route('/console/oidc/callback', async (request, reply) => {
    const address = plainAddress(request)
    const attempt = cookie.read(request.headers.cookie)
    // The attempt is over, whatever its outcome.
    reply.header('set-cookie', cookie.set(null, 0))
    try {
      const query = /\?.*$/s.exec(request.url)?.[0] ?? ''
      const returned = { query, attempt, address, userAgent: userAgentOf(request) }
      const { to, sessionToken } = await returns.run(networkOf(address), () => parts.finish(returned))
      return reply
        .header('set-cookie', guard.cookies({ sessionToken }))
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', contentSecurityPolicy)
        .header('x-content-type-options', 'nosniff')
        .send(goOnPage(`${publicUrl}${to}`))
    } catch (error) {
      const problem = error instanceof QueueFull ? 'oidc_busy' : parts.explain(error, request.penstock.requestId)
      return toSignIn(reply, problem, parts.pageOfAttempt(attempt))
    }
  })
}

function prepare(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .header('x-request-id', request.penstock.requestId)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
}

/**
 * A page that forwards to the console. After a redirect the browser would not send the `SameSite=Strict` session cookie, because
 * the navigation began at the provider's site.
 */
function goOnPage(url: string): string {
  const escaped = url.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Signed in · Penstock</title>` +
    `<meta http-equiv="refresh" content="0; url=${escaped}"><p><a href="${escaped}">Go on to the console</a></p></html>\n`
  )
}
