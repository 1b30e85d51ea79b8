// All connections to hosts that users name. A user must not be able to make Penstock connect to itself, to its machine, to a cloud
// metadata service or to its own database. So a host must be a plain name or address, and is resolved once. Every address is checked,
// and the connection goes to the checked address, never to the name.
import { connect as connectSocket, isIP, type OnReadOpts, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isForbidden, isThisMachine, meaningsOf } from './egress-addresses.ts'
import { BrokenExchange, type EgressAnswer, type EgressLimits, type EgressRequest, exchange } from './egress-http.ts'
import { secure, TlsError, type TlsFailure, type TlsOptions } from './egress-tls.ts'
import { isHost } from './host.ts'
import { type Resolve, resolveBySystem, resolveWithLimit } from './resolve.ts'
import type { Secret } from './secret.ts'

export interface EgressPolicy {
  /** The operator trusts everything that listens on this machine. */
  allowLoopback: boolean
  /** The operator accepts that passwords cross the network in the clear. */
  allowPlaintext?: boolean
  /** Never reached, whatever else is allowed: Penstock's own database. */
  deniedAddresses: { host: string; port: number }[]
}

export type EgressFailure = 'denied' | 'unresolved' | 'refused' | 'unreachable' | 'timed out' | 'tls' | 'broken'

/** Why an address may not be reached. */
export type Denial = 'host' | 'loopback' | 'address' | 'database' | 'plaintext'

/** Rest of a sentence that begins with host and port. */
export const denialReasons: Record<Denial, string> = {
  host: 'is not a host name or an address',
  loopback: 'is on the machine of Penstock itself',
  address: 'has an address that Penstock never connects to',
  database: "is Penstock's own database",
  plaintext: 'is to be used over http, which sends the password in the clear',
}
export const howToAllowLoopback = 'its operator can allow that with PENSTOCK_ALLOW_LOOPBACK=true'

export type { TlsFailure } from './egress-tls.ts'

export class EgressError extends Error {
  readonly failure: EgressFailure
  /** Only for `denied`. */
  readonly denial: Denial | undefined
  /** Only for `tls`. */
  readonly tls: TlsFailure | undefined

  constructor(failure: EgressFailure, details: { denial?: Denial; tls?: TlsFailure } = {}) {
    const { denial, tls } = details
    const more = denial ?? tls
    super(`egress: ${failure}${more ? ` (${more})` : ''}`)
    this.name = 'EgressError'
    this.failure = failure
    this.denial = denial
    this.tls = tls
  }
}

/** An address that the operator set. */
export interface Route {
  host: string
  port: number
  /** Whether it may be on this machine even if users may not name it. */
  mayBeLoopback: boolean
}

export interface RouteOptions extends EgressLimits {
  /** Dialled instead of host and port. TLS and error messages still use the host. */
  route?: Route | undefined
}

export interface AddressOptions extends EgressLimits {
  /** As in a route. */
  mayBeLoopback?: boolean
}

export interface SocketOptions extends RouteOptions {
  /** Reads into this memory instead of allocating for each chunk. */
  onread?: OnReadOpts
}

export class Egress {
  readonly #policy: EgressPolicy
  readonly #resolve: Resolve
  readonly #resolveOwn: Resolve

  constructor(policy: EgressPolicy, resolve?: Resolve) {
    this.#policy = policy
    this.#resolve = resolve ?? resolveWithLimit
    // Names that the operator set must resolve as they do in other programs.
    this.#resolveOwn = resolve ?? resolveBySystem
  }

  /** Throws an EgressError where a password would cross the network in the clear without the operator's permission. */
  requireTlsForPassword(protocol: 'http' | 'https', password: Secret): void {
    if (protocol === 'https' || this.#policy.allowPlaintext || password.reveal() === '') return
    throw new EgressError('denied', { denial: 'plaintext' })
  }

  /** Connects to a checked address of the host. Rejects only with an EgressError. */
  async connect(host: string, port: number, options: SocketOptions): Promise<Socket> {
    return this.#connect(options.route ?? { host, port, mayBeLoopback: false }, limitOf(options), options)
  }

  /** The same with TLS. The certificate must match the host. */
  async connectTls(host: string, port: number, options: RouteOptions & { tls?: TlsOptions }): Promise<TLSSocket> {
    const { timeoutMs, tls, route } = options
    const signal = limitOf(options)
    const plain = await this.#connect(route ?? { host, port, mayBeLoopback: false }, signal, { timeoutMs })
    try {
      return await withLimit(secure(plain, host, tls), signal)
    } catch (error) {
      plain.destroy()
      if (error instanceof TlsError) throw new EgressError('tls', { tls: error.failure })
      throw error instanceof EgressError ? new EgressError('tls', { tls: 'silent' }) : error
    }
  }

  /** The checked addresses of the host, for a client with its own connections: it must get an address, never the name. */
  async addressesOf(host: string, port: number, options: AddressOptions): Promise<string[]> {
    const signal = limitOf(options)
    const mayBeLoopback = this.#policy.allowLoopback || options.mayBeLoopback === true
    const addresses = await withLimit(this.#resolved(host, signal), signal)
    const denial = await withLimit(this.#denialOf(addresses, port, mayBeLoopback, signal), signal)
    if (denial) throw new EgressError('denied', { denial })
    return addresses
  }

  /** One HTTP exchange. Redirects are returned, not followed. */
  async request(request: EgressRequest): Promise<EgressAnswer> {
    const { protocol, host, port, tls, timeoutMs } = request
    const signal = limitOf(request)
    const limits = { timeoutMs, signal }
    const socket =
      protocol === 'https'
        ? await this.connectTls(host, port, { ...limits, ...(tls ? { tls } : {}) })
        : await this.connect(host, port, limits)
    try {
      return await withLimit(exchange(socket, request), signal)
    } catch (error) {
      throw error instanceof BrokenExchange ? new EgressError('broken') : error
    } finally {
      socket.destroy()
    }
  }

  async #connect(
    { host, port, mayBeLoopback }: Route,
    signal: AbortSignal,
    { timeoutMs, onread }: SocketOptions,
  ): Promise<Socket> {
    const addresses = await this.addressesOf(host, port, { timeoutMs, signal, mayBeLoopback })
    let failure: unknown
    const startedAtMs = performance.now()
    for (const [index, address] of addresses.entries()) {
      // Leaves time for the other addresses when one does not answer.
      const leftMs = Math.max(0, timeoutMs - (performance.now() - startedAtMs))
      const attempt = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(leftMs / (addresses.length - index + 1)))])
      try {
        return await openSocket(address, port, index === addresses.length - 1 ? signal : attempt, onread)
      } catch (error) {
        failure = error
        if (signal.aborted) break
      }
    }
    throw failure
  }

  async #resolved(host: string, signal: AbortSignal): Promise<string[]> {
    if (!isHost(host)) throw new EgressError('denied', { denial: 'host' })
    if (isIP(host) !== 0) return [host]
    const addresses = await this.#resolve(host, signal).catch(() => [])
    if (addresses.length === 0) throw new EgressError('unresolved')
    return addresses
  }

  /** One denied address denies them all: the DNS server is not to be trusted then. */
  async #denialOf(
    addresses: string[],
    port: number,
    mayBeLoopback: boolean,
    signal: AbortSignal,
  ): Promise<Denial | undefined> {
    for (const address of addresses) {
      if (isIP(address) === 0 || address.includes('%')) return 'address'
      if (isForbidden(address)) return 'address'
      for (const meaning of meaningsOf(address)) {
        if (!mayBeLoopback && isThisMachine(meaning)) return 'loopback'
        if (await this.#isDeniedAddress(meaning, port, signal)) return 'database'
      }
    }
    return undefined
  }

  async #isDeniedAddress(meaning: string, port: number, signal: AbortSignal): Promise<boolean> {
    for (const denied of this.#policy.deniedAddresses) {
      if (denied.port !== port) continue
      const addresses =
        isIP(denied.host) === 0 ? await this.#resolveOwn(denied.host, signal).catch(() => []) : [denied.host]
      for (const theirs of addresses.flatMap((address) => meaningsOf(address.split('%')[0]!))) {
        if (theirs === meaning || (isThisMachine(theirs) && isThisMachine(meaning))) return true
      }
    }
    return false
  }
}

function limitOf({ timeoutMs, signal }: EgressLimits): AbortSignal {
  const limit = AbortSignal.timeout(timeoutMs)
  return signal ? AbortSignal.any([signal, limit]) : limit
}

async function withLimit<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  work.catch(() => undefined)
  if (signal.aborted) throw new EgressError('timed out')
  let stop: (() => void) | undefined
  const limit = new Promise<never>((_, reject) => {
    stop = () => reject(new EgressError('timed out'))
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    signal.removeEventListener('abort', stop!)
  }
}

async function openSocket(
  address: string,
  port: number,
  signal: AbortSignal,
  onread: OnReadOpts | undefined,
): Promise<Socket> {
  const target = { host: address, port, family: isIP(address), autoSelectFamily: false }
  const socket = connectSocket({ ...target, ...(onread && { onread }) })
  // Errors after this function has returned are reported by the user of the socket.
  socket.on('error', () => undefined)
  const connected = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', (error: NodeJS.ErrnoException) => reject(new EgressError(failureOf(error.code))))
  })
  try {
    await withLimit(connected, signal)
    if (socket.remoteAddress === undefined || !meaningsOf(address).includes(meaningsOf(socket.remoteAddress)[0]!)) {
      throw new EgressError('denied', { denial: 'address' })
    }
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function failureOf(code: string | undefined): EgressFailure {
  if (code === 'ECONNREFUSED') return 'refused'
  return code === 'ETIMEDOUT' ? 'timed out' : 'unreachable'
}
