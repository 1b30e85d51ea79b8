// The two addresses of a sign-in with an OpenID provider: the way there and the way back. People see them only in passing;
// whatever goes wrong ends at the page where one signs in.
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
  /** How long the way there and back may take. */
  attemptSeconds: number
  begin(to: string | undefined): Promise<{ location: string; attempt: string }>
  finish(returned: {
    query: string
    attempt: string | undefined
    address: string
    userAgent: string
  }): Promise<{ to: string; sessionToken: string }>
  /** The page that somebody wants to go to, checked: one of the console, whatever was asked for. */
  pageAsked(to: string | undefined): string
  /** The page that an attempt was to lead to; undefined when the attempt is not one of ours. */
  pageOfAttempt(attempt: string | undefined): string | undefined
  /** Logs why it failed and gives the code that the console has a sentence for. */
  explain(error: unknown, requestId: string): string
}

const contentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function serveOidc(server: FastifyInstance, parts: OidcRouteParts): void {
  const { publicUrl, guard } = parts
  // Lax: the browser comes back from another site.
  const cookie = new OwnCookie('penstock-oidc', publicUrl, 'Lax')
  /**
   * Each way back asks the provider something: no more than a few at once, whoever comes. Failures are not counted: strangers
   * behind the same address would keep others from signing in.
   */
  const returns = new FairQueue({ atOnce: 8, mostWaiting: 256, mostWaitingInLane: 32 })

  const route = (
    url: string,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void => {
    server.route({ method: 'GET', url, handler: (request, reply) => handler(request, prepare(request, reply)) })
    refuseOtherMethods(server, url, ['GET'])
  }
  /** Whoever signs in there in another way still comes to the page that the first try was for. */
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
    // Whatever comes of it, the attempt is over.
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
 * A page of ours that goes on by itself. With a redirect the browser would still be on its way from the provider's site, and
 * would not send the session, whose cookie is only for requests that begin at our own pages.
 */
function goOnPage(url: string): string {
  const escaped = url.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Signed in · Penstock</title>` +
    `<meta http-equiv="refresh" content="0; url=${escaped}"><p><a href="${escaped}">Go on to the console</a></p></html>\n`
  )
}
