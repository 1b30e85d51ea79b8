// TabSeparated lines, from COPY or from changes, as the Rows of a batch. Chunks are split into lines only when some are rejected.
import { Buffer } from 'node:buffer'
import type { RejectedRow } from '../../engine/rejected-row.ts'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import { partOf, partWithout } from '../../formats/encode/row-parts.ts'
import type { RowShape, Rows } from '../../formats/encode/rows.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import { deletedColumn, versionColumn } from './names.ts'
import type { ColumnValues } from './scalar-values.ts'
import { isNullField, newline, tab, unescapeField } from './text-fields.ts'
import { reasonOf } from './values.ts'

/** Shape of lines with these columns in this order, then the version and the deletion flag. */
export function shapeOf(columns: readonly { name: string; values: Pick<ColumnValues, 'type'> }[]): RowShape {
  const fields = [
    ...columns.map(({ name, values }) => ({ name, type: values.type })),
    { name: versionColumn, type: 'UInt64' },
    { name: deletedColumn, type: 'UInt8' },
  ]
  const columnsByName = fields.map(({ name }) => ({ column: name, field: name }))
  return { format: 'TabSeparated', hasEmptyTexts: true, fields, columns: columnsByName }
}

export interface LineParts {
  shape: RowShape
  /** Each chunk ends at a line end. */
  chunks: Buffer[]
  /** Number of lines, when known. */
  count?: number
  partition: string
  /** Load of the target table. Stored with rejected rows, because versions of different loads cannot be compared. */
  loadId?: string
  /** Position of a line in the source, as text for users. */
  position(index: number): string
  /** Lines that are not sent. */
  rejected?: readonly RejectedRow[]
}

export function lineRows(parts: LineParts): Rows {
  const { shape, chunks, partition, loadId, position, rejected = [] } = parts
  const count = parts.count ?? countLines(chunks)
  let found: Lines | undefined
  const lines = (): Lines => {
    found ??= findLines(chunks, count)
    return found
  }
  const select = (indexes: readonly number[], left: readonly RejectedRow[]): Rows =>
    lineRows({
      ...parts,
      chunks: pick(chunks, lines(), indexes),
      count: indexes.length,
      position: (index) => position(indexes[index]!),
      rejected: left,
    })
  return {
    shape,
    count,
    readBytes: chunks.reduce((sizeBytes, { length }) => sizeBytes + length, 0),
    undecodable: rejected,
    isDivisible: true,
    body() {
      if (rejected.length === 0) return chunks
      const skipped = new Set(rejected.map(({ index }) => index))
      return pick(chunks, lines(), partWithout(count, [], skipped).indexes)
    },
    only(begin, end) {
      const { indexes, left } = partOf(rejected, begin, end)
      return select(indexes, left)
    },
    without(taken) {
      const { indexes, left } = partWithout(count, rejected, taken)
      return select(indexes, left)
    },
    keep(index) {
      const { chunkNumbers, starts, ends } = lines()
      const line = chunks[chunkNumbers[index]!]!.subarray(starts[index]!, ends[index]! - 1)
      const fields = shape.fields.map(({ name }) => name)
      // A copy, so that the chunk can be freed.
      return { partition, position: position(index), raw: Buffer.from(line), meta: JSON.stringify({ fields, loadId }) }
    },
  }
}

export function countLines(chunks: readonly Buffer[]): number {
  let count = 0
  for (const chunk of chunks) {
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) count++
  }
  return count
}

/** Start and end of each line; the end is after the newline. */
interface Lines {
  chunkNumbers: Uint32Array
  starts: Uint32Array
  ends: Uint32Array
}

function findLines(chunks: readonly Buffer[], count: number): Lines {
  const [chunkNumbers, starts, ends] = [new Uint32Array(count), new Uint32Array(count), new Uint32Array(count)]
  let index = 0
  for (const [chunkNumber, chunk] of chunks.entries()) {
    for (let start = 0; start < chunk.length; index++) {
      const end = chunk.indexOf(newline, start) + 1
      if (end === 0) throw new Error('a chunk does not end at a line end')
      chunkNumbers[index] = chunkNumber
      starts[index] = start
      ends[index] = end
      start = end
    }
  }
  return { chunkNumbers, starts, ends }
}

/** Adjacent lines become one buffer. `indexes` must be sorted. */
function pick(chunks: readonly Buffer[], lines: Lines, indexes: readonly number[]): Buffer[] {
  const { chunkNumbers, starts, ends } = lines
  const picked: Buffer[] = []
  for (let at = 0; at < indexes.length; ) {
    const first = indexes[at]!
    let last = first
    while (++at < indexes.length && indexes[at] === last + 1 && chunkNumbers[last + 1] === chunkNumbers[first]) last++
    picked.push(chunks[chunkNumbers[first]!]!.subarray(starts[first]!, ends[last]!))
  }
  return picked
}

/**
 * Converts a chunk of COPY output, which ends at a line end, to lines for the engine. Returns the chunk unchanged when no column needs
 * conversion. A value that ClickHouse cannot store is reported to `reject` and stays in PostgreSQL's text format.
 */
export function rewriteCopy(
  columns: readonly { name: string; values: Pick<ColumnValues, 'isRewritten' | 'nullText' | 'write'> }[],
  chunk: Buffer,
  reject?: (rejected: RejectedRow) => void,
): Buffer {
  const writers = columns.map(({ values }) => (values.isRewritten ? values : undefined))
  if (!writers.some((values) => values !== undefined)) return chunk
  const out = new ByteOutput({ expectedBytes: chunk.length + 1024 })
  const unescaped = new ByteOutput({ expectedBytes: 1024 })
  let [fieldStart, copied, column, line] = [0, 0, 0, 0]
  for (let at = 0; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte !== tab && byte !== newline) continue
    const values = writers[column]
    if (values) {
      out.bytes(chunk, copied, fieldStart)
      const reason = rewriteField(values, chunk, { start: fieldStart, end: at }, { out, unescaped })
      if (reason !== undefined) reject?.({ index: line, reason: reasonOf(columns[column]!.name, reason) })
      copied = at
    }
    fieldStart = at + 1
    column += 1
    if (byte === newline) [column, line] = [0, line + 1]
  }
  out.bytes(chunk, copied, chunk.length)
  return out.written()
}

/** Returns the reason when the value cannot be written. */
function rewriteField(
  { nullText, write }: Pick<ColumnValues, 'nullText' | 'write'>,
  chunk: Buffer,
  { start, end }: { start: number; end: number },
  { out, unescaped }: { out: ByteOutput; unescaped: ByteOutput },
): string | undefined {
  if (isNullField(chunk, start, end)) {
    out.text(nullText)
    return undefined
  }
  const text = unescapeField(chunk, start, end, unescaped)
  const before = out.sizeBytes
  try {
    write(text, 0, text.length, out)
    return undefined
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error
    out.backTo(before)
    out.bytes(chunk, start, end)
    return error.reason
  }
}
