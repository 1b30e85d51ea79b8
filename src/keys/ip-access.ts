// The addresses that a key may be used from. An empty list means: from everywhere.
import { BlockList, isIP } from 'node:net'
import { ipRangeProblem, maxIpRangeLength } from '../lib/ip-range.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'

const source = { description: 'An IPv4 or IPv6 address, or a range in CIDR notation.' }

export const IpAccess = Type.Object(
  { source: Type.String(source), description: Type.String({ description: 'What the address is.' }) },
  { $id: 'IpAccess', additionalProperties: false },
)
export type IpAccess = Static<typeof IpAccess>

export const NewIpAccessList = Type.Array(
  Type.Object(
    {
      source: Type.String({ ...source, minLength: 1, maxLength: maxIpRangeLength }),
      description: Type.Optional(Type.String({ maxLength: 255, default: '', description: 'What the address is.' })),
    },
    { additionalProperties: false },
  ),
  { maxItems: 100, description: 'Where the key may be used from; an empty list means everywhere.' },
)

export function completeList(list: Static<typeof NewIpAccessList>): IpAccess[] {
  return list.map(({ source, description = '' }) => ({ source, description }))
}

export function ipAccessProblems(list: IpAccess[]): FieldProblem[] {
  return list.flatMap(({ source }, index) => ipRangeProblem(`ipAccessList[${index}].source`, source) ?? [])
}

/** Compiling a long list takes longer than all the rest of an authentication. */
const compiled = new Map<string, BlockList>()
const mostCompiled = 256

/** Whether the list, as it is stored, lets this address in. */
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
