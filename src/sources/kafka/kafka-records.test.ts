import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { compressionsAlgorithms, crc32c, createRecordsBatch, type MessageRecord } from '@platformatic/kafka'
import fc from 'fast-check'
import { buildBatch } from '../../../test/sources/kafka-broker/record-batch.ts'
import { UnreadableBatch } from './kafka-compression.ts'
import { type AbortedTransaction, type RecordStep, readRecords } from './kafka-records.ts'

type Codec = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
const codecs: Codec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/** As the library writes it; production code does not read with the library. */
function batchOf(messages: Omit<MessageRecord, 'topic'>[], baseOffset = 0n, compression: Codec = 'none'): Buffer {
  const bytes = createRecordsBatch(
    messages.map((message) => ({ topic: 'topic', ...message })),
    { compression },
  ).buffer
  bytes.writeBigInt64BE(baseOffset, 0)
  return bytes
}

function messagesOf(...texts: string[]): Omit<MessageRecord, 'topic'>[] {
  return texts.map((text, index) => ({ value: Buffer.from(text), timestamp: 1_700_000_000_000n + BigInt(index) }))
}

/** Sets the length and the checksum. */
function withChecksum(batch: Buffer): Buffer {
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

function changed(batch: Buffer, change: (batch: Buffer) => void): Buffer {
  change(batch)
  return withChecksum(batch)
}

function read(bytes: Buffer, from = 0n, aborted: AbortedTransaction[] = []): RecordStep[] {
  return [...readRecords({ topic: 'topic', partition: 0, bytes, aborted }, from)]
}

function withHeaders(...headers: [name: string, value: Buffer][]): Buffer {
  const named = new Map(headers.map(([name, value]) => [Buffer.from(name), value]))
  return batchOf([{ value: Buffer.from('a'), headers: named }, ...messagesOf('b')], 0n, 'gzip')
}

function texts(steps: RecordStep[]): string[] {
  return steps.flatMap(({ record }) => (record ? [`${record.offset} ${record.value}`] : []))
}

describe('reading batches of Kafka records', () => {
  it('returns what was written, with every compression', () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
    const message = fc.record({
      key: fc.option(bytes, { nil: undefined }),
      value: bytes,
      // The library writes wrong timestamps if they are further apart.
      timestamp: fc.bigInt(1_700_000_000_000n, 1_702_147_483_647n),
      headers: fc.array(fc.tuple(bytes, bytes), { maxLength: 3 }),
    })
    const batch = fc.record({
      messages: fc.array(message, { minLength: 1, maxLength: 20 }),
      codec: fc.constantFrom(...codecs),
    })
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 4 }), fc.bigInt(0n, 2n ** 62n), (batches, start) => {
        let offset = start
        const written = batches.map(({ messages, codec }) => {
          const sent = messages.map(({ key, headers, ...rest }) => ({
            ...rest,
            ...(key ? { key } : {}),
            headers: new Map(headers),
          }))
          const buffer = batchOf(sent, offset, codec)
          offset += BigInt(messages.length)
          return buffer
        })
        const steps = read(Buffer.concat(written), start)
        const records = steps.flatMap(({ record }) => record ?? [])
        assert.deepEqual(
          records.map(({ offset, timestampMs, key, value, headers }) => ({ offset, timestampMs, key, value, headers })),
          batches
            .flatMap(({ messages }) => messages)
            .map(({ key, value, timestamp, headers }, index) => ({
              offset: start + BigInt(index),
              timestampMs: Number(timestamp),
              key: key ?? null,
              value,
              headers: headers.map(([name, header]) => [name.toString(), header]),
            })),
        )
        assert.equal(steps.at(-1)?.nextOffset ?? start, offset)
      }),
      { numRuns: 150 },
    )
  })

  it('reads timestamps that are far apart', () => {
    const timesMs = [4_000_000_000_000, 0, 8_640_000_000_000, 1]
    const records = timesMs.map((timestampMs) => ({ partition: 0, value: Buffer.from('a'), timestampMs }))
    assert.deepEqual(
      read(buildBatch(records, 'gzip').bytes).flatMap(({ record }) => record?.timestampMs ?? []),
      timesMs,
    )
  })

  it('begins in the middle of a batch, and ends before a truncated one', () => {
    const whole = Buffer.concat([batchOf(messagesOf('a', 'b', 'c'), 10n), batchOf(messagesOf('d', 'e'), 13n)])
    assert.deepEqual(texts(read(whole, 11n)), ['11 b', '12 c', '13 d', '14 e'])
    for (const cut of [1, 20, 61, 65]) {
      const steps = read(whole.subarray(0, whole.length - cut), 11n)
      assert.deepEqual(texts(steps), ['11 b', '12 c'])
      assert.equal(steps.at(-1)?.nextOffset, 13n)
    }
  })

  it('returns the append time of the broker with LogAppendTime', () => {
    const batch = changed(batchOf(messagesOf('a', 'b')), (bytes) => {
      bytes.writeInt16BE(0x08, 21)
      bytes.writeBigInt64BE(1_800_000_000_000n, 35)
    })
    const times = read(batch).flatMap(({ record }) => record?.timestampMs ?? [])
    assert.deepEqual(times, [1_800_000_000_000, 1_800_000_000_000])
  })

  it('returns no timestamp when the producer sent none', () => {
    const batch = changed(batchOf(messagesOf('a')), (bytes) => bytes.writeBigInt64BE(-1n, 27))
    assert.equal(read(batch)[0]?.record?.timestampMs, undefined)
  })

  it('skips the records of an aborted transaction up to its marker, and no others', () => {
    const transactional = (text: string, offset: bigint, producerId: bigint, isControl = false): Buffer => {
      const key = Buffer.from([0, 0, 0, 0])
      const [message] = messagesOf(text)
      const batch = batchOf([{ ...message!, ...(isControl ? { key } : {}) }], offset)
      return changed(batch, (bytes) => {
        bytes.writeInt16BE(isControl ? 0x30 : 0x10, 21)
        bytes.writeBigInt64BE(producerId, 43)
      })
    }
    const bytes = Buffer.concat([
      transactional('aborted', 0n, 7n),
      transactional('of another', 1n, 8n),
      batchOf(messagesOf('of none'), 2n),
      transactional('mark', 3n, 7n, true),
      transactional('of the next', 4n, 7n),
      transactional('aborted again', 5n, 8n),
    ])
    const aborted = [
      { producerId: 8n, firstOffset: 5n },
      { producerId: 7n, firstOffset: 0n },
    ]
    const steps = read(bytes, 0n, aborted)
    assert.deepEqual(texts(steps), ['1 of another', '2 of none', '4 of the next'])
    assert.equal(steps.at(-1)?.nextOffset, 6n)
  })

  it('handles many aborted transactions, each from its first offset', () => {
    const count = 100_000
    const transactional = (offset: number, producerId: number): Buffer =>
      changed(batchOf(messagesOf(String(producerId)), BigInt(offset)), (bytes) => {
        bytes.writeInt16BE(0x10, 21)
        bytes.writeBigInt64BE(BigInt(producerId), 43)
      })
    const aborted = Array.from({ length: count }, (_, index) => ({
      producerId: BigInt(index),
      firstOffset: BigInt(count - index),
    }))
    // Producer n aborts the transaction that begins at offset `count` - n.
    const bytes = Buffer.concat([transactional(5, count - 6), transactional(6, count - 6), transactional(7, count + 1)])
    assert.deepEqual(texts(read(bytes, 0n, aborted)), [`5 ${count - 6}`, `7 ${count + 1}`])
  })

  it('reports the memory of the batch at each step, also before the requested offset', () => {
    const bytes = Buffer.concat([
      batchOf(messagesOf('a'), 9n),
      batchOf(messagesOf('b', 'c'), 10n, 'gzip'),
      batchOf(messagesOf('d'), 12n, 'zstd'),
    ])
    const [two, one] = [messagesOf('b', 'c'), messagesOf('d')].map((messages) => batchOf(messages).length - 61)
    assert.deepEqual(
      read(bytes, 11n).map(({ record, nextOffset, decompressedBytes }) => [
        record?.offset,
        nextOffset,
        decompressedBytes,
      ]),
      [
        [undefined, 11n, 0],
        [undefined, 11n, two],
        [11n, 12n, two],
        [undefined, 12n, 0],
        [12n, 13n, one],
        [undefined, 13n, 0],
      ],
    )
  })

  it('skips a batch of which compaction has left only the header', () => {
    const head = changed(batchOf(messagesOf('a', 'b'), 5n).subarray(0, 61), (bytes) => bytes.writeInt32BE(0, 57))
    const steps = read(Buffer.concat([head, batchOf(messagesOf('c'), 7n)]), 5n)
    assert.deepEqual(texts(steps), ['7 c'])
    assert.equal(steps[0]?.nextOffset, 7n)
  })

  const numerous = Array.from({ length: 10_001 }, (_, index): [string, Buffer] => [String(index), Buffer.alloc(0)])
  const excessive: Record<string, Buffer> = {
    'too many headers': withHeaders(...numerous),
    'headers that are too large': withHeaders(['large', Buffer.alloc(5 * 1024 * 1024)]),
  }
  for (const [what, bytes] of Object.entries(excessive)) {
    it(`rejects ${what}, but can skip them`, () => {
      assert.throws(() => read(bytes), UnreadableBatch)
      const steps = [...readRecords({ topic: 'topic', partition: 0, bytes, aborted: [] }, 0n, 'skip')]
      assert.deepEqual(texts(steps), ['0 a', '1 b'])
      assert.deepEqual(steps[0]?.record?.headers, [])
    })
  }

  it('keeps as many headers as the limit allows', () => {
    assert.equal(read(withHeaders(...numerous.slice(1)))[0]?.record?.headers.length, 10_000)
  })

  const unreadable: Record<string, Buffer> = {
    'has content, but no records': changed(batchOf(messagesOf('a')), (bytes) => bytes.writeInt32BE(0, 57)),
    'has a negative record count': changed(batchOf(messagesOf('a')), (bytes) => bytes.writeInt32BE(-1, 57)),
    'has a transaction marker that is too large': changed(
      batchOf([{ key: Buffer.from([0, 0, 0, 0]), value: Buffer.alloc(100_000) }], 0n, 'gzip'),
      (bytes) => bytes.writeInt16BE(0x31, 21),
    ),
    'is damaged': (() => {
      const batch = batchOf(messagesOf('a', 'b'))
      batch[batch.length - 1]! ^= 1
      return batch
    })(),
    'is of a format from before Kafka 0.11': changed(batchOf(messagesOf('a')), (bytes) => bytes.writeInt8(1, 16)),
    'has a length shorter than its header': (() => {
      const batch = batchOf(messagesOf('a'))
      batch.writeInt32BE(-5, 8)
      return batch
    })(),
    'has an unknown compression': changed(batchOf(messagesOf('a')), (bytes) => bytes.writeInt16BE(6, 21)),
    'has fewer records than its record count': changed(batchOf(messagesOf('a')), (bytes) =>
      bytes.writeInt32BE(0x7fffffff, 57),
    ),
    'ends before its last record': changed(batchOf(messagesOf('a', 'b')), (bytes) => bytes.writeInt32BE(0, 23)),
    'ends before it begins': changed(batchOf(messagesOf('a')), (bytes) => bytes.writeInt32BE(-1, 23)),
    'comes twice': Buffer.concat([batchOf(messagesOf('a'), 5n), batchOf(messagesOf('a'), 5n)]),
  }
  for (const [what, bytes] of Object.entries(unreadable)) {
    it(`does not read a batch that ${what}`, () => {
      assert.throws(() => read(bytes), UnreadableBatch)
    })
  }

  it('does not decompress a batch beyond the size limit', () => {
    const zeros = Buffer.alloc(65 * 1024 * 1024)
    const packed: Record<number, Buffer> = {
      1: gzipSync(zeros),
      2: compressionsAlgorithms.snappy.compressSync(zeros),
      3: compressionsAlgorithms.lz4.compressSync(zeros),
      4: zstdCompressSync(zeros),
    }
    for (const [codec, bytes] of Object.entries(packed)) {
      const head = batchOf(messagesOf('a')).subarray(0, 61)
      const batch = changed(Buffer.concat([head, bytes]), (whole) => whole.writeInt16BE(Number(codec), 21))
      assert.throws(() => read(batch), UnreadableBatch, `codec ${codec}`)
    }
  })

  it('throws only UnreadableBatch for malformed batches', () => {
    const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(fc.constantFrom(...codecs), flips, (codec, changes) => {
        const batch = batchOf(messagesOf('some', 'records', 'of', 'little worth'), 3n, codec)
        for (const [at, byte] of changes) batch[21 + (at % (batch.length - 21))] = byte
        let steps: RecordStep[] = []
        try {
          steps = read(withChecksum(batch))
        } catch (error) {
          assert.ok(error instanceof UnreadableBatch, String(error))
        }
        // Each record that was returned must be readable.
        for (const { record } of steps) assert.equal(record?.meta._partition ?? 0, 0)
      }),
      { numRuns: 2_000 },
    )
  })
})
