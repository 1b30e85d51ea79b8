// ClickHouse over HTTP. Every body is gzip: an engine takes a plain one that is cut off for a whole one, and keeps the rows that
// came. Nothing is sent twice by itself: whoever asks decides what may be repeated.
import { Readable } from 'node:stream'
import type { Egress } from '../lib/egress.ts'
import { egressAgent } from '../lib/egress-http.ts'
import type { EngineAccess } from './check.ts'
import { compress, type Packing } from './compressed.ts'
import { exchange } from './exchange.ts'

export type EngineSettings = Record<string, string | number>

export interface EngineRequestOptions {
  settings?: EngineSettings | undefined
  signal?: AbortSignal | undefined
  /** How long nothing may come and go. */
  timeoutMs?: number | undefined
}

export interface SentRows {
  /** As far as the engine tells. */
  writtenRows: number | undefined
  /** Of the body, as it went over the wire. */
  sentBytes: number
}

export interface EngineClient {
  readonly access: EngineAccess
  /** Runs one statement and gives its answer. Rejects with an EngineError. */
  query(text: string, options?: EngineRequestOptions): Promise<string>
  /** Runs one INSERT with its data. Rejects with an EngineError, or with what the body throws; then the engine may have the rows. */
  send(text: string, body: Iterable<Uint8Array> | Readable, options?: EngineRequestOptions): Promise<SentRows>
  close(): void
}

const connectTimeoutMs = 10_000
const queryTimeoutMs = 60_000
/** An insert is not answered before the views of its table are done. */
const insertTimeoutMs = 300_000

/** In bytes: of an address, proxies and engines take 8 to 16 KB. A longer statement is the beginning of the body. */
const maxTextInAddress = 6_000

/** By themselves, engines take a quarter of a megabyte; a table may have two thousand columns with long names. */
const longText = 200_000
const settingsOfLongText = {
  max_query_size: 67_108_864,
  max_ast_elements: 1_000_000,
  max_expanded_ast_elements: 2_000_000,
}

export function openEngineClient(egress: Egress, access: EngineAccess): EngineClient {
  const agent = egressAgent(egress, access.protocol, { timeoutMs: connectTimeoutMs })
  const way = { egress, agent, access }
  const closing = new AbortController()
  const packing = packingFor(access)
  const signalWith = (signal: AbortSignal | undefined): AbortSignal =>
    signal ? AbortSignal.any([closing.signal, signal]) : closing.signal
  return {
    access,
    async query(text, options = {}) {
      const { text: answer } = await exchange(way, {
        parameters: parametersOf(text, options),
        idleTimeoutMs: options.timeoutMs ?? queryTimeoutMs,
        signal: signalWith(options.signal),
        // From another table, which may have taken what this one does not.
        hasRows: /^INSERT\b/i.test(text),
        body: compress(text, [], packing),
      })
      return answer
    },
    async send(text, body, options = {}) {
      const isShort = encodeURIComponent(text).length <= maxTextInAddress
      const parameters = parametersOf(text, options)
      try {
        const { summary, sentBytes } = await exchange(way, {
          parameters: isShort ? { query: text, ...parameters } : parameters,
          idleTimeoutMs: options.timeoutMs ?? insertTimeoutMs,
          signal: signalWith(options.signal),
          hasRows: true,
          body: compress(isShort ? '' : `${text}\n`, body, packing),
        })
        return { writtenRows: writtenRowsOf(summary), sentBytes }
      } finally {
        // It may wait for somebody who never sends more.
        if (body instanceof Readable) body.destroy()
      }
    },
    close() {
      closing.abort()
      agent.destroy()
    },
  }
}

/** Who speaks to an engine without TLS has it near. */
function packingFor({ protocol }: EngineAccess): Packing {
  return protocol === 'http' ? 'stored' : 'smaller'
}

function parametersOf(text: string, { settings }: EngineRequestOptions): Record<string, string> {
  const all: EngineSettings = {
    // An error that comes late comes as an error, and not as the end of an answer.
    wait_end_of_query: 1,
    ...(text.length > longText ? settingsOfLongText : {}),
    ...settings,
  }
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]))
}

function writtenRowsOf(summary: string | undefined): number | undefined {
  const [, rows] = /"written_rows"\s*:\s*"?(\d{1,15})\b/.exec(summary ?? '') ?? []
  return rows === undefined ? undefined : Number(rows)
}
