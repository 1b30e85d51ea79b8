// Converts PostgreSQL errors to ProbeFailures, by SQLSTATE. Messages of the server are never shown.
import { EgressError } from '../../lib/egress.ts'
import { TlsError } from '../../lib/egress-tls.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { type FailureCode, ProbeFailure, transientFailures } from '../../source-shapes/source-failure.ts'
import { egressFailure, failureTable, withoutOwnAuthority } from '../failure.ts'
import { SessionError } from './postgres-messages.ts'

export interface FailureContext {
  /** Host and port. */
  address: string
  database: string
  step: ProbeStep
  isAborted: boolean
  /** A replication connection. */
  isReplication?: boolean
}

/** Failures without an SQLSTATE. */
const sessionFailure = failureTable('{step}', undefined, {
  aborted: [
    'timed_out',
    '{address} did not answer in time',
    'check host, port, firewalls and the load of the server',
    'host',
  ],
  'no tls': [
    'tls_refused',
    '{address} does not offer TLS',
    'turn on ssl in the server, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true',
    'host',
  ],
  'not postgres': ['protocol_mismatch', '{address} does not answer as PostgreSQL does', 'check host and port', 'host'],
  'no login': [
    'credentials_refused',
    '{address} needs a user name and a password',
    'send both as credentials',
    'credentials',
  ],
  'setting refused': [
    'permission_missing',
    '{address} does not let the user begin a read-only transaction with settings of its own',
    'let the user run SET, also through a proxy that may stand before the server',
    'credentials',
  ],
  'too much': [
    'protocol_mismatch',
    '{address} sends more than a probe reads',
    'check host and port, or map fewer tables',
    'host',
  ],
  'other sign-in': [
    'not_set_up',
    '{address} asks for something else than a password',
    'have pg_hba.conf ask for scram-sha-256 when this user connects from the address of Penstock',
    'credentials',
  ],
  'password kept': [
    'credentials_refused',
    '{address} asks for the password in a way that reveals it, and the stored password was sent for another host or port',
    'send credentials.password again, or have pg_hba.conf ask for scram-sha-256',
    'credentials',
  ],
  'error at start': ['source_failed', '{address} answers with an error', 'look at the log of the server'],
  'other scram': [
    'protocol_mismatch',
    '{address} does not sign in with SCRAM-SHA-256 as PostgreSQL does',
    'check host and port, and that the password of the user is stored with scram-sha-256',
    'credentials',
  ],
  'broken sign-in': ['protocol_mismatch', '{address} broke the connection off', 'check that this is the right port'],
  broken: ['source_failed', '{address} broke the connection off', 'look at the log of the server'],
})

/** By SQLSTATE, see Appendix A of the PostgreSQL manual. */
const stateRows = {
  '28P01': [
    'credentials_refused',
    '{address} refuses the user name or the password',
    'check username and password',
    'credentials',
  ],
  '28000': [
    'credentials_refused',
    '{address} does not let this user in from the address of Penstock, whatever the password',
    'add a line for the user, the database and that address to pg_hba.conf, and check that the role exists and has LOGIN',
    'credentials',
  ],
  '3D000': [
    'not_found',
    '{address} has no database {database}',
    'check the name of the database, also for capitals',
    'database',
    'describe',
  ],
  '55000 authenticate': [
    'not_set_up',
    'the database {database} at {address} accepts no connections',
    'name another database, or allow connections to this one',
    'database',
    'describe',
  ],
  '42501 replication': [
    'permission_missing',
    'the user may not replicate, or may not connect to the database {database}',
    'have an administrator run ALTER ROLE … REPLICATION for the user (on Amazon RDS: GRANT rds_replication TO it), and GRANT CONNECT ON DATABASE … TO it',
    'credentials',
    'describe',
  ],
  '42501 authenticate': [
    'permission_missing',
    'the user may not connect to the database {database}',
    'have its owner run GRANT CONNECT ON DATABASE … TO the user',
    'database',
    'describe',
  ],
  '42501': [
    'permission_missing',
    'the user may not read everything that is needed in {database}',
    'grant SELECT on the tables to the user',
    'credentials',
  ],
  '53300': [
    'source_failed',
    '{address} has no connection left for this user',
    'close connections, or raise max_connections or the limit of the role or the database',
  ],
  '53400': [
    'source_failed',
    '{address} has no free replication slot',
    'drop a slot that nobody uses with pg_drop_replication_slot, or raise max_replication_slots and restart the server',
  ],
  '55006': [
    'source_failed',
    'the replication slot at {address} is in use by another connection',
    'end the other consumer of the slot, if it is not the last connection of this pipe',
  ],
  '57P01': [
    'source_failed',
    '{address} ended the connection, because it is stopped or an administrator ended it',
    'wait until it accepts connections again',
  ],
  '57P03': ['source_failed', '{address} is starting, stopping or recovering', 'try again when it accepts connections'],
  '57014': ['timed_out', '{address} did not finish a query in time', 'check the load of the server, and try again'],
  '55P03': [
    'source_failed',
    'a table at {address} is locked by somebody else',
    'wait until the lock is gone, and try again',
  ],
  other: [
    'source_failed',
    '{address} answers with SQLSTATE {state} ({className})',
    'look for its message in the log of the server',
  ],
} as const
const stateFailure = failureTable('{step}', undefined, stateRows)

/** Error classes as named in the PostgreSQL manual, for errors without a text of their own. */
const classNames: Record<string, string> = {
  '08': 'connection exception',
  '0A': 'feature not supported',
  '22': 'data exception',
  '25': 'invalid transaction state',
  '28': 'invalid authorization',
  '40': 'transaction rollback',
  '42': 'object that does not exist, or access rule violation',
  '53': 'insufficient resources',
  '54': 'program limit exceeded',
  '55': 'object not in prerequisite state',
  '57': 'operator intervention',
  '58': 'system error, such as a file of the server that is missing',
  XX: 'internal error of PostgreSQL',
}

/** The ProbeFailure for an error; undefined when the error is unknown. */
export function postgresFailure(error: unknown, at: FailureContext): ProbeFailure | undefined {
  const { address, step, isAborted } = at
  if (error instanceof ProbeFailure) return error
  if (isAborted) return sessionFailure('aborted', { address, step })
  if (error instanceof EgressError) return egressFailure(error, address, 'host')
  if (error instanceof TlsError) {
    return withoutOwnAuthority(egressFailure(new EgressError('tls', { tls: error.failure }), address, 'host'))
  }
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return failureOfState(code, at)
  const key = sessionKey(error, step)
  return key && sessionFailure(key, { address, step })
}

function sessionKey(error: Error, step: ProbeStep): Parameters<typeof sessionFailure>[0] | undefined {
  if (!(error instanceof SessionError)) return undefined
  return error.failure === 'broken' && step === 'authenticate' ? 'broken sign-in' : error.failure
}

function failureOfState(state: string, { address, database, step, isReplication }: FailureContext): ProbeFailure {
  const name = state === '57P02' ? '57P01' : state
  // The first row that exists applies.
  const candidates = [
    step === 'authenticate' && isReplication && `${name} replication`,
    `${name} ${step}`,
    name,
    'other',
  ]
  const key = candidates.find((each): each is keyof typeof stateRows => Object.hasOwn(stateRows, each || ''))!
  const className = classNames[state.slice(0, 2)] ?? 'another error'
  return stateFailure(key, { address, step, database: JSON.stringify(database), state, className })
}

/**
 * Temporary errors: broken connections, a server that stops or lacks resources, a lock or slot that another connection still holds, a
 * snapshot that ended with the connection that exported it.
 */
export function isPassingState(state: string): boolean {
  return /^(?:08|40|53|57|58)/.test(state) || ['55006', '55P03', '22023'].includes(state)
}

/** Temporary failures, and those for which only waiting helps. */
const passingCodes: readonly FailureCode[] = [...transientFailures, 'tls_refused']

/** `failure` is the ProbeFailure of `error`. */
export function isPassingFailure({ code }: ProbeFailure, error: unknown): boolean {
  return passingCodes.includes(code) && !(error instanceof SessionError && error.failure === 'no tls')
}
