// Model of member roles in one organization: versioned registers, of which at least one must be "admin". Records the answers to
// concurrent calls, for the linearizability checker.
import { Agent } from 'node:http'
import type { Role } from '../../src/operation/caller.ts'
import type { Random } from '../random.ts'
import { type Answer, callApi } from './drill-api.ts'
import type { DrillOrganization } from './drill-organizations.ts'
import type { RecordedCall } from './linear-check.ts'

interface MemberState {
  role: Role
  /** The ETag. */
  version: string
}

export type MemberStates = readonly MemberState[]

export interface MemberHistory {
  initial: MemberStates
  calls: RecordedCall<MemberStates>[]
  /** Calls and answers as text, for the analysis of a history that is not linearizable. */
  log: string[]
  /** Answers that the model does not allow. */
  strange: string[]
}

const clientCount = 8
const callsEach = 32
const conditionalShare = 0.15
const readShare = 0.15
/** Most calls change the last seen role: a call without a change cannot conflict. */
const changingShare = 0.85

export function nameOfMembers(states: MemberStates): string {
  return states.map(({ role, version }) => `${role} ${version}`).join(', ')
}

export async function recordHistory(
  organization: DrillOrganization,
  urls: string[],
  random: Random,
): Promise<MemberHistory> {
  const agents = Array.from({ length: clientCount }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const call = (client: number, method: string, member: number, body?: object, headers?: Record<string, string>) =>
    callApi(
      urls[client % urls.length]!,
      organization.key,
      {
        method,
        path: `${organization.path}/members/${organization.memberIds[member]}`,
        ...(body ? { body } : {}),
        ...(headers ? { headers } : {}),
      },
      agents[client],
    )
  const initial = await Promise.all(
    organization.memberIds.map(async (_, member) => memberIn(await call(0, 'GET', member))),
  )
  const history: MemberHistory = { initial, calls: [], log: [], strange: [] }
  // Events of one process are ordered, so a counter serves as the clock.
  let clock = 0
  const known = [...initial]
  const makeCalls = async (client: number): Promise<void> => {
    for (let turn = 0; turn < callsEach; turn++) {
      const member = random.below(organization.memberIds.length)
      const isRead = random.happens(readShare)
      const seen = known[member]!
      const role: Role = (seen.role === 'admin') === random.happens(changingShare) ? 'developer' : 'admin'
      const ifMatch = !isRead && random.happens(conditionalShare) ? seen.version : undefined
      const calledAt = clock++
      const answer = isRead
        ? await call(client, 'GET', member)
        : await call(client, 'PATCH', member, { role }, ifMatch === undefined ? undefined : { 'if-match': ifMatch })
      const answeredAt = clock++
      const step = isRead ? readStep(member, answer) : updateStep(member, role, ifMatch, answer)
      if (answer.status === 200) known[member] = memberIn(answer)
      const asked = isRead ? 'read' : `${role}${ifMatch === undefined ? '' : ` if ${ifMatch}`}`
      const got = answer.status === 200 ? `${memberIn(answer).role} ${memberIn(answer).version}` : answer.code
      history.log.push(`${calledAt}-${answeredAt} client ${client} member ${member}: ${asked} -> ${got}`)
      if (step)
        history.calls.push({ calledAt, answeredAt: answer.status === 0 ? Number.POSITIVE_INFINITY : answeredAt, step })
      else history.strange.push(`${asked} -> ${answer.status} ${got}`)
    }
  }
  await Promise.all(agents.map((_, client) => makeCalls(client)))
  // The final state is part of the history.
  for (const member of organization.memberIds.keys()) {
    const calledAt = clock++
    const answer = await call(member, 'GET', member)
    const step = readStep(member, answer)
    if (step) history.calls.push({ calledAt, answeredAt: clock++, step })
    history.log.push(`${calledAt} at the end member ${member}: ${nameOfMembers([memberIn(answer)])}`)
  }
  for (const agent of agents) agent.destroy()
  return history
}

function memberIn({ headers, text }: Answer): MemberState {
  const { role } = (JSON.parse(text) as { result: { role: Role } }).result
  return { role, version: String(headers.etag) }
}

type Step = RecordedCall<MemberStates>['step']

/** Undefined for an answer that the model does not allow. */
function readStep(member: number, answer: Answer): Step | undefined {
  if (answer.status !== 200) return undefined
  const seen = memberIn(answer)
  return (states) => (isSame(states[member]!, seen) ? states : undefined)
}

function updateStep(member: number, role: Role, ifMatch: string | undefined, answer: Answer): Step | undefined {
  const isKnown = answer.status === 200 || answer.code === 'last_admin' || answer.code === 'version_mismatch'
  if (!isKnown) return undefined
  return (states) => {
    const { outcome, after } = applyUpdate(states, member, role, ifMatch)
    if (answer.status !== 200) return outcome === answer.code ? after : undefined
    return outcome === 'done' && isSame(after[member]!, memberIn(answer)) ? after : undefined
  }
}

function applyUpdate(
  states: MemberStates,
  member: number,
  role: Role,
  ifMatch: string | undefined,
): { outcome: string; after: MemberStates } {
  const present = states[member]!
  if (ifMatch !== undefined && ifMatch !== present.version) return { outcome: 'version_mismatch', after: states }
  if (present.role === role) return { outcome: 'done', after: states }
  const isLastAdmin = present.role === 'admin' && states.filter((state) => state.role === 'admin').length === 1
  if (isLastAdmin) return { outcome: 'last_admin', after: states }
  return { outcome: 'done', after: states.with(member, { role, version: nextVersion(present.version) }) }
}

/** ETag `"membership.user"`; the first number is incremented with the role. */
function nextVersion(etag: string): string {
  return etag.replace(/^"(\d+)/, (_, version: string) => `"${Number(version) + 1}`)
}

function isSame(one: MemberState, other: MemberState): boolean {
  return one.role === other.role && one.version === other.version
}
