// ClickHouse's HTTP interface in front of the library: statements, settings, formats and exceptions as a server answers them.
// Sessions are not kept between requests.
import { randomUUID, timingSafeEqual } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { quoteName } from '../engine/names.ts'
import { answerOfException, EngineException } from './exception.ts'
import type { Library, LibraryResult, LibrarySession } from './library.ts'
import { receiveBody } from './request-body.ts'

export interface EngineAccount {
  username: string
  password: string
  /** A role of the library; undefined: everything is allowed. */
  role?: string
  isReadOnly?: boolean
}

/** Parameters of a request that are not settings. */
const parameterNames = new Set([
  ...['query', 'database', 'default_format', 'user', 'password', 'query_id', 'session_id', 'session_timeout'],
  ...['session_check', 'quota_key', 'compress', 'decompress', 'wait_end_of_query', 'buffer_size', 'stacktrace', 'role'],
])

const contentTypes: [RegExp, string][] = [
  [/^(?:TabSeparated|TSV)/i, 'text/tab-separated-values; charset=UTF-8'],
  [/^CSV/i, 'text/csv; charset=UTF-8'],
  [/^JSON\w*EachRow/i, 'application/x-ndjson; charset=UTF-8'],
  [/^JSON/i, 'application/json; charset=UTF-8'],
  [/^(?:Native|RowBinary|Parquet|Arrow|Avro|ORC)/i, 'application/octet-stream'],
]
const otherContentType = 'text/plain; charset=UTF-8'

export function createHttpInterface(library: Library, accounts: EngineAccount[], folder: string): Server {
  const rowsFolder = join(folder, 'rows')
  rmSync(rowsFolder, { recursive: true, force: true })
  mkdirSync(rowsFolder, { recursive: true, mode: 0o700 })
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    if (path === '/ping') response.end('Ok.\n')
    else if (path !== '/') response.writeHead(404).end(`There is no handle ${path}\n`)
    else new Exchange(library, accounts, rowsFolder, request, response).run().catch(() => response.destroy())
  })
  // No limit: receiving the rows of a batch can take long.
  server.requestTimeout = 0
  return server
}

class Exchange {
  readonly #library: Library
  readonly #accounts: EngineAccount[]
  readonly #rowsFile: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #parameters: URLSearchParams
  readonly #queryId: string
  readonly #startedMs = performance.now()

  constructor(
    library: Library,
    accounts: EngineAccount[],
    rowsFolder: string,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    this.#library = library
    this.#accounts = accounts
    this.#rowsFile = join(rowsFolder, randomUUID())
    this.#request = request
    this.#response = response
    this.#parameters = new URL(request.url ?? '/', 'http://localhost').searchParams
    this.#queryId = this.#parameters.get('query_id') || randomUUID()
  }

  async run(): Promise<void> {
    this.#response.setHeader('X-ClickHouse-Query-Id', this.#queryId)
    this.#response.setHeader('X-ClickHouse-Server-Display-Name', 'penstock')
    this.#response.setHeader('X-ClickHouse-Timezone', 'UTC')
    try {
      const account = this.#authenticate()
      const body = await receiveBody(this.#request, this.#parameters.get('query') ?? '', this.#rowsFile)
      const session = await this.#library.openSession()
      try {
        await this.#prepare(session, account)
        if (body.insert) await this.#answer('', await this.#insert(session, body.insert.text))
        else await this.#query(session, body.text)
      } finally {
        await session.close()
      }
    } catch (error) {
      // The client has disconnected.
      if (this.#request.destroyed && !this.#request.complete) throw error
      // The client reads the answer after it has sent everything.
      this.#request.resume()
      this.#refuse(error)
    } finally {
      rmSync(this.#rowsFile, { force: true })
    }
  }

  #authenticate(): EngineAccount {
    const { headers } = this.#request
    let username = textOf(headers['x-clickhouse-user']) ?? this.#parameters.get('user') ?? 'default'
    let password = textOf(headers['x-clickhouse-key']) ?? this.#parameters.get('password') ?? ''
    const [, basic] = /^Basic (\S+)$/i.exec(headers.authorization ?? '') ?? []
    if (basic !== undefined) {
      const [, user, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(basic, 'base64').toString()) ?? []
      username = user ?? ''
      password = secret ?? ''
    }
    const account = this.#accounts.find((one) => one.username === username)
    if (account && isSame(account.password, password)) return account
    const text = `${username}: Authentication failed: password is incorrect, or there is no user with such name.`
    throw new EngineException(516, 'AUTHENTICATION_FAILED', text)
  }

  async #prepare(session: LibrarySession, account: EngineAccount): Promise<void> {
    if (account.role !== undefined) await session.query(`SET ROLE ${quoteName(account.role)}`)
    const database = this.#parameters.get('database') ?? textOf(this.#request.headers['x-clickhouse-database'])
    if (database) await session.query(`USE ${quoteName(database)}`)
    if (account.isReadOnly || this.#request.method === 'GET') {
      await session.set({ readonly: account.isReadOnly ? '1' : '2' })
    }
    const settings = Object.fromEntries(
      [...this.#parameters].filter(([name]) => !parameterNames.has(name) && !name.startsWith('param_')),
    )
    // The library assigns query ids: the client's id goes into log_comment.
    const comment = account.isReadOnly ? {} : { log_comment: this.#queryId }
    await session.set({ ...comment, ...settings })
  }

  async #insert(session: LibrarySession, textWith: (fileName: string) => string): Promise<LibraryResult> {
    // Sent rows are blocks of an insert, rows of a file blocks of a select.
    const { bytes } = await session.query("SELECT getSetting('max_insert_block_size')")
    await session.set({ max_block_size: Buffer.from(bytes).toString().trim() })
    return session.insert(textWith(await session.provideFile(this.#rowsFile)))
  }

  async #query(session: LibrarySession, sent: string): Promise<void> {
    const text = withLibraryQueryIds(sent)
    const defaultFormat = this.#parameters.get('default_format') ?? 'TabSeparated'
    if (/^\s*INSERT\b/i.test(text)) {
      await this.#answer('', await session.insert(text))
      return
    }
    const parameters = Object.fromEntries(
      [...this.#parameters]
        .filter(([name]) => name.startsWith('param_'))
        .map(([name, value]) => [name.slice('param_'.length), value]),
    )
    const statement = text.trimEnd().replace(/;$/, '').trimEnd()
    const format = /\bFORMAT\s+(\w+)$/i.exec(statement)?.[1] ?? defaultFormat
    await this.#answer(format, await session.query(text, { format: defaultFormat, parameters }))
  }

  async #answer(format: string, { bytes, readRows, readBytes, writtenRows }: LibraryResult): Promise<void> {
    const numbers = {
      read_rows: readRows,
      read_bytes: readBytes,
      written_rows: writtenRows,
      result_bytes: bytes.length,
      elapsed_ns: Math.round((performance.now() - this.#startedMs) * 1e6),
    }
    const summary = Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, String(number)]))
    this.#response.writeHead(200, {
      'X-ClickHouse-Summary': JSON.stringify(summary),
      'X-ClickHouse-Format': format,
      'Content-Type': contentTypes.find(([formats]) => formats.test(format))?.[1] ?? otherContentType,
      'Content-Length': bytes.length,
    })
    this.#response.end(bytes)
  }

  #refuse(error: unknown): void {
    const { status, code, text } = answerOfException(
      error instanceof Error ? error.message : String(error),
      this.#library.version,
    )
    const content = Buffer.from(text)
    this.#response.writeHead(status, {
      'X-ClickHouse-Exception-Code': code,
      'Content-Type': otherContentType,
      'Content-Length': content.length,
    })
    this.#response.end(content)
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** See #prepare: the query id of a request is in log_comment. */
function withLibraryQueryIds(text: string): string {
  const isAboutQueries = /^\s*KILL\s/i.test(text) || /\bsystem\.processes\b/.test(text)
  return isAboutQueries ? text.replaceAll(/\bquery_id\b/g, "Settings['log_comment']") : text
}
