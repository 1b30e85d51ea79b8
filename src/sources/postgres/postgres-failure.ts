// Converts PostgreSQL errors to ProbeFailures, by SQLSTATE. Messages of the server are never shown.
import pg from 'pg'
import { EgressError } from '../../lib/egress.ts'
import { TlsError } from '../../lib/egress-tls.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { egressFailure, transientFailures } from '../failure.ts'
import { type FailureCode, type FailureDetails, ProbeFailure } from '../source.ts'
import { ErrorAtStart, NotPostgres, OtherSignIn, PasswordKept, TooMuch } from './postgres-wire.ts'

/** The server has no TLS and the operator requires it. */
export class PlaintextOnly extends Error {
  constructor() {
    super('the server has no TLS')
    this.name = 'PlaintextOnly'
  }
}

/** User name or password is missing. */
export class LoginMissing extends Error {
  constructor() {
    super('the login is not complete')
    this.name = 'LoginMissing'
  }
}

/** The user may not run the SET commands of the session. */
export class SettingRefused extends Error {
  constructor() {
    super('a setting was refused')
    this.name = 'SettingRefused'
  }
}

export interface FailureContext {
  /** Host and port. */
  address: string
  database: string
  step: ProbeStep
  isAborted: boolean
  /** A replication connection. */
  isReplication?: boolean
}

type FailureText = Omit<FailureDetails, 'step'> & { step?: ProbeStep }

/** The ProbeFailure for an error; undefined when the error is unknown. */
export function postgresFailure(error: unknown, at: FailureContext): ProbeFailure | undefined {
  if (error instanceof ProbeFailure) return error
  const text = failureTextFor(error, at)
  if (text instanceof ProbeFailure || text === undefined) return text
  return new ProbeFailure({ step: at.step, ...text })
}

function failureTextFor(error: unknown, at: FailureContext): FailureText | ProbeFailure | undefined {
  const { address, isAborted } = at
  if (isAborted) {
    return {
      code: 'timed_out',
      reason: `${address} did not answer in time`,
      remedy: 'check host, port, firewalls and the load of the server',
      field: 'host',
    }
  }
  if (error instanceof EgressError) return egressFailure(error, address, 'host')
  if (error instanceof TlsError) return tlsFailure(error, address)
  if (error instanceof PlaintextOnly) {
    return {
      code: 'tls_refused',
      reason: `${address} does not offer TLS`,
      remedy: 'turn on ssl in the server, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true',
      field: 'host',
    }
  }
  if (error instanceof NotPostgres) return notPostgres(address)
  if (error instanceof LoginMissing) {
    return {
      code: 'credentials_refused',
      reason: `${address} needs a user name and a password`,
      remedy: 'send both as credentials',
      field: 'credentials',
    }
  }
  if (error instanceof SettingRefused) {
    return {
      code: 'permission_missing',
      reason: `${address} does not let the user begin a read-only transaction with settings of its own`,
      remedy: 'let the user run SET, also through a proxy that may stand before the server',
      field: 'credentials',
    }
  }
  if (error instanceof TooMuch) {
    return {
      code: 'protocol_mismatch',
      reason: `${address} sends more than a probe reads`,
      remedy: 'check host and port, or map fewer tables',
      field: 'host',
    }
  }
  if (error instanceof OtherSignIn) {
    return {
      code: 'not_set_up',
      reason: `${address} asks for something else than a password`,
      remedy: 'have pg_hba.conf ask for scram-sha-256 when this user connects from the address of Penstock',
      field: 'credentials',
    }
  }
  if (error instanceof PasswordKept) {
    return {
      code: 'credentials_refused',
      reason: `${address} asks for the password in a way that reveals it, and the stored password was sent for another host or port`,
      remedy: 'send credentials.password again, or have pg_hba.conf ask for scram-sha-256',
      field: 'credentials',
    }
  }
  if (error instanceof ErrorAtStart) {
    return {
      code: 'source_failed',
      reason: `${address} answers with an error`,
      remedy: 'look at the log of the server',
    }
  }
  return error instanceof Error ? serverFailure(error, at) : undefined
}

function notPostgres(address: string): FailureText {
  return {
    code: 'protocol_mismatch',
    reason: `${address} does not answer as PostgreSQL does`,
    remedy: 'check host and port',
    field: 'host',
  }
}

function tlsFailure(error: TlsError, address: string): ProbeFailure {
  const failure = egressFailure(new EgressError('tls', { tls: error.failure }), address, 'host')
  if (failure.code !== 'certificate_untrusted') return failure
  const { step, code, reason } = failure
  const remedy =
    'use a certificate that everyone trusts, or the operator of Penstock can add the authority that signed it to PENSTOCK_CA_CERTIFICATES'
  return new ProbeFailure({ step, code, reason, remedy, field: 'host' })
}

function serverFailure(error: Error, at: FailureContext): FailureText | undefined {
  const { address, step } = at
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return sqlStateFailure(code, at)
  // The second is from `pg`, for an unexpected message.
  if (error instanceof pg.DatabaseError || error.message.startsWith('Received unexpected ')) return notPostgres(address)
  if (error.message.startsWith('SASL')) {
    return {
      code: 'protocol_mismatch',
      reason: `${address} does not sign in with SCRAM-SHA-256 as PostgreSQL does`,
      remedy: 'check host and port, and that the password of the user is stored with scram-sha-256',
      field: 'credentials',
    }
  }
  // From `pg`, for a closed connection.
  if (!error.message.startsWith('Connection terminated')) return undefined
  const remedy = 'look at the log of the server'
  return step === 'authenticate'
    ? {
        code: 'protocol_mismatch',
        reason: `${address} broke the connection off`,
        remedy: 'check that this is the right port',
      }
    : { code: 'source_failed', reason: `${address} broke the connection off`, remedy }
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
  return passingCodes.includes(code) && !(error instanceof PlaintextOnly)
}

/** See Appendix A of the PostgreSQL manual. */
function sqlStateFailure(state: string, { address, database, step, isReplication }: FailureContext): FailureText {
  const named = JSON.stringify(database)
  switch (state) {
    case '28P01':
      return {
        code: 'credentials_refused',
        reason: `${address} refuses the user name or the password`,
        remedy: 'check username and password',
        field: 'credentials',
      }
    case '28000':
      return {
        code: 'credentials_refused',
        reason: `${address} does not let this user in from the address of Penstock, whatever the password`,
        remedy:
          'add a line for the user, the database and that address to pg_hba.conf, and check that the role exists and has LOGIN',
        field: 'credentials',
      }
    case '3D000':
      return {
        step: 'describe',
        code: 'not_found',
        reason: `${address} has no database ${named}`,
        remedy: 'check the name of the database, also for capitals',
        field: 'database',
      }
    case '55000':
      if (step !== 'authenticate') break
      return {
        step: 'describe',
        code: 'not_set_up',
        reason: `the database ${named} at ${address} accepts no connections`,
        remedy: 'name another database, or allow connections to this one',
        field: 'database',
      }
    case '42501':
      if (step === 'authenticate' && isReplication) {
        return {
          step: 'describe',
          code: 'permission_missing',
          reason: `the user may not replicate, or may not connect to the database ${named}`,
          remedy:
            'have an administrator run ALTER ROLE … REPLICATION for the user (on Amazon RDS: GRANT rds_replication TO it), and GRANT CONNECT ON DATABASE … TO it',
          field: 'credentials',
        }
      }
      if (step === 'authenticate') {
        return {
          step: 'describe',
          code: 'permission_missing',
          reason: `the user may not connect to the database ${named}`,
          remedy: 'have its owner run GRANT CONNECT ON DATABASE … TO the user',
          field: 'database',
        }
      }
      return {
        code: 'permission_missing',
        reason: `the user may not read everything that is needed in ${named}`,
        remedy: 'grant SELECT on the tables to the user',
        field: 'credentials',
      }
    case '53300':
      return {
        code: 'source_failed',
        reason: `${address} has no connection left for this user`,
        remedy: 'close connections, or raise max_connections or the limit of the role or the database',
      }
    case '53400':
      return {
        code: 'source_failed',
        reason: `${address} has no free replication slot`,
        remedy:
          'drop a slot that nobody uses with pg_drop_replication_slot, or raise max_replication_slots and restart the server',
      }
    case '55006':
      return {
        code: 'source_failed',
        reason: `the replication slot at ${address} is in use by another connection`,
        remedy: 'end the other consumer of the slot, if it is not the last connection of this pipe',
      }
    case '57P01':
    case '57P02':
      return {
        code: 'source_failed',
        reason: `${address} ended the connection, because it is stopped or an administrator ended it`,
        remedy: 'wait until it accepts connections again',
      }
    case '57P03':
      return {
        code: 'source_failed',
        reason: `${address} is starting, stopping or recovering`,
        remedy: 'try again when it accepts connections',
      }
    case '57014':
      return {
        code: 'timed_out',
        reason: `${address} did not finish a query in time`,
        remedy: 'check the load of the server, and try again',
      }
    case '55P03':
      return {
        code: 'source_failed',
        reason: `a table at ${address} is locked by somebody else`,
        remedy: 'wait until the lock is gone, and try again',
      }
  }
  const className = classNames[state.slice(0, 2)] ?? 'another error'
  return {
    code: 'source_failed',
    reason: `${address} answers with SQLSTATE ${state} (${className})`,
    remedy: 'look for its message in the log of the server',
  }
}

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
