// The connection beneath a pipe of PostgreSQL: statements, COPY, and the log. It signs in as a probe does; what follows has no
// limits of time or size but those that keep memory bounded.

import type { Egress } from '../../lib/egress.ts'
import { hostInUrl } from '../../lib/host.ts'
import { NotConnected, type ProbeStep, type SourceContext } from '../source.ts'
import { Channel, type ChannelConversation, type LinkError, refuse } from './postgres-channel.ts'
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

/** One thing at a time. */
export interface PostgresLink {
  readonly isOpen: boolean
  /**
   * A statement, or a command of replication: the rows, as texts. Of several statements, the rows of the last that has any.
   * Rejects with PostgresError, or with NotConnected, also when the answer is beyond 32 MB.
   */
  query(text: string): Promise<(string | null)[][]>
  /**
   * COPY … TO STDOUT, in pieces of about 256 KB that end where lines end. The server waits while nobody takes them; whoever
   * stops before the last one closes the link. A line over 256 MB is a PostgresError.
   */
  copyOut(text: string): AsyncIterable<Buffer>
  /** Only of a link with isReplication. Nothing else can be asked after it. */
  startReplication(options: ReplicationStart): Promise<WalStream>
  close(): Promise<void>
}

const openTimeoutMs = 30_000
const maxAnswerBytes = 32 * 1024 * 1024

/** One statement, which is known to connections for replication too. The formats are those of a probe. */
const sessionSettings = `
  SELECT ${[
    setting('search_path', ''),
    setting('TimeZone', 'UTC'),
    setting('DateStyle', 'ISO'),
    setting('IntervalStyle', 'postgres'),
    setting('bytea_output', 'hex'),
    setting('extra_float_digits', '3'),
    setting('lock_timeout', String(lockTimeoutMs)),
    // Of these, the server or the role may have others, which are not for copies of whole tables.
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

/** Rejects with a ProbeFailure for what the user must mend, and otherwise with NotConnected. */
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
  const place = `${hostInUrl(host)}:${port}`
  const failure = postgresFailure(error, { place, database, isAborted: false, ...at })
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
      wal?.tellRest()
      // A server that is at work does not listen.
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
  let refused: PostgresError | undefined
  let receivedBytes = 0
  const finish = (): void => {
    channel.rest()
    if (refused) reject(refused)
    else resolve(rows)
  }
  return {
    receive(letter, bytes, start, end) {
      receivedBytes += end - start
      if (receivedBytes > maxAnswerBytes) refuse()
      if (letter === letters.ready && (isComplete || refused)) finish()
      else if (refused) refuse()
      else if (letter === letters.error) refused = errorIn(bytes, start, end)
      else if (letter === letters.rowDescription) {
        columnCount = columnCountIn(bytes, start, end)
        rows = []
        isComplete = false
      } else if (letter === letters.dataRow && columnCount !== undefined) {
        rows.push(rowIn(bytes, start, end, columnCount))
      } else if (letter === letters.commandComplete || letter === letters.emptyQuery) {
        columnCount = undefined
        isComplete = true
      } else refuse()
    },
    admit(letter, sizeBytes) {
      if (letter !== letters.dataRow || sizeBytes + receivedBytes > maxAnswerBytes) refuse()
    },
    end: (error) => reject(refused ?? error),
  }
}
