// A Buffer on the memory of a Uint8Array.
import { Buffer } from 'node:buffer'

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
