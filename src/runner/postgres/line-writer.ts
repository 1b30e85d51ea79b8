// Writes TabSeparated lines from pgoutput values: the columns, the version and the deletion flag.
import type { Buffer } from 'node:buffer'
import type { RejectedRow } from '../../engine/rejected-row.ts'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { Tuple } from '../../sources/postgres/pgoutput.ts'
import type { ColumnValues } from './scalar-values.ts'
import { tab } from './text-fields.ts'
import { reasonOf } from './values.ts'

const chunkBytes = 192 * 1024

export interface LineColumn {
  name: string
  values: ColumnValues
  /** Index in the tuples; -1: they have no such column. */
  index: number
}

/** Complete lines, rejected ones included. */
export interface WrittenLines {
  chunks: Buffer[]
  count: number
  /** Lines with a value that ClickHouse cannot store. The line has the value in PostgreSQL's text format. */
  rejected: RejectedRow[]
}

export interface LineWriter {
  readonly count: number
  readonly sizeBytes: number
  /** `sources` has, for each column, the tuple with its value; without a tuple it is NULL. */
  write(sources: readonly (Tuple | undefined)[], version: bigint, isDeleted: boolean): void
  take(): WrittenLines
}

export function makeLineWriter(columns: readonly LineColumn[]): LineWriter {
  // Small, because a batch has one output per table and often few changes of each.
  const out = new ByteOutput({ expectedBytes: 4096 })
  let [chunks, rejected]: [Buffer[], RejectedRow[]] = [[], []]
  let [count, chunkedBytes] = [0, 0]

  const writeField = ({ values, index }: LineColumn, source: Tuple | undefined): void => {
    if (source) values.write(source.bytes, source.starts[index]!, source.ends[index]!, out)
    else out.text(values.nullText)
    out.byte(tab)
  }
  const writeFields = (sources: readonly (Tuple | undefined)[]): void => {
    for (let position = 0; position < columns.length; position++) writeField(columns[position]!, sources[position])
  }
  /** Writes the values in PostgreSQL's text format and returns the reason of the rejection. */
  const writePrinted = (sources: readonly (Tuple | undefined)[]): string => {
    let reason = ''
    for (const [position, column] of columns.entries()) {
      const source = sources[position]
      const before = out.sizeBytes
      try {
        writeField(column, source)
      } catch (error) {
        if (!(error instanceof Undecodable) || !source) throw error
        reason ||= reasonOf(column.name, error.reason)
        out.backTo(before)
        out.escaped(source.bytes, source.starts[column.index]!, source.ends[column.index]!)
        out.byte(tab)
      }
    }
    return reason
  }
  const endChunk = (): void => {
    const chunk = out.take()
    chunkedBytes += chunk.length
    chunks.push(chunk)
  }
  return {
    get count() {
      return count
    },
    get sizeBytes() {
      return chunkedBytes + out.sizeBytes
    },
    write(sources, version, isDeleted) {
      const before = out.sizeBytes
      try {
        writeFields(sources)
      } catch (error) {
        if (!(error instanceof Undecodable)) throw error
        out.backTo(before)
        rejected.push({ index: count, reason: writePrinted(sources) })
      }
      out.text(version.toString())
      out.text(isDeleted ? deletedEnd : liveEnd)
      count += 1
      if (out.sizeBytes >= chunkBytes) endChunk()
    },
    take() {
      if (out.sizeBytes > 0) endChunk()
      const taken = { chunks, count, rejected }
      ;[chunks, rejected] = [[], []]
      ;[count, chunkedBytes] = [0, 0]
      return taken
    },
  }
}

const [liveEnd, deletedEnd] = ['\t0\n', '\t1\n']
