// Asks a ClickHouse for its version over HTTP: whether it is there, and lets us in. What a foreign server answers is judged and
// never repeated: the sentences hold nothing but the host and port that the user gave.
import { type Denial, denialReasons, type Egress, EgressError, howToAllowLoopback } from '../lib/egress.ts'
import type { EgressAnswer } from '../lib/egress-http.ts'
import { hostInUrl } from '../lib/host.ts'
import type { Secret } from '../lib/secret.ts'
import { meaningOf } from './error-meanings.ts'

export interface EngineAddress {
  protocol: 'http' | 'https'
  host: string
  port: number
}

export interface EngineAccess extends EngineAddress {
  username: string
  password: Secret
}

export type EngineFailure =
  | 'refused'
  | 'unreachable'
  | 'timed out'
  | 'authentication'
  | 'not an engine'
  | 'engine error'
  | 'denied'

/** The version, or what went wrong as a sentence for people. */
export type EngineCheck = { version: string } | { failure: EngineFailure; reason: string }

const timeoutMs = 5_000
const maxAnswerBytes = 65_536

const question = `/?query=${encodeURIComponent('SELECT version() FORMAT TabSeparated')}`

/** Unknown user, wrong password, password required, authentication failed. */
const authenticationCodes = ['192', '193', '194', '516']

export async function checkEngine(
  egress: Egress,
  engine: EngineAccess,
  options: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<EngineCheck> {
  const { protocol, host, port, username, password } = engine
  let answer: EgressAnswer
  try {
    egress.requireTlsForPassword(protocol, password)
    answer = await egress.request({
      protocol,
      host,
      port,
      method: 'GET',
      path: question,
      headers: {
        'x-clickhouse-user': asHeader(username),
        'x-clickhouse-key': asHeader(password.reveal()),
        'user-agent': 'penstock',
      },
      timeoutMs: options.timeoutMs ?? timeoutMs,
      maxAnswerBytes,
      signal: options.signal,
    })
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return describeFailure(error, engine)
  }
  return judge(answer, engine)
}

function judge({ status, headers, body }: EgressAnswer, engine: EngineAddress): EngineCheck {
  const place = placeOf(engine)
  const code = String(headers['x-clickhouse-exception-code'] ?? '')
  if (status === 401 || status === 403 || authenticationCodes.includes(code)) {
    return { failure: 'authentication', reason: `the engine at ${place} refused the user name or the password` }
  }
  if (/^\d{1,6}$/.test(code)) {
    const reason = `the engine at ${place} ${meaningOf(Number(code))} (its error ${code})`
    return { failure: 'engine error', reason }
  }
  const version = body.toString('latin1').trim()
  if (status === 200 && /^\d{1,5}(?:\.[0-9A-Za-z_-]{1,24}){1,6}$/.test(version)) return { version }
  return {
    failure: 'not an engine',
    reason: `what answers at ${place} is not ClickHouse over HTTP (it answered with status ${status})`,
  }
}

const denialRemedies: Partial<Record<Denial, string>> = {
  loopback: `; ${howToAllowLoopback}`,
  plaintext: '; use https in endpoint.url, or its operator can allow that with PENSTOCK_ALLOW_PLAINTEXT=true',
}

/** What went wrong on the way to the engine. */
export function describeFailure(
  { failure, denial, tls }: EgressError,
  engine: EngineAddress,
): { failure: EngineFailure; reason: string } {
  const place = placeOf(engine)
  switch (tls === 'silent' ? 'timed out' : failure) {
    case 'denied':
      return {
        failure: 'denied',
        reason: `${place} ${denialReasons[denial!]}${denialRemedies[denial!] ?? ''}`,
      }
    case 'unresolved':
      return { failure: 'unreachable', reason: `the host name ${engine.host} does not resolve` }
    case 'refused':
      return { failure: 'refused', reason: `nothing accepts connections at ${place}` }
    case 'timed out':
      return { failure: 'timed out', reason: `${place} did not answer in time` }
    case 'tls':
      return {
        failure: 'unreachable',
        reason: `no TLS connection with ${place}: it does not speak TLS, or its certificate is not trusted for ${engine.host}`,
      }
    case 'broken':
      return { failure: 'not an engine', reason: `what answers at ${place} is not ClickHouse over HTTP` }
    default:
      return { failure: 'unreachable', reason: `${place} cannot be reached` }
  }
}

/** The engine as the user named it. */
export function placeOf({ host, port }: EngineAddress): string {
  return `${hostInUrl(host)}:${port}`
}

/** A header holds bytes; ClickHouse reads them as UTF-8. */
export function asHeader(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
