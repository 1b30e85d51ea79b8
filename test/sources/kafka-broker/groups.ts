// Consumer groups: committed offsets, and members that rebalance when one joins or leaves.
import { randomUUID } from 'node:crypto'
import { errorCode } from './error-codes.ts'

export interface Protocol {
  name: string
  metadata: Buffer
}

export interface JoinRequest {
  memberId: string
  instanceId: string | null
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  protocolType: string
  protocols: Protocol[]
  /** A new member gets its id first and must join again with it. */
  mustKnowId: boolean
}

export interface Joined {
  error: number
  generation: number
  protocolType: string | null
  protocol: string | null
  leaderId: string
  memberId: string
  /** Only for the leader. */
  members: { id: string; instanceId: string | null; metadata: Buffer }[]
}

export interface Synced {
  error: number
  protocolType: string | null
  protocol: string | null
  assignment: Buffer
}

interface Member {
  id: string
  instanceId: string | null
  request: JoinRequest
  assignment: Buffer
  timer?: NodeJS.Timeout
  answerJoin?: (joined: Joined) => void
  answerSync?: (synced: Synced) => void
}

const noBytes = Buffer.alloc(0)

export class Group {
  readonly offsets = new Map<string, { offset: number; metadata: string | null }>()
  readonly #members = new Map<string, Member>()
  readonly #promisedIds = new Set<string>()
  #state: 'empty' | 'joining' | 'syncing' | 'stable' = 'empty'
  #generation = 0
  #leaderId = ''
  #protocol: string | null = null
  #rebalanceTimer: NodeJS.Timeout | undefined

  join(request: JoinRequest): Promise<Joined> {
    const { memberId, mustKnowId } = request
    const refuse = (error: number, id = memberId) => Promise.resolve(refusedJoin(error, id))
    if (!this.#isCompatible(request)) return refuse(errorCode.INCONSISTENT_GROUP_PROTOCOL)
    if (memberId && !this.#members.has(memberId) && !this.#promisedIds.has(memberId)) {
      return refuse(errorCode.UNKNOWN_MEMBER_ID)
    }
    const id = memberId || randomUUID()
    if (!memberId && mustKnowId) {
      this.#promisedIds.add(id)
      return refuse(errorCode.MEMBER_ID_REQUIRED, id)
    }
    this.#promisedIds.delete(id)
    const known = this.#members.get(id)
    const member: Member = known ?? { id, instanceId: request.instanceId, request, assignment: noBytes }
    member.request = request
    clearTimeout(member.timer)
    this.#members.set(id, member)
    return new Promise((resolve) => {
      member.answerJoin = resolve
      this.#rebalance()
    })
  }

  #isCompatible({ protocolType, protocols }: JoinRequest): boolean {
    return [...this.#members.values()].every(
      ({ request }) =>
        request.protocolType === protocolType &&
        request.protocols.some(({ name }) => protocols.some((each) => each.name === name)),
    )
  }

  /** Waits until every member has joined again; members that exceed the rebalance timeout are removed. */
  #rebalance(): void {
    const members = [...this.#members.values()]
    if (this.#state !== 'joining') {
      this.#state = 'joining'
      for (const member of members) this.#answerSync(member, errorCode.REBALANCE_IN_PROGRESS)
      const timeoutMs = Math.max(0, ...members.map(({ request }) => request.rebalanceTimeoutMs))
      this.#rebalanceTimer = setTimeout(() => {
        for (const member of members) if (!member.answerJoin) this.#forget(member)
        this.#begin()
      }, timeoutMs)
    }
    if (members.every((member) => member.answerJoin)) this.#begin()
  }

  #begin(): void {
    clearTimeout(this.#rebalanceTimer)
    const members = [...this.#members.values()]
    const [first] = members
    if (!first) {
      this.#state = 'empty'
      return
    }
    this.#generation++
    this.#state = 'syncing'
    const leader = this.#members.get(this.#leaderId) ?? first
    this.#leaderId = leader.id
    const isShared = (name: string) =>
      members.every(({ request }) => request.protocols.some((protocol) => protocol.name === name))
    this.#protocol = leader.request.protocols.find(({ name }) => isShared(name))?.name ?? null
    for (const member of members) {
      member.answerJoin?.(this.#joined(member, member === leader ? members : []))
      delete member.answerJoin
      this.#expectSoon(member)
    }
  }

  #joined(member: Member, members: Member[]): Joined {
    return {
      error: errorCode.NONE,
      generation: this.#generation,
      protocolType: member.request.protocolType,
      protocol: this.#protocol,
      leaderId: this.#leaderId,
      memberId: member.id,
      members: members.map(({ id, instanceId, request }) => ({
        id,
        instanceId,
        metadata: request.protocols.find(({ name }) => name === this.#protocol)?.metadata ?? noBytes,
      })),
    }
  }

  sync(memberId: string, generation: number, assignments: Map<string, Buffer>): Promise<Synced> {
    const member = this.#members.get(memberId)
    const error = this.check(memberId, generation)
    if (error || !member) return Promise.resolve(refusedSync(error))
    this.#expectSoon(member)
    if (this.#state === 'syncing' && memberId === this.#leaderId) {
      this.#state = 'stable'
      for (const each of this.#members.values()) {
        each.assignment = assignments.get(each.id) ?? noBytes
        this.#answerSync(each, errorCode.NONE)
      }
    }
    if (this.#state === 'stable') return Promise.resolve(this.#synced(member))
    return new Promise((resolve) => {
      member.answerSync = resolve
    })
  }

  #synced({ request, assignment }: Member): Synced {
    return { error: errorCode.NONE, protocolType: request.protocolType, protocol: this.#protocol, assignment }
  }

  #answerSync(member: Member, error: number): void {
    member.answerSync?.(error ? refusedSync(error) : this.#synced(member))
    delete member.answerSync
  }

  heartbeat(memberId: string, generation: number): number {
    const member = this.#members.get(memberId)
    if (member && !member.answerJoin) this.#expectSoon(member)
    return this.check(memberId, generation)
  }

  leave(memberId: string): number {
    const member = this.#members.get(memberId)
    if (!member) return errorCode.UNKNOWN_MEMBER_ID
    this.#forget(member)
    this.#rebalance()
    return errorCode.NONE
  }

  /** Checks member id and generation. */
  check(memberId: string, generation: number): number {
    if (!this.#members.has(memberId)) return errorCode.UNKNOWN_MEMBER_ID
    if (this.#state === 'joining') return errorCode.REBALANCE_IN_PROGRESS
    return generation === this.#generation ? errorCode.NONE : errorCode.ILLEGAL_GENERATION
  }

  /** A client that is no member may commit while the group has no members. */
  mayCommit(memberId: string, generation: number): number {
    const isOutsider = memberId === '' && generation < 0
    return isOutsider && this.#members.size === 0 ? errorCode.NONE : this.check(memberId, generation)
  }

  #expectSoon(member: Member): void {
    clearTimeout(member.timer)
    member.timer = setTimeout(() => this.leave(member.id), member.request.sessionTimeoutMs)
  }

  #forget(member: Member): void {
    clearTimeout(member.timer)
    this.#answerSync(member, errorCode.UNKNOWN_MEMBER_ID)
    this.#members.delete(member.id)
  }

  stop(): void {
    clearTimeout(this.#rebalanceTimer)
    for (const member of this.#members.values()) {
      clearTimeout(member.timer)
      member.answerJoin?.(refusedJoin(errorCode.UNKNOWN_MEMBER_ID, member.id))
      this.#answerSync(member, errorCode.UNKNOWN_MEMBER_ID)
    }
    this.#members.clear()
  }
}

function refusedJoin(error: number, memberId: string): Joined {
  return { error, generation: -1, protocolType: null, protocol: null, leaderId: '', memberId, members: [] }
}

function refusedSync(error: number): Synced {
  return { error, protocolType: null, protocol: null, assignment: noBytes }
}

export class Groups {
  readonly #byId = new Map<string, Group>()

  find(id: string): Group | undefined {
    return this.#byId.get(id)
  }

  findOrMake(id: string): Group {
    const group = this.#byId.get(id) ?? new Group()
    this.#byId.set(id, group)
    return group
  }

  stop(): void {
    for (const group of this.#byId.values()) group.stop()
  }
}
