// Encodes pgoutput changes of one table as TabSeparated lines for one target. The same changes must give the same lines. No object
// is allocated per row, except for incomplete and rejected rows.
import { Buffer } from 'node:buffer'
import { type Relation, type Tuple, tupleKind } from '../../sources/postgres/pgoutput.ts'
import { type LineColumn, makeLineWriter, type WrittenLines } from './line-writer.ts'

/** A row with values that the server did not send because the change left them unchanged (TOAST). */
export interface IncompleteRow {
  /** In PostgreSQL's text format, in the order of `keyColumns`. */
  key: (string | null)[]
  /** Column names. */
  missing: string[]
  /** Appends the line. `values` are those of `missing`, in PostgreSQL's text format; undefined: the row was deleted. */
  complete(values: readonly (Buffer | null)[] | undefined): void
}

export interface ChangeLines {
  /** Without incomplete rows. */
  readonly count: number
  readonly sizeBytes: number
  insert(after: Tuple, version: bigint): void
  update(after: Tuple, before: Tuple | undefined, beforeIs: 'key' | 'row' | undefined, version: bigint): void
  delete(before: Tuple, version: bigint): void
  /** Every one must be completed before `take`. */
  readonly incomplete: IncompleteRow[]
  /** Returns the lines and resets the buffer. */
  take(): WrittenLines
}

/** A column of the target with its index in the tuples of the relation. */
interface TupleColumn extends LineColumn {
  /** Part of the replica identity: the server sends it with the old key. */
  isIdentity: boolean
  /** Part of the target's key. */
  isKey: boolean
}

export function makeChangeLines(
  relation: Relation,
  columns: readonly Omit<LineColumn, 'index'>[],
  { keyColumns }: { keyColumns: readonly string[] },
): ChangeLines {
  const tupleColumns = columns.map((column): TupleColumn => {
    const index = relation.columns.findIndex(({ name }) => name === column.name)
    const isIdentity = relation.columns[index]?.isKey ?? false
    return { ...column, index, isIdentity, isKey: keyColumns.includes(column.name) }
  })
  const keyTupleColumns = tupleColumns.filter(({ isKey }) => isKey)
  const identityTupleColumns = keyTupleColumns.filter(({ isIdentity }) => isIdentity)
  const writer = makeLineWriter(tupleColumns)
  const incomplete = new Set<IncompleteRow>()
  /** The tuple that has the value of each column. One array for all rows. */
  const sources: (Tuple | undefined)[] = tupleColumns.map(() => undefined)

  const writeRow = (after: Tuple, before: Tuple | undefined, isWhole: boolean, version: bigint): void => {
    let isMissing = false
    for (let position = 0; position < tupleColumns.length; position++) {
      const { index, isIdentity } = tupleColumns[position]!
      const kind = kindAt(after, index)
      if (kind === tupleKind.unchanged) {
        const isThere = before !== undefined && (isWhole || isIdentity) && isText(before, index)
        sources[position] = isThere ? before : undefined
        if (!isThere) isMissing = true
      } else sources[position] = kind === tupleKind.text ? after : undefined
    }
    if (isMissing) incomplete.add(makeIncomplete(after, version))
    else writer.write(sources, version, false)
  }

  const makeIncomplete = (after: Tuple, version: bigint): IncompleteRow => {
    const copies = new Map(tupleColumns.map((column, position) => [column, copyOf(sources[position], column.index)]))
    const missing = tupleColumns.filter(({ index }, position) => {
      return kindAt(after, index) === tupleKind.unchanged && sources[position] === undefined
    })
    const row: IncompleteRow = {
      key: keyColumns.map((name) => {
        const column = keyTupleColumns.find((key) => key.name === name)
        return (column && copies.get(column)?.toString()) ?? null
      }),
      missing: missing.map(({ name }) => name),
      complete(values) {
        if (!incomplete.delete(row)) throw new Error('a row is completed twice')
        for (const [position, column] of missing.entries()) copies.set(column, values?.[position] ?? null)
        writer.write(
          tupleColumns.map((column) => tupleOf(copies.get(column), column.index)),
          version,
          false,
        )
      },
    }
    return row
  }

  /** A key column that is missing in the old key is taken from `after`: most likely it did not change. */
  const writeDeletion = (before: Tuple, version: bigint, after = before): void => {
    for (let position = 0; position < tupleColumns.length; position++) {
      const { isKey, index } = tupleColumns[position]!
      sources[position] = undefined
      if (isKey && isText(before, index)) sources[position] = before
      else if (isKey && isText(after, index)) sources[position] = after
    }
    writer.write(sources, version, true)
  }

  return {
    get count() {
      return writer.count
    },
    get sizeBytes() {
      return writer.sizeBytes
    },
    get incomplete() {
      return [...incomplete]
    },
    insert: (after, version) => writeRow(after, undefined, false, version),
    update(after, before, beforeIs, version) {
      const isWhole = beforeIs === 'row'
      const sent = isWhole ? keyTupleColumns : identityTupleColumns
      if (before && sent.some(({ index }) => differs(before, after, index))) {
        writeDeletion(before, version, isWhole ? before : after)
      }
      writeRow(after, before, isWhole, version)
    },
    delete: (before, version) => writeDeletion(before, version),
    take() {
      if (incomplete.size > 0) throw new Error('take() was called with incomplete rows')
      return writer.take()
    },
  }
}

/** A column that the relation does not have is NULL. */
function kindAt({ kinds, count }: Tuple, index: number): number {
  return index >= 0 && index < count ? kinds[index]! : tupleKind.null
}

function isText(tuple: Tuple, index: number): boolean {
  return kindAt(tuple, index) === tupleKind.text
}

function differs(before: Tuple, after: Tuple, index: number): boolean {
  const kind = kindAt(after, index)
  if (kind === tupleKind.unchanged) return false
  if (kind !== kindAt(before, index)) return true
  if (kind === tupleKind.null) return false
  const [start, end] = [before.starts[index]!, before.ends[index]!]
  const [otherStart, otherEnd] = [after.starts[index]!, after.ends[index]!]
  return (
    end - start !== otherEnd - otherStart || before.bytes.compare(after.bytes, otherStart, otherEnd, start, end) !== 0
  )
}

function copyOf(tuple: Tuple | undefined, index: number): Buffer | null {
  return tuple ? Buffer.from(tuple.bytes.subarray(tuple.starts[index]!, tuple.ends[index]!)) : null
}

/** A tuple with only this value. */
function tupleOf(bytes: Buffer | null | undefined, index: number): Tuple | undefined {
  if (!bytes) return undefined
  const [kinds, starts, ends] = [new Uint8Array(index + 1), new Uint32Array(index + 1), new Uint32Array(index + 1)]
  kinds[index] = tupleKind.text
  ends[index] = bytes.length
  return { bytes, count: index + 1, kinds, starts, ends }
}
