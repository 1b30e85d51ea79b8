// The connection of a postgres pipe: queries, COPY and replication. It signs in like a probe. Queries have no timeout; answers are
// limited only to bound memory.

import type { Egress } from '../../lib/egress.ts'
import { hostInUrl } from '../../lib/host.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { NotConnected, type SourceContext } from '../source.ts'
import { Channel, type ChannelConversation, type LinkError, protocolViolation } from './postgres-channel.ts'
import { goneCheckMs, type Login, lockTimeoutMs, signIn } from './postgres-connection.ts'
import { copyOut } from './postgres-copy.ts'
import { isPassingFailure, postgresFailure, SettingRefused } from './postgres-failure.ts'
import { columnCountIn, errorIn, letters, PostgresError, queryMessage, rowIn } from './postgres-messages.ts'
import { type ReplicationStart, startWal, type Wal, type WalStream } from './postgres-wal.ts'

export { lsnText, parseLsn } from './postgres-lsn.ts'
export { PostgresError } from './postgres-messages.ts'
export type { WalStream } from './postgres-wal.ts'
export type { WalBlock } from './postgres-wal-queue.ts'

export interface LinkOptions {
  isReplication: boolean
  /** Ends the link at any time. */
  signal: AbortSignal
  egress: Egress
}

/** Runs one query at a time. */
export interface PostgresLink {
  readonly isOpen: boolean
  /**
   * Runs statements or a replication command. Returns the rows of the last statement that has any, as text. Rejects with PostgresError
   * or NotConnected; an answer over 32 MB is NotConnected.
   */
  query(text: string): Promise<(string | null)[][]>
  /**
   * COPY … TO STDOUT, in pieces of about 256 KB that end at line ends. The server waits while no piece is taken. The link closes when
   * the caller stops before the last piece. A line over 256 MB is a PostgresError.
   */
  copyOut(text: string): AsyncIterable<Buffer>
  /** Needs isReplication. Afterwards the link cannot run queries. */
  startReplication(options: ReplicationStart): Promise<WalStream>
  close(): Promise<void>
}

const openTimeoutMs = 30_000
const maxAnswerBytes = 32 * 1024 * 1024

/** A single SELECT, which replication connections accept too. The formats are those of a probe. */
const sessionSettings = `
  SELECT ${[
    setting('search_path', ''),
    setting('TimeZone', 'UTC'),
    setting('DateStyle', 'ISO'),
    setting('IntervalStyle', 'postgres'),
    setting('bytea_output', 'hex'),
    setting('extra_float_digits', '3'),
    setting('lock_timeout', String(lockTimeoutMs)),
    // Timeouts set for the server or the role would end copies of large tables.
    setting('statement_timeout', '0'),
    setting('idle_in_transaction_session_timeout', '0'),
    settingSince(140000, 'idle_session_timeout', '0'),
    settingSince(140000, 'client_connection_check_interval', String(goneCheckMs)),
    settingSince(170000, 'transaction_timeout', '0'),
  ].join(', ')}`

function setting(name: string, value: string): string {
  return `pg_catalog.set_config('${name}', '${value}', false)`
}

function settingSince(version: number, name: string, value: string): string {
  const isKnown = `pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= ${version}`
  return `CASE WHEN ${isKnown} THEN ${setting(name, value)} END`
}

/** Rejects with a ProbeFailure for errors that the user must fix, otherwise with NotConnected. */
export async function openLink(login: Login, context: SourceContext, options: LinkOptions): Promise<PostgresLink> {
  const { egress, isReplication } = options
  const opening = new AbortController()
  const limit = setTimeout(() => opening.abort(), openTimeoutMs)
  const signal = AbortSignal.any([options.signal, opening.signal])
  let step: ProbeStep = 'connect'
  const begin = (next: ProbeStep): void => {
    step = next
  }
  try {
    const { socket, stream, ended } = await signIn(login, context, { egress, signal, begin, isReplication })
    begin('describe')
    const channel = new Channel(socket, stream.release())
    const stop = (): void => channel.end(new NotConnected())
    signal.addEventListener('abort', stop, { once: true })
    void channel.closed.then(() => signal.removeEventListener('abort', stop))
    if (ended.error) stop()
    await configure(channel)
    return linkOver(channel, isReplication)
  } catch (error) {
    throw signal.aborted ? new NotConnected() : openFailure(error, login, { step, isReplication })
  } finally {
    clearTimeout(limit)
  }
}

async function configure(channel: Channel): Promise<void> {
  try {
    await ask(channel, sessionSettings)
  } catch (error) {
    channel.end(new NotConnected())
    throw error instanceof PostgresError && error.code === '42501' ? new SettingRefused() : error
  }
}

function openFailure(error: unknown, login: Login, at: { step: ProbeStep; isReplication: boolean }): unknown {
  const { host, port, database } = login
  const address = `${hostInUrl(host)}:${port}`
  const failure = postgresFailure(error, { address, database, isAborted: false, ...at })
  if (!failure) return error
  return isPassingFailure(failure, error) ? new NotConnected(undefined, failure) : failure
}

function linkOver(channel: Channel, isReplication: boolean): PostgresLink {
  let wal: Wal | undefined
  return {
    get isOpen() {
      return !channel.hasEnded
    },
    query: (text) => ask(channel, text),
    copyOut: (text) => copyOut(channel, text),
    startReplication: async (start) => {
      if (!isReplication) throw new Error('the link is not for replication')
      wal = await startWal(channel, start)
      return wal
    },
    close: async () => {
      wal?.sendPendingStatus()
      // A busy server does not read the Terminate message.
      if (!wal && !channel.isSilent) channel.end(new NotConnected())
      await channel.close()
    },
  }
}

async function ask(channel: Channel, text: string): Promise<(string | null)[][]> {
  const { promise, resolve, reject } = Promise.withResolvers<(string | null)[][]>()
  channel.converse(answer(channel, resolve, reject), queryMessage(text))
  return promise
}

function answer(
  channel: Channel,
  resolve: (rows: (string | null)[][]) => void,
  reject: (error: LinkError) => void,
): ChannelConversation {
  let rows: (string | null)[][] = []
  let columnCount: number | undefined
  let isComplete = false
  let serverError: PostgresError | undefined
  let receivedBytes = 0
  const finish = (): void => {
    channel.endConversation()
    if (serverError) reject(serverError)
    else resolve(rows)
  }
  return {
    receive(letter, bytes, start, end) {
      receivedBytes += end - start
      if (receivedBytes > maxAnswerBytes) protocolViolation()
      if (letter === letters.ready && (isComplete || serverError)) finish()
      else if (serverError) protocolViolation()
      else if (letter === letters.error) serverError = errorIn(bytes, start, end)
      else if (letter === letters.rowDescription) {
        columnCount = columnCountIn(bytes, start, end)
        rows = []
        isComplete = false
      } else if (letter === letters.dataRow && columnCount !== undefined) {
        rows.push(rowIn(bytes, start, end, columnCount))
      } else if (letter === letters.commandComplete || letter === letters.emptyQuery) {
        columnCount = undefined
        isComplete = true
      } else protocolViolation()
    },
    admit(letter, sizeBytes) {
      if (letter !== letters.dataRow || sizeBytes + receivedBytes > maxAnswerBytes) protocolViolation()
    },
    end: (error) => reject(serverError ?? error),
  }
}
