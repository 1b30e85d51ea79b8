// Egress of a source with reverse private endpoints: hosts named by its routes are dialled at the operator's addresses, all others
// directly. Certificates and errors use the name that the user gave.
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type AddressOptions, Egress, type Route, type RouteOptions, type SocketOptions } from './egress.ts'
import type { TlsOptions } from './egress-tls.ts'
import { type Routes, routeKey } from './reverse-private-endpoints.ts'

/** A route with the port has priority, then the first route with the host. */
export function routedEgress(egress: Egress, routes: readonly Routes[]): Egress {
  return new RoutedEgress(egress, routes)
}

class RoutedEgress extends Egress {
  readonly #egress: Egress
  readonly #routes: readonly Routes[]

  constructor(egress: Egress, routes: readonly Routes[]) {
    // Unused: the given egress makes all connections.
    super({ allowLoopback: false, deniedAddresses: [] })
    this.#egress = egress
    this.#routes = routes
  }

  override connect(host: string, port: number, options: SocketOptions): Promise<Socket> {
    return this.#egress.connect(host, port, { ...options, route: this.#find(host, port) ?? options.route })
  }

  override connectTls(host: string, port: number, options: RouteOptions & { tls?: TlsOptions }): Promise<TLSSocket> {
    return this.#egress.connectTls(host, port, { ...options, route: this.#find(host, port) ?? options.route })
  }

  override addressesOf(host: string, port: number, options: AddressOptions): Promise<string[]> {
    return this.#egress.addressesOf(host, port, options)
  }

  #find(host: string, port: number): Route | undefined {
    for (const requestedPort of [port, undefined]) {
      const key = routeKey(host, requestedPort)
      const address = this.#routes.find((routes) => routes.has(key))?.get(key)
      if (!address) continue
      const namesPort = requestedPort !== undefined || address.port !== undefined
      // Otherwise the user could reach any port of this machine.
      return { host: address.host, port: address.port ?? port, mayBeLoopback: namesPort }
    }
    return undefined
  }
}
