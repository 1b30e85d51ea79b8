// HTTP client for ClickHouse. Every body is gzip: ClickHouse treats a truncated plain body as complete and keeps its rows. Nothing is
// retried automatically: the caller knows what can be repeated.
import { Readable } from 'node:stream'
import type { Egress } from '../lib/egress.ts'
import { egressAgent } from '../lib/egress-agent.ts'
import type { EngineAccess } from './check.ts'
import { compress, type Packing } from './compressed.ts'
import { exchange } from './exchange.ts'

export type EngineSettings = Record<string, string | number>

export interface EngineRequestOptions {
  settings?: EngineSettings | undefined
  signal?: AbortSignal | undefined
  /** Longest time without traffic. */
  timeoutMs?: number | undefined
}

export interface SentRows {
  /** Undefined when ClickHouse does not report it. */
  writtenRows: number | undefined
  /** Size of the body on the wire. */
  sentBytes: number
}

export interface EngineClient {
  readonly access: EngineAccess
  /** Runs one statement and returns its answer. Rejects with an EngineError. */
  query(text: string, options?: EngineRequestOptions): Promise<string>
  /**
   * Runs one INSERT with its data. Rejects with an EngineError, or with the error of the body; the rows may have been inserted then.
   */
  send(text: string, body: Iterable<Uint8Array> | Readable, options?: EngineRequestOptions): Promise<SentRows>
  close(): void
}

const connectTimeoutMs = 10_000
const queryTimeoutMs = 60_000
/** An insert is answered after the materialized views of its table are done. */
const insertTimeoutMs = 300_000

/** In bytes: proxies and ClickHouse accept URLs of 8 to 16 KB. A longer statement goes into the body. */
const maxTextInUrl = 6_000

/** By default, ClickHouse accepts 256 KiB; a table may have two thousand columns with long names. */
const longText = 200_000
const settingsOfLongText = {
  max_query_size: 67_108_864,
  max_ast_elements: 1_000_000,
  max_expanded_ast_elements: 2_000_000,
}

export function openEngineClient(egress: Egress, access: EngineAccess): EngineClient {
  const agent = egressAgent(egress, access.protocol, { timeoutMs: connectTimeoutMs })
  const connection = { egress, agent, access }
  const closing = new AbortController()
  const packing = packingFor(access)
  const signalWith = (signal: AbortSignal | undefined): AbortSignal =>
    signal ? AbortSignal.any([closing.signal, signal]) : closing.signal
  return {
    access,
    async query(text, options = {}) {
      const { text: answer } = await exchange(connection, {
        parameters: parametersOf(text, options),
        idleTimeoutMs: options.timeoutMs ?? queryTimeoutMs,
        signal: signalWith(options.signal),
        // INSERT … SELECT: the rows come from another table, and this one may reject them.
        hasRows: /^INSERT\b/i.test(text),
        body: compress(text, [], packing),
      })
      return answer
    },
    async send(text, body, options = {}) {
      const isShort = encodeURIComponent(text).length <= maxTextInUrl
      const parameters = parametersOf(text, options)
      try {
        const { summary, sentBytes } = await exchange(connection, {
          parameters: isShort ? { query: text, ...parameters } : parameters,
          idleTimeoutMs: options.timeoutMs ?? insertTimeoutMs,
          signal: signalWith(options.signal),
          hasRows: true,
          body: compress(isShort ? '' : `${text}\n`, body, packing),
        })
        return { writtenRows: writtenRowsOf(summary), sentBytes }
      } finally {
        // The body may wait for a source that never sends more.
        if (body instanceof Readable) body.destroy()
      }
    },
    close() {
      closing.abort()
      agent.destroy()
    },
  }
}

/** An engine without TLS is assumed to be on a fast network. */
function packingFor({ protocol }: EngineAccess): Packing {
  return protocol === 'http' ? 'stored' : 'smaller'
}

function parametersOf(text: string, { settings }: EngineRequestOptions): Record<string, string> {
  const all: EngineSettings = {
    // ClickHouse then sends late errors as errors, not at the end of an answer.
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
