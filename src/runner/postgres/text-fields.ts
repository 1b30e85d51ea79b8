// Reads fields of COPY's text format, which ClickHouse reads as TabSeparated.
import type { Buffer } from 'node:buffer'
import type { ByteOutput } from '../../formats/encode/byte-output.ts'

export const tab = 0x09
export const newline = 0x0a
const backslash = 0x5c
const letterN = 0x4e

/** The field that stands for NULL. */
export const nullText = '\\N'

export function isNullField(bytes: Buffer, start: number, end: number): boolean {
  return end - start === 2 && bytes[start] === backslash && bytes[start + 1] === letterN
}

/** The byte that an escaped letter stands for; other letters stand for themselves. */
const meant = Uint8Array.from({ length: 256 }, (_, byte) => byte)
for (const [letter, byte] of Object.entries({ b: 0x08, t: tab, n: newline, v: 0x0b, f: 0x0c, r: 0x0d })) {
  meant[letter.charCodeAt(0)] = byte
}

/** The value of a field. Overwrites the contents of `out`. */
export function unescapeField(bytes: Buffer, start: number, end: number, out: ByteOutput): Buffer {
  out.backTo(0)
  for (let at = start; at < end; at++) {
    const isEscaped = bytes[at] === backslash && at + 1 < end
    if (isEscaped) at += 1
    out.byte(isEscaped ? meant[bytes[at]!]! : bytes[at]!)
  }
  return out.written()
}
