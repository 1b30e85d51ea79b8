// CreateTopics, CreatePartitions and DeleteTopics.
import type { Api, BrokerState, Exchange } from './api.ts'
import { errorCode } from './error-codes.ts'
import { isTopicName } from './topics.ts'

const defaultPartitions = 1

interface NewTopic {
  name: string
  partitions: number
}

export const createTopics: Api = {
  key: 19,
  firstVersion: 0,
  lastVersion: 7,
  flexibleFrom: 5,
  answer({ version, request, response, user, broker }) {
    const requested = request.structures((): NewTopic => {
      const name = request.string()
      const partitions = request.int32()
      request.int16()
      const assigned = request.structures(() => {
        request.int32()
        request.array(() => request.int32())
      })
      request.structures(() => {
        request.string()
        request.nullableString()
      })
      return { name, partitions: assigned.length || (partitions === -1 ? defaultPartitions : partitions) }
    })
    request.int32()
    const isTrial = version >= 1 && request.boolean()
    request.tags()

    if (version >= 2) response.int32(0)
    response.structures(requested, (topic) => {
      const error = problemOfNew(broker, topic, user.permissions.writeTopics)
      const created = error || isTrial ? undefined : broker.topics.create(topic.name, topic.partitions)
      response.string(topic.name)
      if (version >= 7) response.uuid(created?.id ?? null)
      response.int16(error)
      if (version >= 1) response.string(null)
      if (version >= 5) response.int32(error ? -1 : topic.partitions).int16(error ? -1 : 1)
      if (version >= 5) response.structures([], () => {})
    })
    response.tags()
    return undefined
  },
}

function problemOfNew(broker: BrokerState, { name, partitions }: NewTopic, isAllowed: boolean): number {
  if (!isAllowed) return errorCode.TOPIC_AUTHORIZATION_FAILED
  if (!isTopicName(name)) return errorCode.INVALID_TOPIC_EXCEPTION
  if (broker.topics.find(name)) return errorCode.TOPIC_ALREADY_EXISTS
  return partitions > 0 ? errorCode.NONE : errorCode.INVALID_PARTITIONS
}

export const createPartitions: Api = {
  key: 37,
  firstVersion: 0,
  lastVersion: 3,
  flexibleFrom: 2,
  answer({ request, response, user, broker }) {
    const requested = request.structures(() => {
      const name = request.string()
      const partitions = request.int32()
      request.nullableStructures(() => request.array(() => request.int32()))
      return { name, partitions }
    })
    request.int32()
    const isTrial = request.boolean()
    request.tags()

    response.int32(0)
    response.structures(requested, ({ name, partitions }) => {
      const topic = broker.topics.find(name)
      let error: number = errorCode.NONE
      if (!user.permissions.writeTopics) error = errorCode.TOPIC_AUTHORIZATION_FAILED
      else if (!topic) error = errorCode.UNKNOWN_TOPIC_OR_PARTITION
      else if (partitions <= topic.partitions.length) error = errorCode.INVALID_PARTITIONS
      else if (!isTrial) broker.topics.grow(topic, partitions)
      response.string(name).int16(error).string(null)
    })
    response.tags()
    return undefined
  },
}

export const deleteTopics: Api = {
  key: 20,
  firstVersion: 0,
  lastVersion: 6,
  flexibleFrom: 4,
  answer(exchange) {
    const { version, request, response, user, broker } = exchange
    const requested = readTopicsToDelete(exchange)
    request.int32()
    request.tags()

    if (version >= 1) response.int32(0)
    response.structures(requested, ({ name, id }) => {
      const topic = name === null ? broker.topics.findById(id) : broker.topics.find(name)
      const missing = name === null ? errorCode.UNKNOWN_TOPIC_ID : errorCode.UNKNOWN_TOPIC_OR_PARTITION
      let error: number = errorCode.NONE
      if (!user.permissions.writeTopics) error = errorCode.TOPIC_AUTHORIZATION_FAILED
      else if (!topic) error = missing
      else broker.topics.delete(topic.name)
      response.string(topic?.name ?? name)
      if (version >= 6) response.uuid(topic?.id ?? id)
      response.int16(error)
      if (version >= 5) response.string(null)
    })
    response.tags()
    return undefined
  },
}

function readTopicsToDelete({ version, request }: Exchange): { name: string | null; id: string }[] {
  if (version >= 6) return request.structures(() => ({ name: request.nullableString(), id: request.uuid() }))
  return request.array(() => ({ name: request.string(), id: '' }))
}
