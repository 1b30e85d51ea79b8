// Checks a client address against the IP access list of a key. An empty list allows every address.
import { BlockList, isIP } from 'node:net'
import type { IpAccess } from '../lib/ip-access.ts'

/** Cached because compiling a long list takes longer than the rest of the authentication. */
const compiled = new Map<string, BlockList>()
const mostCompiled = 256

/** `listText` is the stored JSON. */
export function addressAllowed(listText: string, address: string): boolean {
  if (listText === '[]') return true
  let allowed = compiled.get(listText)
  if (!allowed) {
    allowed = compile(JSON.parse(listText) as IpAccess[])
    if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value!)
    compiled.set(listText, allowed)
  }
  return allowed.check(address, familyOf(address))
}

function compile(list: IpAccess[]): BlockList {
  const allowed = new BlockList()
  for (const { source } of list) {
    const [network, prefix] = source.split('/')
    if (prefix === undefined) allowed.addAddress(network!, familyOf(network!))
    else allowed.addSubnet(network!, Number(prefix), familyOf(network!))
  }
  return allowed
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
