// Answers of a broker, written by hand: what no broker would say, or not in a test.
import { numbers } from './kafka-world.ts'

/** Where the id of the first topic is in an answer to a fetch in the form of version 13. */
const topicIdAt = { begin: 16, end: 32 }

/** In the form of version 13: the partitions of the topic with an error, and without records. */
export function fetchAnswer(answer: Buffer, partitions: number[], errorCode: number, aborted = unsigned(0)): Buffer {
  const ofPartitions = partitions.map((partition) => {
    const fixed = Buffer.alloc(30)
    fixed.writeInt32BE(partition, 0)
    fixed.writeInt16BE(errorCode, 4)
    // No other replica, no records, no tags.
    return Buffer.concat([fixed, aborted, Buffer.from([255, 255, 255, 255, 0, 0])])
  })
  return Buffer.concat([
    answer.subarray(0, 4),
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]),
    answer.subarray(topicIdAt.begin, topicIdAt.end),
    Buffer.from([partitions.length + 1]),
    ...ofPartitions,
    Buffer.from([0, 0]),
  ])
}

/** In the form of version 12: a broker for each partition, all of them at the same port. */
export function metadataAnswer(answer: Buffer, topic: string, count: number, port: number): Buffer {
  const brokers = numbers(0, count).map((id) =>
    Buffer.concat([int32(id), compactText(`b-${id}.example`), int32(port), Buffer.from([0, 0])]),
  )
  // No error, the partition, its leader and epoch, no replicas, no tags.
  const partitions = numbers(0, count).map((id) =>
    Buffer.concat([Buffer.from([0, 0]), int32(id), int32(id), int32(0), Buffer.from([1, 1, 1, 0])]),
  )
  return Buffer.concat([
    answer.subarray(0, 4),
    // No tags of the head, no throttling.
    Buffer.from([0, 0, 0, 0, 0]),
    unsigned(count + 1),
    ...brokers,
    // No name of the cluster, its controller, and one topic without an error.
    Buffer.from([0, 0, 0, 0, 0, 2, 0, 0]),
    compactText(topic),
    Buffer.alloc(17),
    unsigned(count + 1),
    ...partitions,
    Buffer.from([0, 0, 0, 0, 0, 0]),
  ])
}

function compactText(value: string): Buffer {
  return Buffer.concat([unsigned(value.length + 1), Buffer.from(value)])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** A number in as many bytes as it needs. */
export function unsigned(value: number): Buffer {
  return value < 0x80
    ? Buffer.from([value])
    : Buffer.concat([Buffer.from([(value & 0x7f) | 0x80]), unsigned(value >> 7)])
}
