// APIs for members of a consumer group.
import type { Api, Exchange } from './api.ts'
import { errorCode } from './error-codes.ts'
import type { Joined, JoinRequest } from './groups.ts'

const refused = { error: errorCode.GROUP_AUTHORIZATION_FAILED }

export const joinGroup: Api = {
  key: 11,
  firstVersion: 0,
  lastVersion: 9,
  flexibleFrom: 6,
  async answer(exchange) {
    const { request, user, broker } = exchange
    const groupId = request.string()
    const requested = readJoin(exchange)
    const nothing = { generation: -1, protocolType: null, protocol: null, leaderId: '', members: [] }
    const joined = user.permissions.useGroups
      ? await broker.groups.findOrMake(groupId).join(requested)
      : { ...refused, ...nothing, memberId: requested.memberId }
    writeJoined(exchange, joined)
    return undefined
  },
}

function readJoin({ version, request }: Exchange): JoinRequest {
  const sessionTimeoutMs = request.int32()
  const rebalanceTimeoutMs = version >= 1 ? request.int32() : sessionTimeoutMs
  const memberId = request.string()
  const instanceId = version >= 5 ? request.nullableString() : null
  const protocolType = request.string()
  const protocols = request.structures(() => ({ name: request.string(), metadata: request.bytes() }))
  if (version >= 8) request.nullableString()
  request.tags()
  const mustKnowId = version >= 4 && instanceId === null
  return { memberId, instanceId, sessionTimeoutMs, rebalanceTimeoutMs, protocolType, protocols, mustKnowId }
}

function writeJoined({ version, response }: Exchange, joined: Joined): void {
  if (version >= 2) response.int32(0)
  response.int16(joined.error).int32(joined.generation)
  if (version >= 7) response.string(joined.protocolType)
  response.string(joined.protocol ?? (version >= 7 ? null : '')).string(joined.leaderId)
  if (version >= 9) response.boolean(false)
  response.string(joined.memberId)
  response.structures(joined.members, ({ id, instanceId, metadata }) => {
    response.string(id)
    if (version >= 5) response.string(instanceId)
    response.bytes(metadata)
  })
  response.tags()
}

export const syncGroup: Api = {
  key: 14,
  firstVersion: 0,
  lastVersion: 5,
  flexibleFrom: 4,
  async answer({ version, request, response, user, broker }) {
    const groupId = request.string()
    const generation = request.int32()
    const memberId = request.string()
    if (version >= 3) request.nullableString()
    if (version >= 5) {
      request.nullableString()
      request.nullableString()
    }
    const assignments = request.structures((): [string, Buffer] => [request.string(), request.bytes()])
    request.tags()

    const synced = user.permissions.useGroups
      ? await broker.groups.findOrMake(groupId).sync(memberId, generation, new Map(assignments))
      : { ...refused, protocolType: null, protocol: null, assignment: Buffer.alloc(0) }
    if (version >= 1) response.int32(0)
    response.int16(synced.error)
    if (version >= 5) response.string(synced.protocolType).string(synced.protocol)
    response.bytes(synced.assignment).tags()
    return undefined
  },
}

export const heartbeat: Api = {
  key: 12,
  firstVersion: 0,
  lastVersion: 4,
  flexibleFrom: 4,
  answer({ version, request, response, user, broker }) {
    const groupId = request.string()
    const generation = request.int32()
    const memberId = request.string()
    if (version >= 3) request.nullableString()
    request.tags()

    const error = user.permissions.useGroups
      ? broker.groups.findOrMake(groupId).heartbeat(memberId, generation)
      : refused.error
    if (version >= 1) response.int32(0)
    response.int16(error).tags()
    return undefined
  },
}

export const leaveGroup: Api = {
  key: 13,
  firstVersion: 0,
  lastVersion: 5,
  flexibleFrom: 4,
  answer(exchange) {
    const { version, request, response, user, broker } = exchange
    const groupId = request.string()
    const leaving = readLeaving(exchange)
    request.tags()

    const isAllowed = user.permissions.useGroups
    const left = leaving.map((member) => ({
      ...member,
      error: isAllowed ? broker.groups.findOrMake(groupId).leave(member.id) : refused.error,
    }))
    const ownError = version <= 2 ? (left[0]?.error ?? errorCode.NONE) : errorCode.NONE
    if (version >= 1) response.int32(0)
    response.int16(isAllowed ? ownError : refused.error)
    if (version >= 3) {
      response.structures(left, ({ id, instanceId, error }) => response.string(id).string(instanceId).int16(error))
    }
    response.tags()
    return undefined
  },
}

function readLeaving({ version, request }: Exchange): { id: string; instanceId: string | null }[] {
  if (version <= 2) return [{ id: request.string(), instanceId: null }]
  return request.structures(() => {
    const member = { id: request.string(), instanceId: request.nullableString() }
    if (version >= 5) request.nullableString()
    return member
  })
}
