// Routes by path, and what is answered to a method that a path does not offer.
import { METHODS } from 'node:http'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { Problem } from '../lib/problem.ts'

// CONNECT never becomes a request.
const everyMethod = METHODS.filter((method) => method !== 'CONNECT')

/** Lets the router know of every method that HTTP has. Call once, before any route. */
export function knowEveryMethod(server: FastifyInstance): void {
  for (const method of everyMethod) if (!server.supportedMethods.includes(method)) server.addHttpMethod(method)
}

export function refuseOtherMethods(server: FastifyInstance, url: string, offered: string[]): void {
  server.route({
    method: everyMethod.filter((method) => !offered.includes(method)),
    url,
    onRequest: async (request) => {
      const list = offered.join(', ')
      throw new Problem('method_not_allowed', `${request.method} is not offered here; offered: ${list}`, {
        headers: { allow: list },
      })
    },
    handler: () => undefined,
  })
}

/** A route for each of what is declared with a method and a path (`/v1/{id}`); other methods of these paths are refused. */
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
