// Tables of an engine in memory for replication: parses TabSeparated rows, deduplicates batches by token, and shows the newest row
// of each key.
import type { EngineColumn, EngineTable, Insert, Sink } from '../../src/engine/engine.ts'
import { EngineError } from '../../src/engine/engine.ts'
import type { ReplicaTables } from '../../src/engine/replica-tables.ts'

export type MemoryRow = Record<string, string | null>

interface MemoryTable {
  columns: EngineColumn[]
  engine: string
  sortingKey: string[]
  rows: MemoryRow[]
  tokens: Set<string>
}

/** Called before and after each insert; the sink throws its errors. */
export type OnInsert = (when: 'before' | 'after', table: string, insert: Insert) => Promise<void> | void

export class MemoryReplicas {
  readonly tables = new Map<string, MemoryTable>()
  onInsert: OnInsert = () => undefined
  abilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

  /** As a user sees it: the newest row of each key that is not deleted, without Penstock's columns, sorted by the first column. */
  shown(name: string): MemoryRow[] {
    const { rows, sortingKey } = this.#load(name)
    const newest = new Map<string, MemoryRow>()
    for (const row of rows) {
      const key = JSON.stringify(sortingKey.map((column) => row[column]))
      const known = newest.get(key)
      if (!known || versionOf(row) >= versionOf(known)) newest.set(key, row)
    }
    return [...newest.values()]
      .filter((row) => row._penstock_deleted === '0')
      .map(({ _penstock_version, _penstock_deleted, ...row }) => row)
      .toSorted((one, other) => Number(Object.values(one)[0]) - Number(Object.values(other)[0]))
  }

  open(): ReplicaTables {
    return {
      abilities: this.abilities,
      openSink: async (table) => this.#sink(table),
      listColumns: async ({ table }) => this.tables.get(table)?.columns ?? [],
      hasRows: async ({ table }) => this.#load(table).rows.length > 0,
      createLike: async ({ table }, other) => {
        const { columns, engine, sortingKey } = this.#load(other.table)
        this.tables.set(table, { columns: [...columns], engine, sortingKey, rows: [], tokens: new Set() })
      },
      markOlderDeleted: async ({ table }, { version }) => {
        const found = this.#load(table)
        const old = found.rows.filter((row) => row._penstock_deleted === '0' && versionOf(row) < version)
        found.rows.push(...old.map((row) => ({ ...row, _penstock_version: String(version), _penstock_deleted: '1' })))
      },
      swap: async ({ table, shadow }) => {
        const found = this.tables.get(shadow.table)
        if (!found) return
        this.tables.set(table.table, found)
        this.tables.delete(shadow.table)
      },
      drop: async ({ table }) => void this.tables.delete(table),
      renameStatement: ({ table }, before, now) => `RENAME ${before} TO ${now.name} IN ${table}`,
      close: async () => undefined,
    }
  }

  #load(name: string): MemoryTable {
    return this.tables.get(name) ?? fail(`there is no table ${name}`)
  }

  #sink({ table: name, columns, definition }: EngineTable): Sink {
    const { engine = { type: 'MergeTree' }, sortingKey = [] } = definition ?? {}
    const table = this.tables.get(name) ?? { columns: [], engine: engine.type, sortingKey, rows: [], tokens: new Set() }
    this.tables.set(name, table)
    for (const column of columns) {
      const there = table.columns.find((one) => one.name === column.name)
      if (there && there.type !== column.type) fail(`MODIFY ${column.name} ${column.type} IN ${name}`)
      if (!there) table.columns.push(column)
    }
    return {
      delivery: { delivery: 'exactly_once' },
      insert: async (insert) => {
        await this.onInsert('before', name, insert)
        // The table may have been renamed since it was opened.
        const into = this.#load(name)
        const types = new Map(into.columns.map((column) => [column.name, column.type]))
        const rows = rowsIn(insert).map((row) => keptRow(row, types))
        if (!into.tokens.has(insert.token)) into.rows.push(...rows)
        into.tokens.add(insert.token)
        await this.onInsert('after', name, insert)
        return { rows: rows.length, sentBytes: 1 }
      },
      tryOut: async () => undefined,
      openReadCheck: async () => undefined,
      keepBadRows: async () => undefined,
      close: async () => undefined,
    }
  }
}

function versionOf(row: MemoryRow): bigint {
  return BigInt(row._penstock_version ?? '0')
}

function rowsIn(insert: Insert): MemoryRow[] {
  const body = insert.body()
  if (!(Symbol.iterator in body)) throw new Error('a body that is a stream')
  const text = Buffer.concat([...body]).toString('utf8')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const values = line.split('\t')
      return Object.fromEntries(insert.fields.map(({ name }, index) => [name, unescapeField(values[index] ?? '')]))
    })
}

/** As ClickHouse stores values out of range: an integer without its upper bits, a decimal without its last digits. */
function keptRow(row: MemoryRow, types: ReadonlyMap<string, string>): MemoryRow {
  const entries = Object.entries(row).map(([name, value]): [string, string | null] => {
    const type = types.get(name) ?? fail(`there is no column ${name}`)
    return [name, value === null ? nullIn(type) : keptValue(value, type)]
  })
  return Object.fromEntries(entries)
}

function nullIn(type: string): string | null {
  if (type.startsWith('Nullable(')) return null
  return type === 'String' ? '' : '0'
}

function keptValue(value: string, type: string): string {
  const bits = /\bInt(\d+)\b/.exec(type)?.[1]
  if (bits && /^-?\d+$/.test(value)) return String(BigInt.asIntN(Number(bits), BigInt(value)))
  const scale = /\bDecimal\(\d+, (\d+)\)/.exec(type)?.[1]
  if (scale === undefined) return value
  const [whole, fraction = ''] = value.split('.')
  return Number(scale) === 0 ? whole! : `${whole}.${fraction.slice(0, Number(scale)).padEnd(Number(scale), '0')}`
}

function unescapeField(field: string): string | null {
  if (field === '\\N') return null
  return field.replaceAll(/\\(.)/g, (_, letter: string) => ({ n: '\n', t: '\t' })[letter] ?? letter)
}

function fail(reason: string): never {
  throw new EngineError('user', reason)
}
