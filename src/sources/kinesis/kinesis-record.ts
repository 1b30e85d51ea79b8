// Kinesis records. Kinesis does not know of compression: producers compress single records, recognised by their first bytes.
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { _Record } from '@aws-sdk/client-kinesis'
import type { HeldMemory } from '../../lib/held-memory.ts'

export interface KinesisRecord {
  sequence: string
  key: string
  arrivedAtMs: number
  data: Uint8Array
  /** Holds the buffer that all data of its page is in. The page holds it until it is used up. */
  memory?: HeldMemory
}

export function toRecord({
  SequenceNumber,
  PartitionKey,
  ApproximateArrivalTimestamp,
  Data,
}: Partial<_Record>): KinesisRecord {
  return {
    sequence: SequenceNumber ?? '',
    key: PartitionKey ?? '',
    arrivedAtMs: ApproximateArrivalTimestamp?.getTime() ?? 0,
    data: Data ?? new Uint8Array(),
  }
}

const codecs: { magic: number[]; name: string; decompress: (data: Uint8Array, limit: object) => Uint8Array }[] = [
  { magic: [0x1f, 0x8b], name: 'gzip', decompress: gunzipSync },
  { magic: [0x28, 0xb5, 0x2f, 0xfd], name: 'zstd', decompress: zstdDecompressSync },
]

/**
 * Returns the decompressed record, the name of a compression whose data is invalid, or 'too large'. A few bytes can expand to
 * gigabytes, so decompression stops at `maxBytes`.
 */
export function decompress(data: Uint8Array, maxBytes: number): Uint8Array | { broken: string } | 'too large' {
  const [first] = data
  const codec = codecs.find(({ magic }) => magic[0] === first && magic.every((byte, index) => data[index] === byte))
  if (!codec) return data
  try {
    return codec.decompress(data, { maxOutputLength: Math.max(1, maxBytes) })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return 'too large'
    return { broken: codec.name }
  }
}
