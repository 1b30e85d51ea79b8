// APIs that describe the broker: ApiVersions, Metadata and FindCoordinator.
import { type Api, brokerId, clusterId, type Exchange } from './api.ts'
import { errorCode } from './error-codes.ts'
import { leaderEpoch, type PartitionLog } from './partition-log.ts'
import { isTopicName, type Topic } from './topics.ts'
import type { KafkaUser } from './users.ts'

const zeroUuid = '00000000-0000-0000-0000-000000000000'

/** Value of authorized operations when the client did not request them. */
const notAsked = -(2 ** 31)
/** Bits of Kafka operations on topics and on the cluster. */
const operationBit = { read: 1 << 3, write: 1 << 4, describe: 1 << 8 }

export function makeApiVersions(listApis: () => readonly Api[]): Api {
  return {
    key: 18,
    firstVersion: 0,
    lastVersion: 4,
    flexibleFrom: 3,
    isOpen: true,
    answer({ version, request, response }) {
      if (version >= 3) {
        request.string()
        request.string()
        request.tags()
      }
      response.int16(errorCode.NONE)
      response.structures(listApis(), ({ key, firstVersion, lastVersion }) =>
        response.int16(key).int16(firstVersion).int16(lastVersion),
      )
      if (version >= 1) response.int32(0)
      response.tags()
      return undefined
    },
  }
}

interface RequestedTopic {
  id: string | null
  name: string | null
}

interface DescribedTopic extends RequestedTopic {
  error: number
  partitions: PartitionLog[]
}

export const metadata: Api = {
  key: 3,
  firstVersion: 0,
  lastVersion: 12,
  flexibleFrom: 9,
  answer(exchange) {
    const { version, request, response, client, user, broker } = exchange
    const requested = readRequestedTopics(exchange)
    if (version >= 4) request.boolean()
    const includesClusterOperations = version >= 8 && version <= 10 && request.boolean()
    const includesTopicOperations = version >= 8 && request.boolean()
    request.tags()

    if (version >= 3) response.int32(0)
    response.structures([client.port], (port) => {
      response.int32(brokerId).string(broker.advertisedHost).int32(port)
      if (version >= 1) response.string(null)
    })
    if (version >= 2) response.string(clusterId)
    if (version >= 1) response.int32(brokerId)
    response.structures(describeTopics(exchange, requested), (topic) => {
      response.int16(topic.error).string(topic.name ?? (version >= 12 ? null : ''))
      if (version >= 10) response.uuid(topic.id)
      if (version >= 1) response.boolean(false)
      response.structures([...topic.partitions.keys()], (index) => writePartition(exchange, index))
      if (version >= 8) response.int32(includesTopicOperations && !topic.error ? topicOperations(user) : notAsked)
    })
    if (version >= 8 && version <= 10) response.int32(includesClusterOperations ? operationBit.describe : notAsked)
    response.tags()
    return undefined
  },
}

/** Null: all topics. */
function readRequestedTopics({ version, request }: Exchange): RequestedTopic[] | null {
  const requested = request.nullableStructures((): RequestedTopic => {
    const id = version >= 10 ? request.uuid() : zeroUuid
    return { id: id === zeroUuid ? null : id, name: request.nullableString() }
  })
  return version === 0 && requested?.length === 0 ? null : requested
}

function describeTopics({ user, broker }: Exchange, requested: RequestedTopic[] | null): DescribedTopic[] {
  const { describeTopics: mayDescribe } = user.permissions
  const found = (topic: Topic): DescribedTopic => ({ ...topic, error: errorCode.NONE })
  if (!requested) return mayDescribe ? broker.topics.list().map(found) : []
  return requested.map(({ id, name }) => {
    const topic = id === null ? broker.topics.find(name ?? '') : broker.topics.findById(id)
    if (mayDescribe && topic) return found(topic)
    return { id, name, partitions: [], error: problemOf(id, name, mayDescribe) }
  })
}

function problemOf(id: string | null, name: string | null, mayDescribe: boolean): number {
  if (!mayDescribe) return errorCode.TOPIC_AUTHORIZATION_FAILED
  if (id !== null) return errorCode.UNKNOWN_TOPIC_ID
  return isTopicName(name ?? '') ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : errorCode.INVALID_TOPIC_EXCEPTION
}

function writePartition({ version, response }: Exchange, index: number): void {
  const replicas = [brokerId]
  response.int16(errorCode.NONE).int32(index).int32(brokerId)
  if (version >= 7) response.int32(leaderEpoch)
  response.array(replicas, (id) => response.int32(id)).array(replicas, (id) => response.int32(id))
  if (version >= 5) response.array([], () => {})
}

function topicOperations({ permissions }: KafkaUser): number {
  return (
    (permissions.describeTopics ? operationBit.describe : 0) |
    (permissions.readTopics ? operationBit.read : 0) |
    (permissions.writeTopics ? operationBit.write : 0)
  )
}

export const findCoordinator: Api = {
  key: 10,
  firstVersion: 0,
  lastVersion: 4,
  flexibleFrom: 3,
  answer({ version, request, response, client, user, broker }) {
    const single = version <= 3 ? request.string() : ''
    const isGroup = version < 1 || request.int8() === 0
    const keys = version >= 4 ? request.array(() => request.string()) : [single]
    request.tags()

    const isAllowed = !isGroup || user.permissions.useGroups
    const error = isAllowed ? errorCode.NONE : errorCode.GROUP_AUTHORIZATION_FAILED
    const writeEndpoint = () => {
      response.int32(isAllowed ? brokerId : -1)
      response.string(isAllowed ? broker.advertisedHost : '').int32(isAllowed ? client.port : -1)
    }
    if (version >= 1) response.int32(0)
    if (version <= 3) {
      response.int16(error)
      if (version >= 1) response.string(null)
      writeEndpoint()
    } else {
      response.structures(keys, (key) => {
        response.string(key)
        writeEndpoint()
        response.int16(error).string(null)
      })
    }
    response.tags()
    return undefined
  },
}
