// Decompresses Kinesis records. Kinesis has no compression: producers compress single records, recognised by their first bytes.
import { gunzipSync, zstdDecompressSync } from 'node:zlib'

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
