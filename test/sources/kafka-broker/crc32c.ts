// CRC-32C (Castagnoli), the checksum of record batches, which node:zlib does not have. Not from the client library: the broker must
// not share the bugs of the code under test.

const reversedPolynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ reversedPolynomial : remainder >>> 1
  return remainder
})

export function crc32c(bytes: Uint8Array): number {
  let checksum = 0xffffffff
  for (const byte of bytes) checksum = (table[(checksum ^ byte) & 0xff] ?? 0) ^ (checksum >>> 8)
  return (checksum ^ 0xffffffff) >>> 0
}
