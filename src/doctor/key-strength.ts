// Detects keys that are not random: typed, counting or repeated bytes. Random bytes fail one of these rules less than once in
// 10^12.

const fewestDifferent = 20

/** The weakness of a Base64 key of 32 bytes, as the rest of a sentence; undefined when it looks random. */
export function weaknessOf(base64: string): string | undefined {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.every((byte) => byte === bytes[0])) return 'is one byte over and over'
  if ([2, 4, 8, 16].some((period) => bytes.every((byte, at) => byte === bytes[at % period]))) {
    return 'repeats a short piece'
  }
  const step = (bytes[1]! - bytes[0]! + 256) % 256
  if (bytes.every((byte, at) => at === 0 || (byte - bytes[at - 1]! + 256) % 256 === step)) return 'counts up or down'
  if (bytes.every((byte) => byte >= 0x20 && byte < 0x7f)) return 'is text, not random bytes'
  if (new Set(bytes).size < fewestDifferent) return 'has too few different bytes to be random'
  return undefined
}
