// Failures of a schema registry.
import type { EgressError } from '../../lib/egress.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { egressFailure, failureTable } from '../failure.ts'
import { errorCodeOf } from './schema-answer.ts'

/** `registry`: such as `the schema registry at https://host`. */
export const registryFailure = failureTable('decode', 'schemaRegistry.url', {
  notARegistry: [
    'protocol_mismatch',
    '{registry} does not answer as a schema registry does',
    'check the url and its path',
  ],
  credentialsRefused: [
    'credentials_refused',
    '{registry} does not accept the user name and password',
    'check the credentials of the schema registry',
    'schemaRegistry.credentials',
  ],
  credentialsMissing: [
    'credentials_refused',
    '{registry} asks for a user name and a password',
    'send credentials for it',
    'schemaRegistry.credentials',
  ],
  denied: [
    'permission_missing',
    '{what}, which the user of {registry} may not read',
    'allow the user to read schemas',
    'schemaRegistry.credentials',
  ],
  missing: [
    'not_found',
    '{what}, which the schema registry does not have',
    'check that the url is of the registry that the producers use',
  ],
  busy: ['source_failed', '{registry} has too many requests', 'try again later'],
  failing: ['source_failed', '{registry} answers with status {status}', 'look at the log of the registry'],
  redirected: [
    'protocol_mismatch',
    '{registry} answers with a redirect, which is not followed',
    'use the url that it redirects to',
  ],
  tooManyReferences: [
    'source_failed',
    '{what} refers to more schemas than can be loaded from {registry}',
    'use a schema with fewer references',
  ],
  unreadableAuthority: [
    'certificate_untrusted',
    'the caCertificate for {registry} holds no certificate that can be read',
    'send the certificate of the authority as PEM',
    'schemaRegistry.caCertificate',
  ],
  passwordInTheClear: [
    'tls_refused',
    '{registry} has an http url, so that its password would cross the network in the clear',
    'use an https url, or the operator of Penstock can set PENSTOCK_ALLOW_PLAINTEXT=true',
  ],
  clientCertificate: [
    'tls_refused',
    '{registry} asks for a client certificate, which Penstock does not have for a schema registry',
    'have the registry accept a user name and a password instead',
  ],
  broken: [
    'protocol_mismatch',
    '{registry} broke its answer off, or answers with more than 1 MiB',
    'check that this is the right port, and that it speaks HTTP there',
  ],
})

/** The answer is an error. `what`: of the request, continued with `, which the schema registry does not have`. */
export function answerFailure(
  { status, body }: { status: number; body: Buffer },
  { hasCredentials, ...values }: { registry: string; hasCredentials: boolean; what: string },
): ProbeFailure {
  return registryFailure(meaningOf(status, body, hasCredentials), { ...values, status })
}

function meaningOf(status: number, body: Buffer, hasCredentials: boolean): Parameters<typeof registryFailure>[0] {
  if (status === 401) return hasCredentials ? 'credentialsRefused' : 'credentialsMissing'
  if (status === 403) return 'denied'
  const errorCode = status === 404 ? (errorCodeOf(body) ?? 0) : 0
  if (errorCode > 40_400 && errorCode < 40_500) return 'missing'
  if (status === 429) return 'busy'
  if (status >= 500) return 'failing'
  return status >= 300 && status < 400 ? 'redirected' : 'notARegistry'
}

export function unreachedFailure(error: EgressError, registry: string): ProbeFailure {
  if (error.tls === 'client refused') return registryFailure('clientCertificate', { registry })
  if (error.failure === 'broken') return registryFailure('broken', { registry })
  const field = error.tls === 'untrusted' ? 'schemaRegistry.caCertificate' : 'schemaRegistry.url'
  return new ProbeFailure({ ...egressFailure(error, registry, field), step: 'decode' })
}
