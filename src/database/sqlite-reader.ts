// SQLite reads on the main thread. All reads in one turn of the event loop share a snapshot, because opening one costs more
// than reading a row. A snapshot ends with that turn of the event loop, or when a commit is reported.
import { unavailable } from './database.ts'
import type { Sql, SqlValues, Statement } from './sql.ts'
import { SqliteConnection } from './sqlite.ts'

export class SqliteReader implements Sql {
  readonly dialect = 'sqlite'
  readonly #connection: SqliteConnection
  #snapshot: NodeJS.Immediate | undefined
  #memo = new Map<string, unknown>()

  constructor(file: string) {
    this.#connection = new SqliteConnection(file, { readOnly: true })
  }

  get memo(): Map<string, unknown> {
    try {
      this.#openSnapshot()
      return this.#memo
    } catch (error) {
      throw this.#explain(error)
    }
  }

  async all<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]> {
    try {
      this.#openSnapshot()
      return await this.#connection.all(statement, values)
    } catch (error) {
      throw this.#explain(error)
    }
  }

  async first<Values extends SqlValues, Row>(
    statement: Statement<Values, Row>,
    values: Values,
  ): Promise<Row | undefined> {
    try {
      this.#openSnapshot()
      return await this.#connection.first(statement, values)
    } catch (error) {
      throw this.#explain(error)
    }
  }

  run<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<number> {
    return this.#connection.run(statement, values)
  }

  /** Must be called after a commit, before it is reported: callers must see their own changes. */
  endSnapshot(): void {
    if (!this.#snapshot) return
    clearImmediate(this.#snapshot)
    this.#end()
  }

  close(): void {
    this.endSnapshot()
    this.#connection.close()
  }

  #explain(error: unknown): unknown {
    return this.#connection.classify(error) === 'write-failed' ? error : unavailable(error)
  }

  #openSnapshot(): void {
    if (this.#snapshot) return
    this.#connection.beginRead()
    this.#snapshot = setImmediate(() => this.#end())
  }

  #end(): void {
    this.#snapshot = undefined
    if (this.#memo.size > 0) this.#memo = new Map()
    this.#connection.endRead()
  }
}
