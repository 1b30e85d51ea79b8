// Entries of IP access lists: an address, or a range in CIDR notation.
import { isIP, isIPv4 } from 'node:net'
import type { FieldProblem } from './problem.ts'

/** An IPv6 address that ends in an IPv4 address, with a prefix, is the longest. */
export const maxIpRangeLength = 49

/** Allowed characters, with or without a prefix length. */
export const ipRange = /^[0-9A-Fa-f:.]+(?:\/(?:0|[1-9]\d{0,2}))?$/

/** `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`. Addresses with a zone (`fe80::1%eth0`) mean something else on each machine. */
export function isIpRange(text: string): boolean {
  if (!ipRange.test(text)) return false
  const slash = text.indexOf('/')
  const address = slash < 0 ? text : text.slice(0, slash)
  const family = isIP(address)
  if (family === 0) return false
  if (slash < 0) return true
  return Number(text.slice(slash + 1)) <= (family === 4 ? 32 : 128)
}

/** Canonical form, the same for all spellings: `::1` and `0:0::1/128`, `10.1.2.3/8` and `10.0.0.0/8`. */
export function canonicalIpRange(text: string): string {
  if (!isIpRange(text)) return text
  const [address = '', prefix] = text.split('/')
  const [groups, groupBits] = isIPv4(address) ? [address.split('.').map(Number), 8] : [groupsOfIpv6(address), 16]
  const length = prefix === undefined ? groups.length * groupBits : Number(prefix)
  const network = groups.map((group, index) => {
    const hostBits = groupBits - Math.min(Math.max(length - index * groupBits, 0), groupBits)
    return (group >> hostBits) << hostBits
  })
  return `${network.join(groupBits === 8 ? '.' : ':')}/${length}`
}

/** The eight numbers of an IPv6 address, however it is written. */
export function groupsOfIpv6(address: string): number[] {
  // The URL parser writes an IPv6 address in its one canonical form, without a dotted end.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const read = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  if (tail === undefined) return read(head)
  const [front, back] = [read(head), read(tail)]
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}

/** Validation error of a source; `path` is its path in the body (`ipAccessList[2].source`). */
export function ipRangeProblem(path: string, text: string): FieldProblem | undefined {
  if (isIpRange(text)) return undefined
  const detail = `${path} must be an IP address or a range such as 10.0.0.0/8, not ${JSON.stringify(text)}`
  return { path, detail }
}

/** The /64 network of an IPv6 address, because one caller usually has all of it; IPv4 addresses are returned unchanged. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  const omitted = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  return [...groups, ...Array<string>(Math.max(0, omitted)).fill('0')].slice(0, 4).join(':')
}
