// An engine on paper: a small HTTP server that keeps tables in memory and behaves as ClickHouse does for the statements that
// Penstock sends. It refuses, deduplicates, and keeps of a plain body that is cut off what came, as the real ones do.
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Outcome } from './paper-engine/execution.ts'
import { shownRow } from './paper-engine/formats.ts'
import { execute } from './paper-engine/statements.ts'
import { knownSettings, type PaperStorage, type PaperTable } from './paper-engine/storage.ts'
import { SqlError } from './paper-engine/tokens.ts'

export interface PaperQuery {
  /** Of an insert without its data; the first 100,000 bytes. */
  query: string
  settings: Record<string, string>
  headers: IncomingHttpHeaders
}

/** Which statements are meant: inserts with or without data, unless told. */
interface Which {
  matching?: RegExp
  /** How many of them; one unless told. */
  times?: number
}

export interface PaperEngine {
  protocol: 'http'
  host: string
  port: number
  url: string
  username: string
  password: string
  /** By `table` of the database `default`, or by `database.table`; columns by name, texts as texts. */
  rows(table: string): Record<string, unknown>[]
  tables: Map<string, PaperTable>
  /** That it lists; it heeds none. */
  policies: { database: string; table: string }[]
  /** All that it was asked, in order. */
  queries: PaperQuery[]
  /** Runs a statement as a client would; rejects with its error. */
  run(text: string, settings?: Record<string, string>): string
  /** Answers with an error; `after`: the statement has been done nevertheless. */
  failNext(failure: Which & { code: number; status?: number; message?: string; after?: boolean }): void
  /** Waits before it does the statement, or (`after`) before it answers. */
  delayNext(delay: Which & { delayMs: number; after?: boolean }): void
  /** Does the statement, and closes the connection without an answer; `before`: without having done it. */
  cutNext(cut?: Which & { before?: boolean }): void
  /** As if it were ended and started anew: connections are cut, what it has stays. */
  restart(): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export interface PaperEngineOptions {
  /** False: an old one, without tokens, without `input` and with fewer settings. */
  hasTokens?: boolean
  username?: string
  password?: string
}

interface Trouble {
  matching: RegExp
  times: number
  kind: 'fail' | 'delay' | 'cut'
  isAfter: boolean
  code?: number
  status?: number
  message?: string
  delayMs?: number
}

/** Settings of the request itself. */
const ownParameters = [
  'query',
  'database',
  'query_id',
  'session_id',
  'user',
  'password',
  'default_format',
  'wait_end_of_query',
  'buffer_size',
]

export async function startPaperEngine(options: PaperEngineOptions = {}): Promise<PaperEngine> {
  const { hasTokens = true, username = 'penstock', password = 'paper password' } = options
  const storage: PaperStorage = {
    tables: new Map(),
    databases: new Set(['default']),
    version: hasTokens ? '26.5.1.882' : '18.16.1',
    hasTokens,
    policies: [],
  }
  const troubles: Trouble[] = []
  const add = (which: Which, trouble: Omit<Trouble, 'matching' | 'times'>): void => {
    troubles.push({ matching: which.matching ?? /^\s*INSERT\b/i, times: which.times ?? 1, ...trouble })
  }
  let server: Server | undefined
  const engine: PaperEngine = {
    protocol: 'http',
    host: '127.0.0.1',
    port: 0,
    url: '',
    username,
    password,
    tables: storage.tables,
    policies: storage.policies,
    queries: [],
    rows(table) {
      const found = storage.tables.get(table.includes('.') ? table : `default.${table}`)
      if (!found) throw new Error(`the paper engine has no table ${table}`)
      return found.rows.map(shownRow)
    },
    run: (text, settings = {}) =>
      execute(Buffer.from(text).toString('latin1'), {
        storage,
        database: 'default',
        settings,
        isCut: false,
      }).answer.toString(),
    failNext({ code, status = 500, message = 'told to fail', after = false, ...which }) {
      add(which, { kind: 'fail', isAfter: after, code, status, message })
    },
    delayNext({ delayMs, after = false, ...which }) {
      add(which, { kind: 'delay', isAfter: after, delayMs })
    },
    cutNext({ before = false, ...which } = {}) {
      add(which, { kind: 'cut', isAfter: !before })
    },
    async restart() {
      await engine.stop()
      await engine.start()
    },
    async stop() {
      const stopped = server
      server = undefined
      if (!stopped) return
      stopped.closeAllConnections()
      stopped.close()
      await once(stopped, 'close')
    },
    async start() {
      server = createServer((request, response) => void answer(request, response)).listen(engine.port, '127.0.0.1')
      await once(server, 'listening')
      engine.port = (server.address() as AddressInfo).port
      engine.url = `http://127.0.0.1:${engine.port}`
    },
    close: () => engine.stop(),
  }

  /** Undefined when the client is to hear nothing. */
  async function perform(request: IncomingMessage): Promise<Outcome | undefined> {
    const parameters = new URL(request.url ?? '/', 'http://paper').searchParams
    const body = await readRequest(request)
    if (!isLetIn(request, username, password))
      throw new PaperFailure(hasTokens ? 516 : 193, 401, 'Authentication failed')
    const query = parameters.get('query')
    const text = `${query === null ? '' : `${Buffer.from(query).toString('latin1')}\n`}${body.text}`
    const settings = Object.fromEntries([...parameters].filter(([name]) => !ownParameters.includes(name)))
    const shown = text.slice(0, 100_000)
    const isInsert = /^\s*INSERT\b/i.test(shown)
    const statement = isInsert ? /^[\s\S]*?\bFORMAT\s+\w+|^[\s\S]*/.exec(shown)![0] : shown
    engine.queries.push({
      query: Buffer.from(statement.trim(), 'latin1').toString(),
      settings,
      headers: request.headers,
    })
    const unknown = Object.keys(settings).find((name) => !knownSettings(storage).includes(name))
    if (unknown !== undefined) throw new PaperFailure(115, 404, `Unknown setting ${unknown}`)
    if (body.isBroken) throw new PaperFailure(354, 500, 'inflate failed')
    // Nobody waits for the answer; a plain insert has been taken as far as it came.
    if (body.isCut && !isInsert) return undefined
    const met = takeTroubles(shown)
    for (const trouble of met) if (!trouble.isAfter) if (!(await suffer(trouble))) return undefined
    const database = parameters.get('database') ?? 'default'
    const outcome = execute(text, { storage, database, settings: { ...settings }, isCut: body.isCut })
    for (const trouble of met) if (trouble.isAfter) if (!(await suffer(trouble))) return undefined
    return outcome
  }

  function takeTroubles(text: string): Trouble[] {
    const met = troubles.filter(({ matching }) => matching.test(text))
    for (const trouble of met) if (--trouble.times === 0) troubles.splice(troubles.indexOf(trouble), 1)
    return met
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => undefined)
    try {
      const outcome = await perform(request)
      if (!outcome) {
        request.socket.destroy()
        return
      }
      const { writtenRows } = outcome
      if (hasTokens && writtenRows !== undefined) {
        response.setHeader(
          'X-ClickHouse-Summary',
          JSON.stringify({ read_rows: '0', written_rows: String(writtenRows) }),
        )
      }
      response.end(outcome.answer)
    } catch (error) {
      const failure =
        error instanceof SqlError ? new PaperFailure(error.code, statusOf(error.code), error.message) : error
      if (!(failure instanceof PaperFailure)) throw error
      if (hasTokens) response.setHeader('X-ClickHouse-Exception-Code', String(failure.code))
      response.writeHead(failure.status).end(describe(failure, hasTokens))
    }
  }

  await engine.start()
  return engine
}

class PaperFailure extends Error {
  readonly code: number
  readonly status: number

  constructor(code: number, status: number, message: string) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** False when the connection is to be cut. */
async function suffer({ kind, code, status, message, delayMs }: Trouble): Promise<boolean> {
  if (kind === 'fail') throw new PaperFailure(code ?? 1002, status ?? 500, message ?? '')
  if (kind === 'delay') await wait(delayMs)
  return kind !== 'cut'
}

function isLetIn({ headers }: IncomingMessage, username: string, password: string): boolean {
  const { 'x-clickhouse-user': user, 'x-clickhouse-key': key } = headers
  const asSent = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
  return user === asSent(username) && key === asSent(password)
}

async function readRequest(request: IncomingMessage): Promise<{ text: string; isCut: boolean; isBroken: boolean }> {
  const chunks: Buffer[] = []
  let isCut = false
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    isCut = true
  }
  const bytes = Buffer.concat(chunks)
  if (request.headers['content-encoding'] !== 'gzip') return { text: bytes.toString('latin1'), isCut, isBroken: false }
  try {
    return { text: gunzipSync(bytes).toString('latin1'), isCut, isBroken: isCut }
  } catch {
    return { text: '', isCut, isBroken: true }
  }
}

function statusOf(code: number): number {
  if ([60, 81, 115, 46, 47, 50, 56, 73].includes(code)) return 404
  return [26, 41, 62, 72, 27].includes(code) ? 400 : 500
}

function describe({ code, message }: PaperFailure, isNew: boolean): Buffer {
  const text = isNew
    ? `Code: ${code}. DB::Exception: ${message}. (version 26.5.1.882 (official build))\n`
    : `Code: ${code}, e.displayText() = DB::Exception: ${message}, e.what() = DB::Exception\n`
  return Buffer.from(text, 'latin1')
}
