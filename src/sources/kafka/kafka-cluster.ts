// Connections to all brokers of a source, the partitions of its topics, and their leaders.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  findCoordinatorV1,
  findCoordinatorV4,
  metadataV4,
  metadataV8,
  metadataV10,
  metadataV12,
} from '@platformatic/kafka'
import { hostOfUrl } from '../../lib/host.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { BrokerConnection, KafkaAccess } from './kafka-access.ts'
import { connectBroker } from './kafka-connection.ts'
import { type BrokerAddress, failureFrom, kafkaErrors, topicFailure } from './kafka-failure.ts'
import { limitConcurrency } from './kafka-scheduling.ts'

export interface TopicPartition {
  topic: string
  partition: number
  /** A topic that is deleted and created again gets another id. Undefined where the brokers have no topic ids. */
  topicId: string | undefined
  /** Undefined while the partition has no leader. */
  leader: BrokerAddress | undefined
}

export interface KafkaCluster {
  /** Current partitions of all topics of the source. Rejects with a ProbeFailure when a topic does not exist. */
  loadPartitions(): Promise<TopicPartition[]>
  /** The group coordinator, or the error code of the response. */
  findCoordinator(group: string): Promise<{ address?: BrokerAddress; errorCode: number }>
  /** One connection per broker address and purpose. Rejects with a ProbeFailure. */
  connectionTo(address: BrokerAddress, purpose?: 'group'): Promise<BrokerConnection>
}

const metadataApis = [metadataV12.api, metadataV10.api, metadataV8.api, metadataV4.api] as const
const coordinatorApis = [findCoordinatorV4.api, findCoordinatorV1.api] as const

/** Shared by all bootstrap brokers, with a minimum for each. */
const connectTimeoutMs = 8_000
const leastConnectTimeoutMs = 2_000

/** A broker could advertise any number of others. */
const mostOpeningAtOnce = 8
const mostConnections = 256

interface Opening {
  connecting: Promise<BrokerConnection>
  connection?: BrokerConnection
}

/** Its connections end with the access. */
export async function openCluster(access: KafkaAccess, begin?: (step: ProbeStep) => void): Promise<KafkaCluster> {
  const { address: first, connection } = await connectFirst(access, begin)
  const openings = new Map<string, Opening>()
  /** Includes replaced connections: they may still have requests in flight. */
  const all = new Set<Opening>()
  const limited = limitConcurrency(mostOpeningAtOnce)
  const firstOpening: Opening = { connecting: Promise.resolve(connection), connection }
  openings.set(keyOf(first), firstOpening)
  all.add(firstOpening)

  const connectionTo: KafkaCluster['connectionTo'] = (address, purpose) => {
    const key = keyOf(address, purpose)
    const known = openings.get(key)
    const isGood = known && (!known.connection || (known.connection.isOpen && !known.connection.isExpired()))
    if (isGood) return known.connecting
    for (const other of all) {
      if (other.connection && !other.connection.isOpen) all.delete(other)
    }
    if (all.size >= mostConnections) return Promise.reject(tooManyBrokers())
    const opening: Opening = {
      connecting: limited(() => connectBroker(access, address, { timeoutMs: connectTimeoutMs })),
    }
    openings.set(key, opening)
    all.add(opening)
    opening.connecting.then(
      (opened) => {
        opening.connection = opened
      },
      () => {
        all.delete(opening)
        if (openings.get(key) === opening) openings.delete(key)
      },
    )
    return opening.connecting
  }

  return {
    connectionTo,
    loadPartitions: () => loadPartitions(access, () => connectionTo(first)),
    async findCoordinator(group) {
      const broker = await connectionTo(first)
      const { coordinators } = await broker.call((wire) => broker.choose(coordinatorApis).async(wire, 0, [group]))
      const [coordinator] = coordinators
      if (!coordinator) return { errorCode: kafkaErrors.coordinatorNotAvailable }
      const { errorCode, host, port } = coordinator
      return errorCode === 0 ? { errorCode, address: { host, port, isAdvertised: true } } : { errorCode }
    },
  }
}

function keyOf({ host, port }: BrokerAddress, purpose = 'records'): string {
  return `${host} ${port} ${purpose}`
}

function tooManyBrokers(): ProbeFailure {
  return new ProbeFailure({
    step: 'connect',
    code: 'not_set_up',
    reason: `the brokers name more than ${mostConnections} others that would have to be connected to`,
    remedy: 'check advertised.listeners of the brokers, or spread the topics over fewer of them',
    field: 'brokers',
  })
}

/** Tries the bootstrap brokers in order until one accepts or rejects the login. */
async function connectFirst(
  access: KafkaAccess,
  begin: ((step: ProbeStep) => void) | undefined,
): Promise<{ address: BrokerAddress; connection: BrokerConnection }> {
  const addresses = access.config.brokers.split(',').map(parseAddress)
  const timeoutMs = Math.max(leastConnectTimeoutMs, Math.floor(connectTimeoutMs / addresses.length))
  const begun = new Set<ProbeStep>()
  const beginOnce = (step: ProbeStep): void => {
    if (begun.has(step)) return
    begun.add(step)
    begin?.(step)
  }
  beginOnce('connect')
  let failure: ProbeFailure | undefined
  let triedCount = 0
  for (const address of addresses) {
    try {
      return { address, connection: await connectBroker(access, address, { timeoutMs, begin: beginOnce }) }
    } catch (error) {
      // Credentials rejected by one broker are rejected by the others.
      if (!(error instanceof ProbeFailure) || error.step === 'authenticate') throw error
      failure ??= error
      triedCount++
    }
    if (access.signal.aborted) break
  }
  throw triedCount > 1 ? amongOthers(failure!, triedCount) : failure!
}

function amongOthers(failure: ProbeFailure, triedCount: number): ProbeFailure {
  const { step, code, reason, remedy, field, cause } = failure
  const more = `${reason}; none of the ${triedCount} brokers that were tried can be used`
  return failureFrom(cause, { step, code, reason: more, remedy, ...(field ? { field } : {}) })
}

function parseAddress(broker: string): BrokerAddress {
  const colon = broker.lastIndexOf(':')
  const host = hostOfUrl(broker.slice(0, colon))
  return { host, port: Number(broker.slice(colon + 1)), isAdvertised: false }
}

/** A new topic or leader is not known to every broker at once. */
const maxAttempts = 3
const attemptPauseMs = 150
/** Sent by brokers of Kafka 2.8 or later when the cluster is configured for an earlier version. */
const noTopicId = '00000000-0000-0000-0000-000000000000'

async function loadPartitions(
  access: KafkaAccess,
  connect: () => Promise<BrokerConnection>,
): Promise<TopicPartition[]> {
  const names = [...new Set(access.config.topics.split(','))]
  for (let attempt = 1; ; attempt++) {
    const broker = await connect()
    // Without auto-creation: a wrong name would create a topic.
    const answer = await broker.call((wire) => broker.choose(metadataApis).async(wire, names, false, false))
    const addresses = new Map(
      answer.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port, isAdvertised: true }]),
    )
    const topics = names.map((name) => answer.topics.find((topic) => topic.name === name) ?? missingTopic(name))
    const isSettled = topics.every(
      ({ errorCode, partitions }) =>
        errorCode !== kafkaErrors.unknownTopicOrPartition &&
        errorCode !== kafkaErrors.leaderNotAvailable &&
        partitions.every(({ leaderId }) => addresses.has(leaderId)),
    )
    if (!isSettled && attempt < maxAttempts) {
      await sleep(attemptPauseMs, undefined, { signal: access.signal }).catch(() => undefined)
      continue
    }
    return topics.flatMap((found, index) => {
      const { errorCode, partitions } = found
      const topic = names[index]!
      if (errorCode !== 0) throw topicFailure(errorCode, topic, 'describe')
      const topicId = 'topicId' in found && found.topicId !== noTopicId ? found.topicId : undefined
      return partitions
        .toSorted((a, b) => a.partitionIndex - b.partitionIndex)
        .map(({ partitionIndex: partition, leaderId }) => ({
          topic,
          partition,
          topicId,
          leader: addresses.get(leaderId),
        }))
    })
  }
}

function missingTopic(name: string) {
  return { name, errorCode: kafkaErrors.unknownTopicOrPartition, partitions: [] }
}
