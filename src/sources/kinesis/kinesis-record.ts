// Records as Kinesis gives them. It knows nothing of compression: whoever writes compresses records or does not, one by one. The
// first bytes tell.
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { _Record } from '@aws-sdk/client-kinesis'
import type { HeldMemory } from '../../lib/held-memory.ts'

export interface KinesisRecord {
  sequence: string
  key: string
  arrivedAtMs: number
  data: Uint8Array
  /** What the data of all records of its page lie in. Held by the page, until it is used up. */
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

const forms: { magic: number[]; name: string; decompress: (data: Uint8Array, limit: object) => Uint8Array }[] = [
  { magic: [0x1f, 0x8b], name: 'gzip', decompress: gunzipSync },
  { magic: [0x28, 0xb5, 0x2f, 0xfd], name: 'zstd', decompress: zstdDecompressSync },
]

/**
 * The record without its compression, or the name of the compression that it begins with and does not keep. A few bytes can
 * stand for gigabytes: what grows beyond `maxBytes` is not decompressed.
 */
export function decompress(data: Uint8Array, maxBytes: number): Uint8Array | { broken: string } | 'too large' {
  const [first] = data
  const form = forms.find(({ magic }) => magic[0] === first && magic.every((byte, index) => data[index] === byte))
  if (!form) return data
  try {
    return form.decompress(data, { maxOutputLength: Math.max(1, maxBytes) })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return 'too large'
    return { broken: form.name }
  }
}
