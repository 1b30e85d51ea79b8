// Changes of one table, as pgoutput gives them, as lines of TabSeparated for one target. What must stay true: the same changes give
// the same lines, and nothing is made for a row unless it is incomplete or refused.
import { Buffer } from 'node:buffer'
import { type Relation, type Tuple, tupleKind } from '../../sources/postgres/pgoutput.ts'
import { type LineColumn, makeLineWriter, type WrittenLines } from './line-writer.ts'

/** A row that has values which the server did not send, because the change left them as they were. */
export interface IncompleteRow {
  /** As PostgreSQL prints it, in the order of `keyColumns`. */
  key: (string | null)[]
  /** Names of columns. */
  missing: string[]
  /** Appends the line. The values are those of `missing`, as PostgreSQL prints them; undefined: the row is gone. */
  complete(values: readonly (Buffer | null)[] | undefined): void
}

export interface ChangeLines {
  /** Those that are incomplete do not count. */
  readonly count: number
  readonly sizeBytes: number
  insert(after: Tuple, version: bigint): void
  update(after: Tuple, before: Tuple | undefined, beforeIs: 'key' | 'row' | undefined, version: bigint): void
  delete(before: Tuple, version: bigint): void
  /** Each is to be completed before the lines are taken. */
  readonly incomplete: IncompleteRow[]
  /** Gives away the lines, and begins anew. */
  take(): WrittenLines
}

/** A column of the target, and where it is in the tuples of the relation. */
interface LeasedWorker extends LineColumn {
  /** The server sends it with the old key. */
  isIdentity: boolean
  /** By it the row is found in the target. */
  isKey: boolean
}

export function makeChangeLines(
  relation: Relation,
  columns: readonly Omit<LineColumn, 'index'>[],
  { keyColumns }: { keyColumns: readonly string[] },
): ChangeLines {
  const places = columns.map((column): LeasedWorker => {
    const index = relation.columns.findIndex(({ name }) => name === column.name)
    const isIdentity = relation.columns[index]?.isKey ?? false
    return { ...column, index, isIdentity, isKey: keyColumns.includes(column.name) }
  })
  const keyPlaces = places.filter(({ isKey }) => isKey)
  const identityPlaces = keyPlaces.filter(({ isIdentity }) => isIdentity)
  const writer = makeLineWriter(places)
  const incomplete = new Set<IncompleteRow>()
  /** Which tuple has the value of each place. One list for all rows. */
  const sources: (Tuple | undefined)[] = places.map(() => undefined)

  const writeRow = (after: Tuple, before: Tuple | undefined, isWhole: boolean, version: bigint): void => {
    let isMissing = false
    for (let position = 0; position < places.length; position++) {
      const { index, isIdentity } = places[position]!
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
    const copies = new Map(places.map((place, position) => [place, copyOf(sources[position], place.index)]))
    const missing = places.filter(({ index }, position) => {
      return kindAt(after, index) === tupleKind.unchanged && sources[position] === undefined
    })
    const row: IncompleteRow = {
      key: keyColumns.map((name) => {
        const place = keyPlaces.find((key) => key.name === name)
        return (place && copies.get(place)?.toString()) ?? null
      }),
      missing: missing.map(({ name }) => name),
      complete(values) {
        if (!incomplete.delete(row)) throw new Error('a row is completed twice')
        for (const [position, place] of missing.entries()) copies.set(place, values?.[position] ?? null)
        writer.write(
          places.map((place) => tupleOf(copies.get(place), place.index)),
          version,
          false,
        )
      },
    }
    return row
  }

  /** `after`: what is not in an old key is most likely what it is now. */
  const writeDeletion = (before: Tuple, version: bigint, after = before): void => {
    for (let position = 0; position < places.length; position++) {
      const { isKey, index } = places[position]!
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
      const sent = isWhole ? keyPlaces : identityPlaces
      if (before && sent.some(({ index }) => differs(before, after, index))) {
        writeDeletion(before, version, isWhole ? before : after)
      }
      writeRow(after, before, isWhole, version)
    },
    delete: (before, version) => writeDeletion(before, version),
    take() {
      if (incomplete.size > 0) throw new Error('rows are taken that are not complete')
      return writer.take()
    },
  }
}

/** What the relation does not have is NULL. */
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

/** With this one value. */
function tupleOf(bytes: Buffer | null | undefined, index: number): Tuple | undefined {
  if (!bytes) return undefined
  const [kinds, starts, ends] = [new Uint8Array(index + 1), new Uint32Array(index + 1), new Uint32Array(index + 1)]
  kinds[index] = tupleKind.text
  ends[index] = bytes.length
  return { bytes, count: index + 1, kinds, starts, ends }
}
