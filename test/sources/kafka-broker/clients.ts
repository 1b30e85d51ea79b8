// Clients that write and read a topic: kafkajs, and the library of production code. They share no code with the fake broker.

import { Consumer, ProduceAcks, Producer } from '@platformatic/kafka'
import { CompressionTypes, Kafka, type KafkaConfig, logLevel, Partitioners } from 'kafkajs'
import type { KafkaCompression, KafkaListeners, KafkaServer } from '../kafka-server.ts'

export const someTexts = (count: number): string[] => Array.from({ length: count }, (_, index) => `text ${index} ✓`)

export function kafkajs(server: KafkaServer, listener: keyof KafkaListeners, more: Partial<KafkaConfig> = {}): Kafka {
  const needsTls = listener !== 'plain' && listener !== 'saslPlain'
  return new Kafka({
    brokers: [server.listeners[listener]],
    logLevel: logLevel.NOTHING,
    // Default: one second, which TLS may need on a busy machine. No retries.
    connectionTimeout: 20_000,
    retry: { retries: 0 },
    ...(needsTls ? { ssl: { ca: [server.ca], servername: 'localhost' } } : {}),
    ...more,
  })
}

export async function writeByKafkajs(
  kafka: Kafka,
  topic: string,
  texts: string[],
  compression = CompressionTypes.None,
): Promise<void> {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  try {
    await producer.connect()
    await producer.send({ topic, compression, messages: texts.map((value) => ({ value, partition: 0 })) })
  } finally {
    await producer.disconnect()
  }
}

/** A failed consumer does not restart: the test must see the failure, and nothing may keep retrying. */
export const onceOnly = { retries: 0, restartOnFailure: async () => false }

export async function readByKafkajs(kafka: Kafka, topic: string, count: number): Promise<(string | undefined)[]> {
  const consumer = kafka.consumer({ groupId: `of-${topic}`, maxWaitTimeInMs: 100, retry: onceOnly })
  const texts: (string | undefined)[] = []
  const { promise: isDone, resolve, reject } = Promise.withResolvers<void>()
  consumer.on('consumer.crash', ({ payload }) => reject(payload.error))
  try {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message }) => {
        texts.push(message.value?.toString())
        if (texts.length >= count) resolve()
      },
    })
    await isDone
  } finally {
    await consumer.disconnect()
  }
  return texts
}

const libraryOptions = (server: KafkaServer) => ({
  clientId: 'test',
  bootstrapBrokers: [server.listeners.plain],
  retries: 0,
})

export async function writeByLibrary(
  server: KafkaServer,
  topic: string,
  texts: string[],
  compression: KafkaCompression,
): Promise<void> {
  const producer = new Producer({ ...libraryOptions(server), compression, idempotent: true, acks: ProduceAcks.ALL })
  try {
    await producer.send({ messages: texts.map((value) => ({ topic, partition: 0, value: Buffer.from(value) })) })
  } finally {
    await producer.close()
  }
}

export async function readByLibrary(server: KafkaServer, topic: string, count: number): Promise<string[]> {
  const consumer = new Consumer({ ...libraryOptions(server), groupId: `of-${topic}` })
  const texts: string[] = []
  try {
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', maxWaitTime: 100 })
    for await (const { value } of stream) {
      texts.push(value.toString())
      if (texts.length >= count) break
    }
  } finally {
    await consumer.close(true)
  }
  return texts
}

let madeTopics = 0

/** A new topic for this test. */
export async function newTopic(server: KafkaServer, partitions = 1): Promise<string> {
  const name = `topic-${++madeTopics}`
  await server.createTopic(name, partitions)
  return name
}
