// Reverse private endpoints, set up by the operator to reach sources in other networks. An endpoint belongs to one organization, and
// maps hosts of its sources to the addresses to dial. It has no secrets.
import { isIP, isIPv6 } from 'node:net'
import { asciiLowerCase } from './ascii-case.ts'
import { isForbidden, meaningsOf } from './egress-addresses.ts'
import { isHost } from './host.ts'
import { isObject } from './merge-patch.ts'

/** Addresses by route key: `host port`, or a host for all its ports. */
export type Routes = ReadonlyMap<string, Address>

interface Address {
  host: string
  /** Undefined: the requested port. */
  port: number | undefined
}

/** By id. */
export type ReversePrivateEndpoints = ReadonlyMap<string, ReversePrivateEndpoint>

export interface ReversePrivateEndpoint {
  organizationId: string
  routes: Routes
}

const longestId = 255
const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The key of a host and port in routes; the same for all spellings of a host. */
export function routeKey(host: string, port?: number): string {
  const name = isIPv6(host) ? meaningsOf(host)[0]! : asciiLowerCase(host)
  return port === undefined ? name : `${name} ${port}`
}

/** Parses the operator's file. `refuse` gets the error as the end of a sentence. */
export function parseReversePrivateEndpoints(
  text: string,
  refuse: (problem: string) => never,
): ReversePrivateEndpoints {
  const file = parseJson(text)
  if (!isObject(file)) return refuse('it must be a JSON object with endpoints by their ids')
  const repeated = findRepeatedMember(text)
  if (repeated !== undefined) refuse(`${quoted(repeated)} stands twice in the same object`)
  const endpoints = new Map<string, ReversePrivateEndpoint>()
  for (const [id, endpoint] of Object.entries(file)) {
    if (id.length < 1 || id.length > longestId) refuse(`the id ${quoted(id)} must have 1 to ${longestId} characters`)
    endpoints.set(id, parseEndpoint(id, endpoint, refuse))
  }
  return endpoints
}

function parseEndpoint(id: string, endpoint: unknown, refuse: (problem: string) => never): ReversePrivateEndpoint {
  const needed = 'must be an object with organizationId and routes'
  if (!isObject(endpoint)) return refuse(`${quoted(id)} ${needed}`)
  const { organizationId, routes, ...others } = endpoint
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) refuse(`${quoted(id)} ${needed}, and has ${quoted(unknown)}`)
  if (typeof organizationId !== 'string' || !uuid.test(organizationId)) {
    return refuse(`organizationId of ${quoted(id)} must be the uuid of an organization`)
  }
  if (!isObject(routes) || Object.keys(routes).length === 0) {
    return refuse(`routes of ${quoted(id)} must be an object with an address for at least one host or host:port`)
  }
  const parsed = new Map<string, Address>()
  for (const [from, to] of Object.entries(routes)) {
    const address = parseHostAndPort(from)
    if (!address) return refuse(`routes of ${quoted(id)} have ${quoted(from)}, which is not a host or host:port`)
    const key = routeKey(address.host, address.port)
    if (parsed.has(key)) refuse(`routes of ${quoted(id)} have ${quoted(from)} twice`)
    parsed.set(key, parseAddress(`the route of ${quoted(from)} of ${quoted(id)}`, to, refuse))
  }
  return { organizationId: organizationId.toLowerCase(), routes: parsed }
}

function parseAddress(what: string, text: unknown, refuse: (problem: string) => never): Address {
  const address = typeof text === 'string' ? parseHostAndPort(text) : undefined
  if (!address) return refuse(`${what} must be a host or host:port, not ${quoted(text)}`)
  // The addresses of a name are checked when it is dialled.
  if (isIP(address.host) !== 0 && isForbidden(address.host)) {
    refuse(`${what} leads to ${address.host}, which Penstock never connects to`)
  }
  return address
}

/** `host`, `host:port`, `[address]`, `[address]:port`, or an IPv6 address as it is. */
function parseHostAndPort(text: string): Address | undefined {
  if (isIPv6(text)) return isHost(text) ? { host: text, port: undefined } : undefined
  const [, bracketed, name, digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::([1-9]\d{0,4}))?$/.exec(text) ?? []
  const host = bracketed ?? name ?? ''
  const port = digits === undefined ? undefined : Number(digits)
  const isAddressWhereItMust = bracketed === undefined || isIPv6(bracketed)
  if (!isAddressWhereItMust || !isHost(host) || (port ?? 0) > 65_535) return undefined
  return { host, port }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Finds a repeated name in valid JSON: JSON.parse silently uses the last one. */
function findRepeatedMember(text: string): string | undefined {
  const open: Set<string>[] = []
  for (const [token, string, colon] of text.matchAll(/[{}]|("(?:[^"\\]|\\.)*"?)(\s*:)?/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (string !== undefined && colon !== undefined) {
      const name = String(JSON.parse(string))
      const members = open.at(-1)
      if (members?.has(name)) return name
      members?.add(name)
    }
  }
  return undefined
}

const longestQuote = 100

function quoted(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text
}
