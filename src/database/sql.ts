// SQL statements for both databases, declared at module level in the `store.ts` of the noun that owns the table, and kept
// prepared by the databases. Dialect differences: parameters are written `:name`; `FOR UPDATE` is dropped on SQLite, where one
// writer locks the whole file; `ascii_lower(column)` lower-cases A–Z only, while PostgreSQL's `lower` depends on the locale.

export type Dialect = 'sqlite' | 'postgres'
export type SqlValue = string | number | null
export type SqlValues = Record<string, SqlValue>

export interface PreparedText {
  /** Name of the prepared statement on a PostgreSQL connection. */
  name: string
  text: string
  /** Parameter names in the order of the placeholders. */
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

/** Declares a statement with the types of its parameters and its rows (none for a write). */
export function statement<Values extends SqlValues, Row = never>(text: string): Statement<Values, Row> {
  return new Statement<Values, Row>(text)
}

/** A read connection, or the transaction of one write. */
export interface Sql {
  readonly dialect: Dialect
  /**
   * Cache of the current snapshot, for readers that have snapshots. Valid only for that snapshot: read this property again
   * for every use.
   */
  readonly memo?: Map<string, unknown>
  all<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]>
  first<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row | undefined>
  /** For statements that change data. Returns the number of changed rows. */
  run<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<number>
}

export function bind(prepared: PreparedText, values: SqlValues): SqlValue[] {
  return prepared.parameters.map((name) => {
    const value = values[name]
    if (value === undefined) throw new Error(`no value for :${name} in ${prepared.text}`)
    return value
  })
}
