// Health check of a ClickHouse: asks for its version over HTTP. Answers of a foreign server are never repeated: reasons name only the
// host and port that the user gave.
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

/** The version, or the reason of the failure as a sentence for people. */
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
  return checkAnswer(answer, engine)
}

function checkAnswer({ status, headers, body }: EgressAnswer, engine: EngineAddress): EngineCheck {
  const address = addressText(engine)
  const code = String(headers['x-clickhouse-exception-code'] ?? '')
  if (status === 401 || status === 403 || authenticationCodes.includes(code)) {
    return { failure: 'authentication', reason: `the engine at ${address} refused the user name or the password` }
  }
  if (/^\d{1,6}$/.test(code)) {
    const reason = `the engine at ${address} ${meaningOf(Number(code))} (its error ${code})`
    return { failure: 'engine error', reason }
  }
  const version = body.toString('latin1').trim()
  if (status === 200 && /^\d{1,5}(?:\.[0-9A-Za-z_-]{1,24}){1,6}$/.test(version)) return { version }
  return {
    failure: 'not an engine',
    reason: `what answers at ${address} is not ClickHouse over HTTP (it answered with status ${status})`,
  }
}

const denialRemedies: Partial<Record<Denial, string>> = {
  loopback: `; ${howToAllowLoopback}`,
  plaintext: '; use https in endpoint.url, or its operator can allow that with PENSTOCK_ALLOW_PLAINTEXT=true',
}

/** Describes a connection failure. */
export function describeFailure(
  { failure, denial, tls }: EgressError,
  engine: EngineAddress,
): { failure: EngineFailure; reason: string } {
  const address = addressText(engine)
  switch (tls === 'silent' ? 'timed out' : failure) {
    case 'denied':
      return {
        failure: 'denied',
        reason: `${address} ${denialReasons[denial!]}${denialRemedies[denial!] ?? ''}`,
      }
    case 'unresolved':
      return { failure: 'unreachable', reason: `the host name ${engine.host} does not resolve` }
    case 'refused':
      return { failure: 'refused', reason: `nothing accepts connections at ${address}` }
    case 'timed out':
      return { failure: 'timed out', reason: `${address} did not answer in time` }
    case 'tls':
      return {
        failure: 'unreachable',
        reason: `no TLS connection with ${address}: it does not speak TLS, or its certificate is not trusted for ${engine.host}`,
      }
    case 'broken':
      return { failure: 'not an engine', reason: `what answers at ${address} is not ClickHouse over HTTP` }
    default:
      return { failure: 'unreachable', reason: `${address} cannot be reached` }
  }
}

/** `host:port` as the user gave it. */
export function addressText({ host, port }: EngineAddress): string {
  return `${hostInUrl(host)}:${port}`
}

/** Encodes text for an HTTP header: ClickHouse reads header bytes as UTF-8. */
export function asHeader(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
