// The egress of a source that has reverse private endpoints: hosts that their routes name are dialled where the operator says, and
// all others as ever. Who is dialled stays who the user named: certificates are checked, and failures told, by that name.
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type AddressOptions, type ConnectOptions, Egress, type Route, type WayOptions } from './egress.ts'
import type { TlsOptions } from './egress-tls.ts'
import { type Routes, routeKey } from './reverse-private-endpoints.ts'

/** What names a port comes first, wherever it stands; then the first that names the host. */
export function routedEgress(egress: Egress, routes: readonly Routes[]): Egress {
  return new RoutedEgress(egress, routes)
}

class RoutedEgress extends Egress {
  readonly #egress: Egress
  readonly #routes: readonly Routes[]

  constructor(egress: Egress, routes: readonly Routes[]) {
    // Of no use: whatever is dialled, the given egress dials.
    super({ allowLoopback: false, deniedAddresses: [] })
    this.#egress = egress
    this.#routes = routes
  }

  override connect(host: string, port: number, options: ConnectOptions): Promise<Socket> {
    return this.#egress.connect(host, port, { ...options, route: this.#find(host, port) ?? options.route })
  }

  override connectTls(host: string, port: number, options: WayOptions & { tls?: TlsOptions }): Promise<TLSSocket> {
    return this.#egress.connectTls(host, port, { ...options, route: this.#find(host, port) ?? options.route })
  }

  override addressesOf(host: string, port: number, options: AddressOptions): Promise<string[]> {
    return this.#egress.addressesOf(host, port, options)
  }

  #find(host: string, port: number): Route | undefined {
    for (const askedPort of [port, undefined]) {
      const key = routeKey(host, askedPort)
      const address = this.#routes.find((routes) => routes.has(key))?.get(key)
      if (!address) continue
      const namesPort = askedPort !== undefined || address.port !== undefined
      // Where the user chooses the port, a route would open all of this machine.
      return { host: address.host, port: address.port ?? port, mayBeHere: namesPort }
    }
    return undefined
  }
}
