// Producer ids and transactions: the partitions written to, and the outcome.
import type { BrokerState } from './api.ts'
import { errorCode } from './error-codes.ts'

interface Producer {
  producerId: bigint
  producerEpoch: number
}

interface TransactionalProducer extends Producer {
  /** `topic/partition`; empty while no transaction is open. */
  partitions: Set<string>
}

export class Transactions {
  readonly #byTransactionalId = new Map<string, TransactionalProducer>()
  #lastProducerId = 1_000n

  /** Assigns a producer id. A producer that takes over a transactional id aborts the open transaction and fences its predecessor. */
  begin(broker: BrokerState, transactionalId: string | null): Producer {
    if (transactionalId === null) return { producerId: ++this.#lastProducerId, producerEpoch: 0 }
    const predecessor = this.#byTransactionalId.get(transactionalId)
    if (predecessor) {
      predecessor.producerEpoch++
      this.#finish(broker, predecessor, false)
      return predecessor
    }
    const producer = { producerId: ++this.#lastProducerId, producerEpoch: 0, partitions: new Set<string>() }
    this.#byTransactionalId.set(transactionalId, producer)
    return producer
  }

  join(transactionalId: string, producer: Producer, partitions: string[]): number {
    const found = this.#find(transactionalId, producer)
    if (typeof found === 'number') return found
    for (const partition of partitions) found.partitions.add(partition)
    return errorCode.NONE
  }

  end(broker: BrokerState, transactionalId: string, producer: Producer, isCommit: boolean): number {
    const found = this.#find(transactionalId, producer)
    if (typeof found === 'number') return found
    this.#finish(broker, found, isCommit)
    return errorCode.NONE
  }

  /** Error code if the transaction may not write to the partition. */
  mayWrite(transactionalId: string | null, producer: Producer, partition: string): number {
    const found = this.#find(transactionalId ?? '', producer)
    if (typeof found === 'number') return found
    return found.partitions.has(partition) ? errorCode.NONE : errorCode.INVALID_TXN_STATE
  }

  #find(transactionalId: string, { producerId, producerEpoch }: Producer): TransactionalProducer | number {
    const found = this.#byTransactionalId.get(transactionalId)
    if (found?.producerId !== producerId) return errorCode.INVALID_PRODUCER_ID_MAPPING
    return found.producerEpoch === producerEpoch ? found : errorCode.INVALID_PRODUCER_EPOCH
  }

  #finish(broker: BrokerState, producer: TransactionalProducer, isCommit: boolean): void {
    for (const key of producer.partitions) {
      const [topic = '', partition] = key.split('/')
      broker.topics.find(topic)?.partitions[Number(partition)]?.endTransaction(producer, isCommit)
    }
    producer.partitions.clear()
    broker.topics.changed()
  }
}
