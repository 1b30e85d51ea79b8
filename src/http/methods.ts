// What is answered to a method that a path does not offer.
import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
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
