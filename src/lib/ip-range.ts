// What an entry of an IP access list may be: an address, or a range in CIDR notation.
import { isIP } from 'node:net'
import type { FieldProblem } from './problem.ts'

/** The longest is an IPv6 address that ends in an IPv4 address, with a prefix. */
export const maxIpRangeLength = 49

/** `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`. Addresses with a zone (`fe80::1%eth0`) mean something else on each machine. */
export function isIpRange(text: string): boolean {
  const slash = text.indexOf('/')
  const address = slash < 0 ? text : text.slice(0, slash)
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0) return false
  if (slash < 0) return true
  const prefix = text.slice(slash + 1)
  return /^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

/** What is wrong with the source of an entry, as a body's problem; `path` is where it stands (`ipAccessList[2].source`). */
export function ipRangeProblem(path: string, text: string): FieldProblem | undefined {
  if (isIpRange(text)) return undefined
  const detail = `${path} must be an IP address or a range such as 10.0.0.0/8, not ${JSON.stringify(text)}`
  return { path, detail }
}
