// Copies neighboring JSON objects in one operation, which is faster than one copy per object. The bytes between two objects are replaced
// by white space.
import type { Buffer } from 'node:buffer'
import { code } from '../json-scan.ts'
import type { ByteOutput } from './byte-output.ts'

/** Widest gap that is copied along: the gap bytes are sent as white space. */
const widestGapBytes = 32
const mostBytes = 128 * 1024

const newline = 0x0a
const space = 0x20

export interface ValueSpans {
  starts: Int32Array
  ends: Int32Array
  first: number
  end: number
}

/** Returns the index after the last copied value; `first` when the first value does not begin with an object. */
export function coalesceCopies(bytes: Buffer, { starts, ends, first, end }: ValueSpans, out: ByteOutput): number {
  const start = starts[first]!
  if (bytes[start] !== code.openObject || start === ends[first]) return first
  let last = first
  for (let next = first + 1; next < end; next++) {
    const gapBytes = starts[next]! - ends[last]!
    if (gapBytes < 1 || gapBytes > widestGapBytes) break
    if (bytes[starts[next]!] !== code.openObject || starts[next] === ends[next]) break
    if (ends[next]! - start > mostBytes) break
    last = next
  }
  const before = out.sizeBytes - start
  out.bytes(bytes, start, ends[last])
  out.byte(newline)
  const copied = out.written()
  for (let index = first; index < last; index++) {
    const gapEnd = before + starts[index + 1]!
    let at = before + ends[index]!
    copied[at] = newline
    while (++at < gapEnd) copied[at] = space
  }
  return last + 1
}
