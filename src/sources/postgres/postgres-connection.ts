// How to sign in to PostgreSQL over a connection of the egress, with TLS wherever the server has it, and a session for probes:
// one read-only transaction. Nothing of the environment has a say in it, and nothing that runs in a session can change anything.
import type { Socket } from 'node:net'
import pg from 'pg'
import { secure, trustWith } from '../../lib/egress-tls.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import type { ProbeOptions, ProbeStep, SourceContext, SourceAccess } from '../source.ts'
import { LoginMissing, PlaintextOnly, SettingRefused } from './postgres-failure.ts'
import { MessageStream, NotPostgres, offersTls } from './postgres-wire.ts'

export interface Login {
  host: string
  port: number
  database: string
  username: string
  password: string
  /** The host and port that the password was sent for, when it is not for these: it must not be revealed here. */
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
  /** Values as PostgreSQL prints them. */
  queryTexts(text: string): Promise<(string | null)[][]>
  close(): Promise<void>
}

const connectTimeoutMs = 10_000
const statementTimeoutMs = 10_000
export const lockTimeoutMs = 2_000
/** How soon the server ends what it does for us when we are gone; it knows this since version 14. */
export const goneCheckMs = 500

/** One round trip. The formats are those that postgres-types.ts reads; without a search path, no name of a user's is met. */
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

/** Rejects with what postgres-failure.ts knows. */
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
  /** Commands of replication are to be sent, beside statements. */
  isReplication?: boolean
}

export interface SignedIn {
  client: pg.Client
  /** What has ended the connection, also when nothing was asked at that time. */
  ended: { error?: unknown }
  stream: MessageStream
  socket: Socket
}

/** A connection that has signed in, and nothing more. The signal ends it at any time. Rejects as openSession does. */
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
    // A function: of an empty text `pg` would think that it is to look for a password elsewhere.
    password: () => password,
    // TLS is there already.
    ssl: false,
    sslnegotiation: 'postgres',
    stream: () => stream.asDuplex(),
  })
  // All that is said at the start. `pg` would add what it finds in PGOPTIONS and the like; poolers refuse what they do not know.
  const said = { user, database: login.database, application_name: 'penstock' }
  Object.assign(client, { getStartupConf: () => (isReplication ? { ...said, replication: 'database' } : said) })
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

/** A server that answers one question twice makes a list of results. */
function rowsOf<Row>(result: unknown): Row[] {
  const { rows } = result as { rows?: Row[] }
  if (!Array.isArray(rows)) throw new NotPostgres()
  return rows
}

const plainTypes = { getTypeParser: () => String }

/** What a server says of the type of a value need not be true of it. */
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
