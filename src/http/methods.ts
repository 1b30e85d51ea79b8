// Routes by path, and 405 for methods that a path does not offer.
import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import findMyWay from 'find-my-way'
import { Problem } from '../lib/problem.ts'
import { limits } from './request.ts'

/**
 * Every path has a route for each of these methods, if only to answer 405: a path with a parameter could match instead. No path offers
 * any of the other 30 methods of HTTP; routes for those would take megabytes.
 */
const routed = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

export const routing = { ignoreTrailingSlash: true, maxParamLength: limits.urlBytes }

type PathBook = ReturnType<typeof findMyWay>
declare module 'fastify' {
  interface FastifyInstance {
    /** All paths with the methods that they offer. */
    paths: PathBook
  }
}

/** Registers all methods of HTTP. Must be called once, before any route. */
export function knowEveryMethod(server: FastifyInstance): void {
  // CONNECT never becomes a request.
  const others = METHODS.filter((method) => method !== 'CONNECT' && !server.supportedMethods.includes(method))
  for (const method of others) server.addHttpMethod(method)
  server.decorate('paths', findMyWay(routing))
}

/** Throws 405 when a request without a route has a known path. */
export function refuseMethodOfKnownPath({ method, raw, server }: FastifyRequest): void {
  const offered: string[] = server.paths.find('GET', raw.url ?? '')?.store.offered ?? []
  // A path with a parameter may offer the method for some values only.
  if (offered.length > 0 && !offered.includes(method)) throw notOffered(method, offered)
}

export function refuseOtherMethods(server: FastifyInstance, url: string, offered: string[]): void {
  noteMethods(server, url, offered)
  server.route({
    method: routed.filter((method) => !offered.includes(method)),
    url,
    onRequest: async ({ method }) => {
      throw notOffered(method, offered)
    },
    handler: () => undefined,
  })
}

/** Answers 404 below this URL, although a wildcard route would match. */
export function serveNothingAt(server: FastifyInstance, url: string): void {
  noteMethods(server, url, [])
  server.route({ method: routed, url, handler: (_, reply) => reply.callNotFound() })
}

function noteMethods({ paths }: FastifyInstance, url: string, offered: string[]): void {
  paths.on('GET', url, () => undefined, { offered })
}

function notOffered(method: string, offered: string[]): Problem {
  const list = offered.join(', ')
  return new Problem('method_not_allowed', `${method} is not allowed here; allowed: ${list}`, {
    headers: { allow: list },
  })
}

/** Adds a route for each declared method and path (`/v1/{id}`), and refuses other methods of these paths. */
export function serveByPath<Declared extends { method: string; path: string }>(
  server: FastifyInstance,
  list: Declared[],
  routeOf: (declared: Declared) => Omit<RouteOptions, 'method' | 'url'>,
): void {
  for (const [path, offered] of Map.groupBy(list, (declared) => declared.path)) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
    for (const declared of offered) server.route({ method: declared.method, url, ...routeOf(declared) })
    refuseOtherMethods(
      server,
      url,
      offered.map(({ method }) => method),
    )
  }
}
