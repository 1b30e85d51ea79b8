// IP access lists. An empty list allows all addresses.
import { canonicalIpRange, ipRange, ipRangeProblem, maxIpRangeLength } from './ip-range.ts'
import type { FieldProblem } from './problem.ts'
import { type Static, Type } from './schema.ts'

/** Maximum entries of a list. */
export const maxIpAccessEntries = 100

const source = { description: 'IPv4 or IPv6 address, or a range in CIDR notation such as `10.0.0.0/8`.' }
const description = { description: 'Description of the address.' }

export const IpAccess = Type.Object(
  { source: Type.String(source), description: Type.String(description) },
  { $id: 'IpAccess', description: 'Entry of an IP access list.', additionalProperties: false },
)
export type IpAccess = Static<typeof IpAccess>

export const IpSource = Type.String({
  ...source,
  minLength: 1,
  maxLength: maxIpRangeLength,
  checkedPattern: ipRange.source,
})

const NewIpAccess = Type.Object(
  { source: IpSource, description: Type.Optional(Type.String({ ...description, maxLength: 255, default: '' })) },
  { additionalProperties: false },
)
export type NewIpAccess = Static<typeof NewIpAccess>

/** Shape of the entries in a request. */
export const ipAccessListOf = (options: { description: string; default?: never[] }) =>
  Type.Array(NewIpAccess, { maxItems: maxIpAccessEntries, ...options })

export function completeIpAccessList(list: NewIpAccess[]): IpAccess[] {
  return list.map(({ source, description = '' }) => ({ source, description }))
}

/** Validation errors of the entries of a list; `path` is the path of the list in the body. */
export function ipAccessProblems(list: { source: string }[], path: string): FieldProblem[] {
  const seen = new Set<string>()
  return list.flatMap(({ source }, index) => {
    const at = `${path}[${index}].source`
    const problem = ipRangeProblem(at, source)
    if (problem) return [problem]
    const range = canonicalIpRange(source)
    if (seen.has(range)) {
      return [{ path: at, detail: `${at} repeats ${JSON.stringify(source)}; send each source once` }]
    }
    seen.add(range)
    return []
  })
}

/**
 * The list after a change. An added entry replaces one with the same source, in any spelling; a removed source must be in the list.
 * Errors are added to `problems`; `path` is the path of the change in the body.
 */
export function changeIpAccessList(
  present: IpAccess[],
  { add = [], remove = [] }: { add?: NewIpAccess[]; remove?: { source: string }[] },
  path: string,
  problems: FieldProblem[],
): IpAccess[] {
  const changed = new Map(present.map((entry) => [canonicalIpRange(entry.source), entry]))
  const added = new Map(completeIpAccessList(add).map((entry) => [canonicalIpRange(entry.source), entry]))
  const removed = new Set<string>()
  problems.push(...ipAccessProblems(add, `${path}.add`))
  for (const [index, { source }] of remove.entries()) {
    const at = `${path}.remove[${index}].source`
    const range = canonicalIpRange(source)
    const quoted = JSON.stringify(source)
    if (removed.has(range)) problems.push({ path: at, detail: `${at} repeats ${quoted}; send each source once` })
    else if (!changed.has(range)) problems.push({ path: at, detail: `${at} is not in the list: ${quoted}` })
    else if (added.has(range)) problems.push({ path: at, detail: `${at} is also in ${path}.add: ${quoted}` })
    removed.add(range)
  }
  for (const range of removed) changed.delete(range)
  for (const [range, entry] of added) changed.set(range, entry)
  if (changed.size > maxIpAccessEntries) {
    const detail = `${path} must have at most ${maxIpAccessEntries} entries, not ${changed.size}`
    problems.push({ path, detail })
  }
  return [...changed.values()]
}
