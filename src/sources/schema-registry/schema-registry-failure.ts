// Failures of a schema registry.
import type { EgressError } from '../../lib/egress.ts'
import { egressFailure } from '../failure.ts'
import { type FailureCode, ProbeFailure } from '../source.ts'
import { errorCodeOf } from './schema-answer.ts'

type Field = 'schemaRegistry.url' | 'schemaRegistry.credentials' | 'schemaRegistry.caCertificate'

function failure(code: FailureCode, reason: string, remedy: string, field: Field = 'schemaRegistry.url'): ProbeFailure {
  return new ProbeFailure({ step: 'decode', code, reason, remedy, field })
}

/** Creates the failures of one registry. */
export interface RegistryFailures {
  unreached(error: EgressError): ProbeFailure
  /** `what` continues with `, which the schema registry does not have`. */
  refused(status: number, body: Buffer, what: string): ProbeFailure
  notARegistry(): ProbeFailure
  tooManyReferences(id: number): ProbeFailure
  unreadableAuthority(): ProbeFailure
  passwordInTheClear(): ProbeFailure
}

/** `url`: without credentials and parameters. */
export function registryFailures(url: string, hasCredentials: boolean): RegistryFailures {
  const registry = `the schema registry at ${url}`
  const notARegistry = (): ProbeFailure =>
    failure('protocol_mismatch', `${registry} does not answer as a schema registry does`, 'check the url and its path')
  return {
    unreached: (error) => unreached(error, registry),
    refused(status, body, what) {
      if (status === 401) return credentialsRefused(registry, hasCredentials)
      if (status === 403) {
        const reason = `${what}, which the user of ${registry} may not read`
        return failure('permission_missing', reason, 'allow the user to read schemas', 'schemaRegistry.credentials')
      }
      const errorCode = errorCodeOf(body)
      if (status === 404 && errorCode !== undefined && errorCode > 40_400 && errorCode < 40_500) {
        const remedy = 'check that the url is of the registry that the producers use'
        return failure('not_found', `${what}, which the schema registry does not have`, remedy)
      }
      if (status === 429) return failure('source_failed', `${registry} has too many requests`, 'try again later')
      if (status >= 500) {
        return failure('source_failed', `${registry} answers with status ${status}`, 'look at the log of the registry')
      }
      if (status >= 300 && status < 400) {
        const remedy = 'use the url that it redirects to'
        return failure('protocol_mismatch', `${registry} answers with a redirect, which is not followed`, remedy)
      }
      return notARegistry()
    },
    notARegistry,
    tooManyReferences(id) {
      const reason = `schema ${id} refers to more schemas than can be loaded from ${registry}`
      return failure('source_failed', reason, 'use a schema with fewer references')
    },
    unreadableAuthority() {
      const reason = `the caCertificate for ${registry} holds no certificate that can be read`
      const remedy = 'send the certificate of the authority as PEM'
      return failure('certificate_untrusted', reason, remedy, 'schemaRegistry.caCertificate')
    },
    passwordInTheClear() {
      const reason = `${registry} has an http url, so that its password would cross the network in the clear`
      const remedy = 'use an https url, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true'
      return failure('tls_refused', reason, remedy)
    },
  }
}

function unreached(error: EgressError, registry: string): ProbeFailure {
  if (error.tls === 'client refused') {
    const reason = `${registry} asks for a client certificate, which Penstock does not have for a schema registry`
    return failure('tls_refused', reason, 'have the registry accept a user name and a password instead')
  }
  if (error.failure === 'broken') {
    const reason = `${registry} broke its answer off, or answers with more than 1 MiB`
    return failure('protocol_mismatch', reason, 'check that this is the right port, and that it speaks HTTP there')
  }
  const isUntrusted = error.tls === 'untrusted'
  const { code, reason, remedy } = egressFailure(error, registry, '')
  return failure(code, reason, remedy, isUntrusted ? 'schemaRegistry.caCertificate' : 'schemaRegistry.url')
}

function credentialsRefused(registry: string, hasCredentials: boolean): ProbeFailure {
  const reason = hasCredentials
    ? `${registry} does not accept the user name and password`
    : `${registry} asks for a user name and a password`
  const remedy = hasCredentials ? 'check the credentials of the schema registry' : 'send credentials for it'
  return failure('credentials_refused', reason, remedy, 'schemaRegistry.credentials')
}
