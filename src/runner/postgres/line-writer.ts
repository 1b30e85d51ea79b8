// Writes lines of TabSeparated from values of pgoutput: those of the columns, the version, and whether the row is deleted.
import type { Buffer } from 'node:buffer'
import { Undecodable } from '../../formats/decode/decode.ts'
import type { Tuple } from '../../sources/postgres/pgoutput.ts'
import type { RefusedRow } from '../delivery.ts'
import { FieldOutput } from './field-output.ts'
import { tab } from './text-fields.ts'
import { type ColumnValues, reasonOf } from './values.ts'

/** What is given away at once. */
const chunkBytes = 192 * 1024

export interface LineColumn {
  name: string
  values: ColumnValues
  /** In the tuples; -1: they have no such column. */
  index: number
}

/** Whole lines. One that is refused is among them. */
export interface WrittenLines {
  chunks: Buffer[]
  count: number
  /** Those with a value that has no place in the engine: it stands in its line as PostgreSQL prints it. */
  refused: RefusedRow[]
}

export interface LineWriter {
  readonly count: number
  readonly sizeBytes: number
  /** `sources` have the value of each column; of those without, it is NULL. */
  write(sources: readonly (Tuple | undefined)[], version: bigint, isDeleted: boolean): void
  take(): WrittenLines
}

export function makeLineWriter(columns: readonly LineColumn[]): LineWriter {
  const out = new FieldOutput()
  let [chunks, refused]: [Buffer[], RefusedRow[]] = [[], []]
  let [count, givenBytes] = [0, 0]

  const writeField = ({ values, index }: LineColumn, source: Tuple | undefined): void => {
    if (source) values.write(source.bytes, source.starts[index]!, source.ends[index]!, out)
    else out.text(values.nullText)
    out.byte(tab)
  }
  const writeFields = (sources: readonly (Tuple | undefined)[]): void => {
    for (let position = 0; position < columns.length; position++) writeField(columns[position]!, sources[position])
  }
  /** Gives why the row is refused. */
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
  const giveAway = (): void => {
    const chunk = out.take()
    givenBytes += chunk.length
    chunks.push(chunk)
  }
  return {
    get count() {
      return count
    },
    get sizeBytes() {
      return givenBytes + out.sizeBytes
    },
    write(sources, version, isDeleted) {
      const before = out.sizeBytes
      try {
        writeFields(sources)
      } catch (error) {
        if (!(error instanceof Undecodable)) throw error
        out.backTo(before)
        refused.push({ index: count, reason: writePrinted(sources) })
      }
      out.text(version.toString())
      out.text(isDeleted ? deletedEnd : liveEnd)
      count += 1
      if (out.sizeBytes >= chunkBytes) giveAway()
    },
    take() {
      if (out.sizeBytes > 0) giveAway()
      const taken = { chunks, count, refused }
      ;[chunks, refused] = [[], []]
      ;[count, givenBytes] = [0, 0]
      return taken
    },
  }
}

const [liveEnd, deletedEnd] = ['\t0\n', '\t1\n']
