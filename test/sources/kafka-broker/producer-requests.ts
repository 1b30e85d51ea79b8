// APIs of idempotent and transactional producers, except Produce.
import type { Api } from './api.ts'
import { errorCode } from './error-codes.ts'

export const initProducerId: Api = {
  key: 22,
  firstVersion: 0,
  lastVersion: 4,
  flexibleFrom: 2,
  answer({ version, request, response, user, broker }) {
    const transactionalId = request.nullableString()
    request.int32()
    if (version >= 3) {
      request.int64()
      request.int16()
    }
    request.tags()

    const isAllowed = user.permissions.writeTopics
    const producer = isAllowed ? broker.transactions.begin(broker, transactionalId) : undefined
    response.int32(0).int16(isAllowed ? errorCode.NONE : errorCode.CLUSTER_AUTHORIZATION_FAILED)
    response.int64(producer?.producerId ?? -1).int16(producer?.producerEpoch ?? -1)
    response.tags()
    return undefined
  },
}

export const addPartitionsToTransaction: Api = {
  key: 24,
  firstVersion: 0,
  lastVersion: 3,
  flexibleFrom: 3,
  answer({ request, response, user, broker }) {
    const transactionalId = request.string()
    const producer = { producerId: request.int64(), producerEpoch: request.int16() }
    const topics = request.structures(() => ({
      name: request.string(),
      partitions: request.array(() => request.int32()),
    }))
    request.tags()

    const partitions = topics.flatMap(({ name, partitions }) => partitions.map((index) => `${name}/${index}`))
    const error = user.permissions.writeTopics
      ? broker.transactions.join(transactionalId, producer, partitions)
      : errorCode.TOPIC_AUTHORIZATION_FAILED
    response.int32(0)
    response.structures(topics, ({ name, partitions }) => {
      response.string(name)
      response.structures(partitions, (index) => response.int32(index).int16(error))
    })
    response.tags()
    return undefined
  },
}

export const endTransaction: Api = {
  key: 26,
  firstVersion: 0,
  lastVersion: 3,
  flexibleFrom: 3,
  answer({ request, response, broker }) {
    const transactionalId = request.string()
    const producer = { producerId: request.int64(), producerEpoch: request.int16() }
    const isCommit = request.boolean()
    request.tags()

    response.int32(0).int16(broker.transactions.end(broker, transactionalId, producer, isCommit))
    response.tags()
    return undefined
  },
}
