// HTTP server in front of a real or paper engine. It records requests, and fails, delays or closes connections on demand.
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
import { constants, gunzipSync } from 'node:zlib'

/** A request after its body has ended. */
export interface SentRequest {
  /** With parameters. */
  path: string
  parameters: URLSearchParams
  headers: IncomingHttpHeaders
  /** As sent, possibly compressed. */
  body: Buffer
  /** The parameter `query` and the decompressed body; one character per byte. */
  text: string
  isInsert: boolean
  /** The client disconnected. */
  isCut: boolean
  /** The compressed body is damaged or incomplete. */
  isBroken: boolean
}

export interface EngineAnswer {
  status: number
  headers: Record<string, string>
  body: Buffer
}

export interface RecordedQuery {
  /** Of an insert, without its data; the first 100,000 bytes. */
  query: string
  settings: Record<string, string>
  headers: IncomingHttpHeaders
}

/** Selects statements; default: inserts, with or without data. */
interface Which {
  matching?: RegExp
  /** Default: 1. */
  times?: number
}

export interface EngineFront {
  protocol: 'http'
  host: string
  port: number
  url: string
  /** All statements in order. */
  queries: RecordedQuery[]
  /** Answers with an error; `after`: although the statement was executed. */
  failNext(failure: Which & { code: number; status?: number; message?: string; after?: boolean }): void
  /** Waits before executing the statement or, with `after`, before answering. */
  delayNext(delay: Which & { delayMs: number; after?: boolean }): void
  /** Executes the statement and closes the connection without an answer; `before`: without executing it. */
  cutNext(cut?: Which & { before?: boolean }): void
  /** Changes the answer, to simulate states that the engine cannot have here. */
  editNext(change: Which & { edit(answer: string): string }): void
  /** Simulates a restart: closes connections, keeps data. */
  restart(): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
}

/** Polling interval of tests: a query takes a real engine 10 ms of a core. */
export const askAgainMs = 50

/** Interface of the engines that tests use. */
export interface TestEngine extends EngineFront {
  username: string
  password: string
  /** Database for new tables. */
  database: string
  /** Runs a statement as a client; rejects with its error. Not recorded, and not affected by faults. */
  run(text: string, settings?: Record<string, string>): Promise<string>
  /** Rows of a table in `database`, by column name, with texts as texts. */
  rows(table: string): Promise<Record<string, unknown>[]>
  /** Empty if the table does not exist. */
  rowsIfAny(table: string): Promise<Record<string, unknown>[]>
  /** Names of the tables in `database`. */
  listTables(): Promise<string[]>
  close(): Promise<void>
}

interface Fault {
  matching: RegExp
  times: number
  kind: 'fail' | 'delay' | 'cut' | 'edit'
  isAfter: boolean
  failure?: EngineAnswer
  delayMs?: number
  edit?: (answer: string) => string
}

/** Parameters of a request that are not settings. */
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

export interface EngineBehind {
  /** Undefined if the client has disconnected. */
  perform(request: SentRequest): Promise<EngineAnswer | undefined> | EngineAnswer | undefined
  describeFailure(failure: { code: number; status: number; message: string }): EngineAnswer
}

export async function openEngineFront({ perform, describeFailure }: EngineBehind): Promise<EngineFront> {
  const faults: Fault[] = []
  const add = (which: Which, fault: Omit<Fault, 'matching' | 'times'>): void => {
    faults.push({ matching: which.matching ?? /^\s*INSERT\b/i, times: which.times ?? 1, ...fault })
  }
  let server: Server | undefined
  const front: EngineFront = {
    protocol: 'http',
    host: '127.0.0.1',
    port: 0,
    url: '',
    queries: [],
    failNext({ code, status = 500, message = 'requested failure', after = false, ...which }) {
      add(which, { kind: 'fail', isAfter: after, failure: describeFailure({ code, status, message }) })
    },
    delayNext({ delayMs, after = false, ...which }) {
      add(which, { kind: 'delay', isAfter: after, delayMs })
    },
    cutNext({ before = false, ...which } = {}) {
      add(which, { kind: 'cut', isAfter: !before })
    },
    editNext({ edit, ...which }) {
      add(which, { kind: 'edit', isAfter: true, edit })
    },
    async restart() {
      await front.stop()
      await front.start()
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
      server = createServer((request, response) => void respond(request, response)).listen(front.port, '127.0.0.1')
      await once(server, 'listening')
      front.port = (server.address() as AddressInfo).port
      front.url = `http://127.0.0.1:${front.port}`
    },
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => undefined)
    const answer = await answerTo(await readRequest(request))
    if (answer) response.writeHead(answer.status, answer.headers).end(answer.body)
    else request.socket.destroy()
  }

  /** Undefined: the client gets no answer. */
  async function answerTo(sent: SentRequest): Promise<EngineAnswer | undefined> {
    const shown = sent.text.slice(0, 100_000)
    record(sent, shown)
    const met = takeFaults(shown)
    for (const { kind, delayMs, failure } of met.filter(({ isAfter }) => !isAfter)) {
      if (kind !== 'delay') return failure
      await wait(delayMs)
    }
    let answer = await perform(sent)
    for (const { kind, delayMs, failure, edit } of met.filter(({ isAfter }) => isAfter)) {
      if (kind === 'delay') await wait(delayMs)
      else if (!edit) return failure
      else if (answer) answer = { ...answer, body: Buffer.from(edit(answer.body.toString())) }
    }
    return answer
  }

  function record({ parameters, headers, isInsert }: SentRequest, shown: string): void {
    const statement = isInsert ? /^[\s\S]*?\bFORMAT\s+\w+|^[\s\S]*/.exec(shown)![0] : shown
    front.queries.push({
      query: Buffer.from(statement.trim(), 'latin1').toString(),
      settings: settingsOf(parameters),
      headers,
    })
  }

  function takeFaults(text: string): Fault[] {
    const met = faults.filter(({ matching }) => matching.test(text))
    for (const fault of met) if (--fault.times === 0) faults.splice(faults.indexOf(fault), 1)
    return met
  }

  await front.start()
  return front
}

export function settingsOf(parameters: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...parameters].filter(([name]) => !ownParameters.includes(name)))
}

async function readRequest(request: IncomingMessage): Promise<SentRequest> {
  const path = request.url ?? '/'
  const parameters = new URL(path, 'http://engine').searchParams
  const chunks: Buffer[] = []
  let isCut = false
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    isCut = true
  }
  const body = Buffer.concat(chunks)
  const { text, isBroken } = decompress(body, request.headers['content-encoding'] === 'gzip')
  const query = parameters.get('query')
  const all = `${query === null ? '' : `${Buffer.from(query).toString('latin1')}\n`}${text}`
  const isInsert = /^\s*INSERT\b/i.test(all)
  return { path, parameters, headers: request.headers, body, text: all, isInsert, isCut, isBroken }
}

/** Of incomplete data, everything that was received. */
function decompress(body: Buffer, isCompressed: boolean): { text: string; isBroken: boolean } {
  if (!isCompressed) return { text: body.toString('latin1'), isBroken: false }
  try {
    return { text: gunzipSync(body).toString('latin1'), isBroken: false }
  } catch {
    return { text: decompressBeginning(body), isBroken: true }
  }
}

function decompressBeginning(body: Buffer): string {
  try {
    return gunzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1')
  } catch {
    return ''
  }
}
