// SASL login at a broker: PLAIN, SCRAM or OAUTHBEARER, as the source configures.
import {
  type Connection,
  ResponseError,
  saslAuthenticateV0,
  saslAuthenticateV1,
  saslAuthenticateV2,
  saslHandshakeV1,
  saslOAuthBearer,
  saslPlain,
  saslScramSha,
} from '@platformatic/kafka'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { knownFailure } from '../failure.ts'
import type { BrokerConnection, KafkaAccess } from './kafka-access.ts'
import { addressText, type BrokerAddress, kafkaErrors, loginBroken } from './kafka-failure.ts'
import { loadMskToken } from './kafka-token.ts'
import { type Wire, WireError } from './kafka-wire.ts'

type Mechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER'
type Authenticate = typeof saslAuthenticateV2.api
type Answer = Awaited<ReturnType<Authenticate['async']>>

interface Login {
  mechanism: Mechanism
  exchange(connection: Connection, authenticate: Authenticate): Promise<Answer>
}

const authenticateApis = [saslAuthenticateV2.api, saslAuthenticateV1.api, saslAuthenticateV0.api] as const

/** Returns the session lifetime in milliseconds; 0: unlimited. Rejects with a ProbeFailure. */
export async function logIn(
  wire: Wire,
  access: KafkaAccess,
  address: BrokerAddress,
  choose: BrokerConnection['choose'],
): Promise<number> {
  const { mechanism, exchange } = await loadLogin(access, address)
  await agreeOn(mechanism, wire, address)
  const refused = refusal(access, address)
  let answer: Answer
  try {
    answer = await wire.call((connection) => exchange(connection, withShortAnswers(choose(authenticateApis))))
  } catch (error) {
    if (error instanceof WireError) throw loginBroken(error, address, 'loginClosed')
    const known = knownFailure(error, addressText(address), 'brokers')
    throw known ?? (isAnswer(error) ? refused : brokerUnproven(address))
  }
  // OAUTHBEARER reports a rejected token in the bytes of a response without an error code.
  const isRefused = answer.errorCode !== 0 || (mechanism === 'OAUTHBEARER' && answer.authBytes.length > 0)
  if (isRefused) throw refused
  return Number(answer.sessionLifetimeMs)
}

/** A valid SASL response is short. */
const mostLoginBytes = 4 * 1024

/** The library parses a response in quadratic time. */
function withShortAnswers(authenticate: Authenticate): Authenticate {
  const limited = ((connection, ours, callback) =>
    authenticate(connection, ours, (error, answer) => {
      // The wire catches this and ends the connection.
      if (answer && answer.authBytes.length > mostLoginBytes) throw new Error('an answer to a login is too long')
      callback?.(error, answer)
    })) as Authenticate
  return Object.assign(limited, authenticate)
}

function isAnswer(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof ResponseError
}

async function agreeOn(mechanism: Mechanism, wire: Wire, address: BrokerAddress): Promise<void> {
  const { errorCode, mechanisms = [] } = await wire
    .call((connection) => saslHandshakeV1.api.async(connection, mechanism))
    .catch((error: unknown) => {
      throw error instanceof WireError ? loginBroken(error, address, 'handshakeClosed') : error
    })
  if (errorCode === 0) return
  const known = mechanisms.filter((offered) => wellKnownMechanisms.includes(offered))
  const isOther = errorCode === kafkaErrors.unsupportedSaslMechanism && known.length > 0
  throw new ProbeFailure({
    step: 'authenticate',
    code: 'not_set_up',
    reason: isOther
      ? `${addressText(address)} does not offer ${mechanism}, but ${known.join(' and ')}`
      : `${addressText(address)} takes no login with ${mechanism}`,
    remedy: isOther
      ? `set authentication to what the broker offers, or enable ${mechanism} there`
      : 'use the port of the brokers that asks for a login',
    field: 'authentication',
  })
}

/** The names that error messages may repeat; a broker could send any text. */
const wellKnownMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'GSSAPI', 'AWS_MSK_IAM']

async function loadLogin(access: KafkaAccess, address: BrokerAddress): Promise<Login> {
  const { config, secrets } = access
  const { authentication, type } = config
  const { username = '', password = '', connectionString } = secrets.credentials ?? {}
  if (authentication === 'IAM_USER' || authentication === 'IAM_ROLE') {
    const token = await loadMskToken(access, address)
    return {
      mechanism: 'OAUTHBEARER',
      exchange: (connection, authenticate) => saslOAuthBearer.authenticate(authenticate, connection, token, {}),
    }
  }
  if (type === 'azureeventhub' && connectionString !== undefined) {
    return plainLogin('$ConnectionString', connectionString)
  }
  if (authentication === 'SCRAM-SHA-256' || authentication === 'SCRAM-SHA-512') {
    const algorithm = authentication === 'SCRAM-SHA-256' ? 'SHA-256' : 'SHA-512'
    return {
      mechanism: authentication,
      exchange: (connection, authenticate) =>
        saslScramSha.authenticate(authenticate, connection, algorithm, username, password, scramCrypto(address)),
    }
  }
  return plainLogin(username, password)
}

function plainLogin(username: string, password: string): Login {
  return {
    mechanism: 'PLAIN',
    exchange: (connection, authenticate) => saslPlain.authenticate(authenticate, connection, username, password),
  }
}

/** Kafka's default is 4,096, its limit 16,384. */
const mostIterations = 1_000_000

/** The broker chooses the iteration count; a limit bounds our CPU time. */
function scramCrypto(address: BrokerAddress): saslScramSha.ScramCryptoModule {
  return {
    ...saslScramSha.defaultCrypto,
    async hi(definition, password, salt, iterations) {
      if (iterations <= mostIterations) {
        return saslScramSha.defaultCrypto.hi(definition, password, salt, iterations)
      }
      throw new ProbeFailure({
        step: 'authenticate',
        code: 'not_set_up',
        reason: `${addressText(address)} asks for ${iterations} iterations of SCRAM`,
        remedy: `set up the user with at most ${mostIterations} iterations`,
        field: 'authentication',
      })
    },
  }
}

function refusal({ config }: KafkaAccess, address: BrokerAddress): ProbeFailure {
  const { authentication } = config
  const failed = (reason: string, remedy: string, field: string): ProbeFailure =>
    new ProbeFailure({ step: 'authenticate', code: 'credentials_refused', reason, remedy, field })
  const broker = addressText(address)
  switch (authentication) {
    case 'IAM_ROLE':
      return failed(`${broker} refused the role`, 'allow the role kafka-cluster:Connect on the cluster', 'iamRole')
    case 'IAM_USER':
      return failed(
        `${broker} refused the access key`,
        'check the access key, and that its user may do kafka-cluster:Connect on the cluster',
        'credentials',
      )
    default:
      return failed(
        `${broker} refused the user name or the password`,
        `check both, and that the user is set up for ${authentication}`,
        'credentials',
      )
  }
}

function brokerUnproven(address: BrokerAddress): ProbeFailure {
  return new ProbeFailure({
    step: 'authenticate',
    code: 'credentials_refused',
    reason: `${addressText(address)} did not prove that it knows the password, as SCRAM asks of both sides`,
    remedy: 'check that this is the right broker, and set the password of the user again',
    field: 'credentials',
  })
}
