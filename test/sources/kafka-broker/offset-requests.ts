// OffsetCommit and OffsetFetch.
import type { Api, Exchange } from './api.ts'
import { errorCode } from './error-codes.ts'
import type { Group } from './groups.ts'
import { findLog } from './record-requests.ts'

export const offsetCommit: Api = {
  key: 8,
  firstVersion: 2,
  lastVersion: 9,
  flexibleFrom: 8,
  answer({ version, request, response, user, broker }) {
    const groupId = request.string()
    const generation = request.int32()
    const memberId = request.string()
    if (version >= 7) request.nullableString()
    if (version <= 4) request.int64()
    const topics = request.structures(() => ({
      name: request.string(),
      partitions: request.structures(() => {
        const index = request.int32()
        const offset = request.safeInt64()
        if (version >= 6) request.int32()
        return { index, offset, metadata: request.nullableString() }
      }),
    }))
    request.tags()

    const { readTopics, useGroups } = user.permissions
    const group = useGroups ? broker.groups.findOrMake(groupId) : undefined
    const groupError = group ? group.mayCommit(memberId, generation) : errorCode.GROUP_AUTHORIZATION_FAILED
    if (version >= 3) response.int32(0)
    response.structures(topics, ({ name, partitions }) => {
      response.string(name)
      response.structures(partitions, ({ index, offset, metadata }) => {
        const log = findLog(broker, name, index, readTopics)
        const error = groupError || (typeof log === 'number' ? log : errorCode.NONE)
        if (!error) group?.offsets.set(`${name}/${index}`, { offset, metadata })
        response.int32(index).int16(error)
      })
    })
    response.tags()
    return undefined
  },
}

interface RequestedGroup {
  id: string
  /** Null: all committed offsets. */
  topics: { name: string; partitions: number[] }[] | null
}

export const offsetFetch: Api = {
  key: 9,
  firstVersion: 1,
  lastVersion: 9,
  flexibleFrom: 6,
  answer(exchange) {
    const { version, request, response, user, broker } = exchange
    const requested = readRequestedGroups(exchange)
    if (version >= 7) request.boolean()
    request.tags()

    const error = user.permissions.useGroups ? errorCode.NONE : errorCode.GROUP_AUTHORIZATION_FAILED
    if (version >= 3) response.int32(0)
    const writeGroup = ({ id, topics }: RequestedGroup) => {
      const group = broker.groups.find(id)
      const selected = topics ?? (group ? committedBy(group) : [])
      writeOffsets(exchange, error && version >= 2 ? [] : selected, group)
      if (version >= 2) response.int16(error)
    }
    if (version >= 8) {
      response.structures(requested, (each) => {
        response.string(each.id)
        writeGroup(each)
      })
    } else {
      for (const each of requested) writeGroup(each)
    }
    response.tags()
    return undefined
  },
}

function readRequestedGroups({ version, request }: Exchange): RequestedGroup[] {
  const readTopics = () =>
    request.nullableStructures(() => ({
      name: request.string(),
      partitions: request.array(() => request.int32()),
    }))
  if (version <= 7) return [{ id: request.string(), topics: readTopics() }]
  return request.structures(() => {
    const id = request.string()
    if (version >= 9) {
      request.nullableString()
      request.int32()
    }
    return { id, topics: readTopics() }
  })
}

function committedBy(group: Group): { name: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>()
  for (const key of group.offsets.keys()) {
    const [name = '', partition] = key.split('/')
    topics.set(name, [...(topics.get(name) ?? []), Number(partition)])
  }
  return [...topics].map(([name, partitions]) => ({ name, partitions }))
}

function writeOffsets(
  { version, response, user, broker }: Exchange,
  topics: { name: string; partitions: number[] }[],
  group: Group | undefined,
): void {
  response.structures(topics, ({ name, partitions }) => {
    response.string(name)
    response.structures(partitions, (index) => {
      const log = findLog(broker, name, index, user.permissions.describeTopics)
      const isHidden = log === errorCode.TOPIC_AUTHORIZATION_FAILED || !user.permissions.useGroups
      const committed = isHidden ? undefined : group?.offsets.get(`${name}/${index}`)
      response.int32(index).int64(committed?.offset ?? -1)
      if (version >= 5) response.int32(-1)
      response.string(committed?.metadata ?? '')
      response.int16(hiddenError(isHidden, user.permissions.useGroups))
    })
  })
}

function hiddenError(isHidden: boolean, mayUseGroups: boolean): number {
  if (!isHidden) return errorCode.NONE
  return mayUseGroups ? errorCode.TOPIC_AUTHORIZATION_FAILED : errorCode.GROUP_AUTHORIZATION_FAILED
}
