// The connection of a postgres pipe: queries, COPY and replication. It signs in like a probe. Queries have no timeout; answers are
// limited only to bound memory.

import type { Egress } from '../../lib/egress.ts'
import { hostInUrl } from '../../lib/host.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import type { SourceContext } from '../source.ts'
import type { Channel } from './postgres-channel.ts'
import { goneCheckMs, type Login, lockTimeoutMs, signIn } from './postgres-connection.ts'
import { copyOut } from './postgres-copy.ts'
import { isPassingFailure, postgresFailure } from './postgres-failure.ts'
import { PostgresError, queryMessage, SessionError } from './postgres-messages.ts'
import { ask } from './postgres-query.ts'
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
    const channel = await signIn(login, context, { egress, signal, begin, isReplication })
    channel.removeLimits()
    begin('describe')
    const stop = (): void => channel.end(new NotConnected())
    signal.addEventListener('abort', stop, { once: true })
    void channel.closed.then(() => signal.removeEventListener('abort', stop))
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
    await ask(channel, queryMessage(sessionSettings))
  } catch (error) {
    channel.end(new NotConnected())
    if (!(error instanceof PostgresError)) throw new NotConnected()
    throw error.code === '42501' ? new SessionError('setting refused') : error
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
    query: async (text) => (await ask(channel, queryMessage(text))).rows,
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
