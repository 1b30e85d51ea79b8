// Checks host names and addresses: only spellings that all resolvers read the same way.
import { isIP } from 'node:net'

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?'
const name = `${label}(?:\\.${label})*`
const hostName = new RegExp(`^${name}$`)

// Without a length limit, which would make matching slow in clients.
const anyLabel = '[A-Za-z0-9_]+(?:-+[A-Za-z0-9_]+)*'
/** A host before a port, with IPv6 addresses in brackets, for the pattern of a shape. `isHost` is stricter. */
export const bracketedHostPattern = `(?:\\[[0-9A-Fa-f:.]+\\]|${anyLabel}(?:\\.${anyLabel})*)`

export const longestHost = 253

/** For a shape. `isHost` is stricter. */
export const hostPattern = `^(?:${name}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$`

/**
 * Whether this is a host name or an address in its plain form. Other spellings of an address (`2130706433`, `0x7f.1`, `0177.0.0.1`,
 * full-width digits, a zone, a trailing dot) are rejected.
 */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return !text.includes('%')
  if (text.length > longestHost || !hostName.test(text)) return false
  const last = text.slice(text.lastIndexOf('.') + 1)
  return !/^(?:\d+|0x[0-9a-f]*)$/i.test(last)
}

/** The name or address for a URL or a Host header. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** The host without the brackets of a URL. */
export function hostOfUrl(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
