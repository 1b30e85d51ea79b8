// Signs in to PostgreSQL over the egress, with TLS when the server offers it, and opens read-only sessions for probes. Environment
// variables such as PGOPTIONS have no effect.
import { secure, trustWith } from '../../lib/egress-tls.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { ProbeOptions, SourceAccess, SourceContext } from '../source.ts'
import { Channel } from './postgres-channel.ts'
import { boundQueryMessages, queryMessage, SessionError } from './postgres-messages.ts'
import { type Answer, ask } from './postgres-query.ts'
import { authenticate, offersTls } from './postgres-sign-in.ts'
import { type Parameter, parameter, recordsIn } from './postgres-values.ts'

export interface Login {
  host: string
  port: number
  database: string
  username: string
  password: string
  /** Host and port that the password was sent for, when different from these: it must not be revealed here. */
  passwordFor?: SourceSecrets['passwordFor'] | undefined
}

export function loginOf(
  { host, port, database }: Pick<PostgresSource, 'host' | 'port' | 'database'>,
  secrets: SourceSecrets,
): Login {
  const { username = '', password = '' } = secrets.credentials ?? {}
  return { host, port, database, username, password, passwordFor: secrets.passwordFor }
}

export interface PostgresSession {
  /** Values are booleans, numbers, text, lists of text and parsed JSON, as the server declares their types. */
  query(text: string, values?: Parameter[]): Promise<Record<string, unknown>[]>
  /** Values in PostgreSQL's text format. */
  queryTexts(text: string): Promise<(string | null)[][]>
  close(): Promise<void>
}

const connectTimeoutMs = 10_000
const statementTimeoutMs = 10_000
export const lockTimeoutMs = 2_000
/** client_connection_check_interval, since PostgreSQL 14: the server ends queries of closed connections. */
export const goneCheckMs = 500

/** One round trip. The formats are those that postgres-types.ts reads. An empty search path excludes objects of users. */
const beginSession = `
  BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL statement_timeout = ${statementTimeoutMs};
  SET LOCAL lock_timeout = ${lockTimeoutMs};
  SET LOCAL search_path = '';
  SET LOCAL TimeZone = 'UTC';
  SET LOCAL DateStyle = 'ISO';
  SET LOCAL IntervalStyle = 'postgres';
  SET LOCAL bytea_output = 'hex';
  SET LOCAL extra_float_digits = 3;
  SELECT set_config('client_connection_check_interval', '${goneCheckMs}', true)
    WHERE current_setting('server_version_num')::int >= 140000`

/** Rejects with errors that postgres-failure.ts classifies. */
export async function openSession(
  login: Login,
  context: SourceContext,
  options: ProbeOptions,
): Promise<PostgresSession> {
  const channel = await signIn(login, context, options)
  try {
    options.begin('describe')
    return await startSession(channel)
  } catch (error) {
    channel.end(new SessionError('broken'))
    throw error
  }
}

export interface SignInOptions extends SourceAccess {
  begin(step: ProbeStep): void
  /** For replication commands as well as statements. */
  isReplication?: boolean
}

/** An authenticated connection. The signal ends it at any time. Rejects as openSession does. */
export async function signIn(
  login: Login,
  { caCertificates, allowPlaintext }: SourceContext,
  { egress, signal, begin, isReplication = false }: SignInOptions,
): Promise<Channel> {
  const { host, port } = login
  begin('connect')
  const plain = await egress.connect(host, port, { timeoutMs: connectTimeoutMs, signal })
  const stop = (): void => void plain.destroy()
  signal.addEventListener('abort', stop, { once: true })
  plain.once('close', () => signal.removeEventListener('abort', stop))
  try {
    signal.throwIfAborted()
    const hasTls = await offersTls(plain)
    if (hasTls || !allowPlaintext) begin('tls')
    if (!hasTls && !allowPlaintext) throw new SessionError('no tls')
    const socket = hasTls ? await secure(plain, host, trustWith(caCertificates)) : plain
    begin('authenticate')
    const { username: user, password, database, passwordFor } = login
    if (user === '' || password === '') throw new SessionError('no login')
    const channel = new Channel(socket)
    // Poolers reject parameters that they do not know.
    const parameters = { database, application_name: 'penstock', ...(isReplication && { replication: 'database' }) }
    await authenticate(channel, { user, password, parameters, keepsPassword: passwordFor !== undefined })
    return channel
  } catch (error) {
    plain.destroy()
    throw error
  }
}

async function startSession(channel: Channel): Promise<PostgresSession> {
  const query = async (request: Buffer): Promise<Answer> => {
    if (channel.error) throw channel.error
    return ask(channel, request)
  }
  await query(queryMessage(beginSession)).catch((error: { code?: unknown }) => {
    throw error.code === '42501' ? new SessionError('setting refused') : error
  })
  return {
    query: async (text, values = []) => {
      const request = values.length > 0 ? boundQueryMessages(text, values.map(parameter)) : queryMessage(text)
      return recordsIn(await query(request))
    },
    queryTexts: async (text) => (await query(queryMessage(text))).rows,
    close: async () => {
      if (!channel.isSilent) channel.end(new SessionError('broken'))
      await channel.close()
    },
  }
}
