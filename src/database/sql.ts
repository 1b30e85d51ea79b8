// SQL is written as SQL, once for both databases, in the `store.ts` of the noun that owns the table.
// A statement is declared once at module level and bound many times: the databases keep it prepared.
// What differs: parameters are written `:name`; `FOR UPDATE` is dropped on SQLite, where one writer holds the whole file; and
// `ascii_lower(column)` lower-cases A–Z alone, as `lower` does on SQLite, while that of PostgreSQL depends on its locale.

export type Dialect = 'sqlite' | 'postgres'
export type SqlValue = string | number | null
export type SqlValues = Record<string, SqlValue>

export interface PreparedText {
  /** Names the prepared statement on a PostgreSQL connection. */
  name: string
  text: string
  /** The values' names in the order of the placeholders. */
  parameters: string[]
}

let statementCount = 0

export class Statement<Values extends SqlValues, Row> {
  declare readonly values: Values
  declare readonly row: Row
  readonly #text: string
  readonly #name = `s${++statementCount}`
  readonly #prepared: Partial<Record<Dialect, PreparedText>> = {}

  constructor(text: string) {
    this.#text = text
  }

  for(dialect: Dialect): PreparedText {
    this.#prepared[dialect] ??= this.#prepare(dialect)
    return this.#prepared[dialect]
  }

  #prepare(dialect: Dialect): PreparedText {
    const parameters: string[] = []
    let text = this.#text.replace(/(?<!:):([a-zA-Z]+)/g, (_, parameter: string) => {
      if (dialect === 'sqlite') return `?${parameters.push(parameter)}`
      const known = parameters.indexOf(parameter)
      return `$${known >= 0 ? known + 1 : parameters.push(parameter)}`
    })
    if (dialect === 'sqlite') text = text.replace(/\sFOR UPDATE(?: OF \w+)?\b/g, '')
    text = text.replace(/\bascii_lower\(([\w.]+)\)/g, dialect === 'sqlite' ? 'lower($1)' : 'lower($1 COLLATE "C")')
    return { name: this.#name, text, parameters }
  }
}

/** Declares a statement: the values it takes and the row it gives (nothing for a write). */
export function statement<Values extends SqlValues, Row = never>(text: string): Statement<Values, Row> {
  return new Statement<Values, Row>(text)
}

/** What a store works with: a read connection, or the transaction of one write. */
export interface Sql {
  readonly dialect: Dialect
  /**
   * What has been read in the present snapshot, for a reader that has snapshots: as long as one lasts, the same question has
   * the same answer. Ask for it anew each time; it never outlives its snapshot.
   */
  readonly memo?: Map<string, unknown>
  all<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]>
  first<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row | undefined>
  /** For every statement that changes something. Returns how many rows were changed. */
  run<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<number>
}

export function bind(prepared: PreparedText, values: SqlValues): SqlValue[] {
  return prepared.parameters.map((name) => {
    const value = values[name]
    if (value === undefined) throw new Error(`no value for :${name} in ${prepared.text}`)
    return value
  })
}
