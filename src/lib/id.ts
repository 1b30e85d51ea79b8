// Identifiers and random tokens.
import { randomBytes, randomUUID } from 'node:crypto'

const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export function newId(): string {
  return randomUUID()
}

/** Uniformly random base62 text: bytes that would favor some characters are discarded. */
export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += base62Alphabet[byte % 62]
    }
  }
  return text
}

/** A number as base62 text, padded to `length`. */
export function toBase62(number: number, length: number): string {
  let text = ''
  for (let rest = number; rest > 0; rest = Math.floor(rest / 62)) text = base62Alphabet[rest % 62] + text
  return text.padStart(length, '0')
}

let lastMs = 0
let sequence = 0

/**
 * A UUIDv7: later ids sort later, also within one millisecond of one process, so that rows with such a key are appended to an index
 * instead of scattered over it.
 */
export function newTimeOrderedId(nowMs = Date.now()): string {
  sequence = nowMs > lastMs ? 0 : sequence + 1
  if (nowMs > lastMs) lastMs = nowMs
  // 12 bits count within a millisecond; an overflow borrows the next millisecond.
  if (sequence > 0xfff) {
    sequence = 0
    lastMs++
  }
  const time = lastMs.toString(16).padStart(12, '0')
  const random = randomUUID()
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${random.slice(19)}`
}

/** The time of a time-ordered id in milliseconds; 0 for invalid text. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) || 0
}

/** Lower bound for time-ordered ids of this millisecond or later, and above all earlier ones. */
export function firstIdAt(ms: number): string {
  const time = Math.min(Math.max(ms, 0), 0xffff_ffff_ffff).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
