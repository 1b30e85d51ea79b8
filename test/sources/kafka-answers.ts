// Hand-written responses that no real broker sends, or not during a test.
import { numbers } from './kafka-world.ts'

/** Byte offset of the first topic id in a Fetch response of version 13. */
const topicIdAt = { begin: 16, end: 32 }

/** Fetch response, version 13: the partitions of the topic with an error and no records. */
export function fetchAnswer(answer: Buffer, partitions: number[], errorCode: number, aborted = unsigned(0)): Buffer {
  const ofPartitions = partitions.map((partition) => {
    const fixed = Buffer.alloc(30)
    fixed.writeInt32BE(partition, 0)
    fixed.writeInt16BE(errorCode, 4)
    // No preferred replica, no records, no tagged fields.
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

/** Metadata response, version 12: one broker per partition, all at the same port. */
export function metadataAnswer(answer: Buffer, topic: string, count: number, port: number): Buffer {
  const brokers = numbers(0, count).map((id) =>
    Buffer.concat([int32(id), compactText(`b-${id}.example`), int32(port), Buffer.from([0, 0])]),
  )
  // No error, partition, leader and epoch, no replicas, no tagged fields.
  const partitions = numbers(0, count).map((id) =>
    Buffer.concat([Buffer.from([0, 0]), int32(id), int32(id), int32(0), Buffer.from([1, 1, 1, 0])]),
  )
  return Buffer.concat([
    answer.subarray(0, 4),
    // No tagged fields, no throttle time.
    Buffer.from([0, 0, 0, 0, 0]),
    unsigned(count + 1),
    ...brokers,
    // No cluster id, the controller id, and one topic without an error.
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

/** Encodes an unsigned varint. */
export function unsigned(value: number): Buffer {
  return value < 0x80
    ? Buffer.from([value])
    : Buffer.concat([Buffer.from([(value & 0x7f) | 0x80]), unsigned(value >> 7)])
}
