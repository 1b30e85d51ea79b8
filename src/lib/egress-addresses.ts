// Classifies addresses for the egress: forbidden ones, and ones that lead to this machine.
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { groupsOfIpv6 } from './ip-range.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

const forbidden = new BlockList()
// "This network" (Linux takes 0.0.0.0 for itself), link-local, multicast, reserved and broadcast.
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  forbidden.addSubnet(network, prefix)
}
// Unspecified, link-local, site-local, multicast; Teredo and the local NAT64 prefix can hide an IPv4 address anywhere.
for (const [network, prefix] of [
  ['::', 128],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  ['2001::', 32],
  ['64:ff9b:1::', 48],
] as const) {
  forbidden.addSubnet(network, prefix, 'ipv6')
}
// Metadata and credential services outside the link-local range: Alibaba, Azure, Oracle; Scaleway, Google and AWS over IPv6.
for (const address of ['100.100.100.200', '168.63.129.16', '192.0.0.192']) forbidden.addAddress(address)
for (const address of ['fd00:42::42', 'fd20:ce::254']) forbidden.addAddress(address, 'ipv6')
forbidden.addSubnet('fd00:ec2::', 32, 'ipv6')

/** The address itself in canonical form, and an IPv4 address that a translator would extract from it. */
export function meaningsOf(address: string): string[] {
  if (!isIPv6(address)) return [address]
  const groups = groupsOfIpv6(address)
  const ipv4 = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  const meanings = [groups.map((group) => group.toString(16)).join(':')]
  const starts = (...expected: number[]): boolean => expected.every((group, index) => groups[index] === group)
  const last = ipv4(groups[6]!, groups[7]!)
  // IPv4-mapped, IPv4-translated, NAT64, IPv4-compatible (which `::` and `::1` look like and are not), ISATAP, 6to4.
  if (starts(0, 0, 0, 0, 0, 0xffff) || starts(0, 0, 0, 0, 0xffff, 0) || starts(0x64, 0xff9b, 0, 0, 0, 0)) {
    meanings.push(last)
  }
  if (starts(0, 0, 0, 0, 0, 0) && groups[6] !== 0) meanings.push(last)
  if ((groups[4] === 0 || groups[4] === 0x200) && groups[5] === 0x5efe) meanings.push(last)
  if (groups[0] === 0x2002) meanings.push(ipv4(groups[1]!, groups[2]!))
  return meanings
}

function inList(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** Whether the address leads to this machine. */
export function isThisMachine(meaning: string): boolean {
  if (inList(loopback, meaning)) return true
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return own.some(({ address }) => meaningsOf(address.split('%')[0]!).includes(meaning))
}

/** Whether the address is forbidden, even if the operator allows it. */
export function isForbidden(address: string): boolean {
  return meaningsOf(address).some((meaning) => inList(forbidden, meaning))
}
