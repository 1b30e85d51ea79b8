// Signs in to PostgreSQL over the egress, with TLS when the server offers it, and opens read-only sessions for probes. Environment
// variables such as PGOPTIONS have no effect.
import type { Socket } from 'node:net'
import pg from 'pg'
import { secure, trustWith } from '../../lib/egress-tls.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { ProbeOptions, SourceAccess, SourceContext } from '../source.ts'
import { LoginMissing, PlaintextOnly, SettingRefused } from './postgres-failure.ts'
import { MessageStream, NotPostgres, offersTls } from './postgres-wire.ts'

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
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
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
  const signedIn = await signIn(login, context, options)
  try {
    options.begin('describe')
    return await startSession(signedIn)
  } catch (error) {
    signedIn.socket.destroy()
    throw error
  }
}

export interface SignInOptions extends SourceAccess {
  begin(step: ProbeStep): void
  /** For replication commands as well as statements. */
  isReplication?: boolean
}

export interface SignedIn {
  client: pg.Client
  /** The error that ended the connection, also between queries. */
  ended: { error?: unknown }
  stream: MessageStream
  socket: Socket
}

/** An authenticated connection. The signal ends it at any time. Rejects as openSession does. */
export async function signIn(
  login: Login,
  { caCertificates, allowPlaintext }: SourceContext,
  { egress, signal, begin, isReplication = false }: SignInOptions,
): Promise<SignedIn> {
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
    if (!hasTls && !allowPlaintext) throw new PlaintextOnly()
    const socket = hasTls ? await secure(plain, host, trustWith(caCertificates)) : plain
    begin('authenticate')
    if (login.username === '' || login.password === '') throw new LoginMissing()
    return await authenticate(socket, login, isReplication)
  } catch (error) {
    plain.destroy()
    throw error
  }
}

async function authenticate(socket: Socket, login: Login, isReplication: boolean): Promise<SignedIn> {
  const { username: user, password, host, port, database, passwordFor } = login
  const stream = new MessageStream(socket, { keepsPassword: passwordFor !== undefined })
  const client = new pg.Client({
    host,
    port,
    database,
    user,
    // A function: with an empty string, `pg` would look for a password elsewhere.
    password: () => password,
    // The stream has TLS already.
    ssl: false,
    sslnegotiation: 'postgres',
    stream: () => stream.asDuplex(),
  })
  // All startup parameters. `pg` would add PGOPTIONS and others; poolers reject parameters that they do not know.
  const startup = { user, database: login.database, application_name: 'penstock' }
  Object.assign(client, { getStartupConf: () => (isReplication ? { ...startup, replication: 'database' } : startup) })
  const ended: SignedIn['ended'] = {}
  client.on('error', (error) => {
    ended.error ??= error
  })
  await client.connect()
  return { client, ended, stream, socket }
}

async function startSession({ client, ended, socket }: SignedIn): Promise<PostgresSession> {
  const query = async (config: pg.QueryConfig | pg.QueryArrayConfig): Promise<unknown> => {
    try {
      return await client.query(config)
    } catch (error) {
      throw ended.error ?? error
    }
  }
  await query({ text: beginSession, types: plainTypes }).catch((error: { code?: unknown }) => {
    throw error.code === '42501' ? new SettingRefused() : error
  })
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      rowsOf<Row>(await query({ text, values, types: carefulTypes })),
    queryTexts: async (text) => rowsOf(await query({ text, rowMode: 'array', types: plainTypes })),
    close: async () => {
      if (socket.closed) return
      const closed = new Promise((resolve) => socket.once('close', resolve))
      void client.end()
      await closed
    },
  }
}

/** If a server sends two results for one query, `pg` returns an array of results. */
function rowsOf<Row>(result: unknown): Row[] {
  const { rows } = result as { rows?: Row[] }
  if (!Array.isArray(rows)) throw new NotPostgres()
  return rows
}

const plainTypes = { getTypeParser: () => String }

/** A value may not match the type that the server declares for it. */
const carefulTypes = {
  getTypeParser: (id: number) => {
    const parse: (value: string) => unknown = pg.types.getTypeParser(id)
    return (value: string): unknown => {
      try {
        return parse(value)
      } catch {
        throw new NotPostgres()
      }
    }
  },
}
