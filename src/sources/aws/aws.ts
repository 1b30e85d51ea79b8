// Credentials of a source at AWS: an access key, an assumed role that is renewed, or none.

import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { awsRequestHandler } from './aws-http.ts'
import type { AwsIdentity } from './aws-role.ts'

export type { AwsIdentity } from './aws-role.ts'

/** Returns credentials that are valid for some minutes at least. Rejects with a ProbeFailure. */
export type AwsCredentials = () => Promise<AwsIdentity>

export interface AwsAccess {
  /** Undefined: unsigned requests, for public data. */
  authentication: 'IAM_USER' | 'IAM_ROLE' | undefined
  /** For IAM_USER: `accessKeyId` and `secretKey`. */
  accessKey: Record<string, string> | undefined
  /** The source field that the access key was sent in. */
  accessKeyField?: string
  /** For IAM_ROLE. */
  iamRole: string | undefined
  /** Region of the STS endpoint. */
  region: string
  /** Part of the session name in CloudTrail, after `penstock-`. */
  sessionName: string
}

/** Credentials are renewed this long before they expire: a request must not outlive them. */
const earlyMs = 5 * 60_000

/**
 * Undefined without authentication. The caller must then keep the SDK client from signing: a client without credentials uses the
 * operator's, and would read with the operator's permissions.
 */
export function awsCredentials(
  access: AwsAccess & { authentication: 'IAM_USER' | 'IAM_ROLE' },
  context: SourceContext,
  connectOptions: SourceAccess,
): AwsCredentials
export function awsCredentials(
  access: AwsAccess,
  context: SourceContext,
  connectOptions: SourceAccess,
): AwsCredentials | undefined
export function awsCredentials(
  access: AwsAccess,
  context: SourceContext,
  connectOptions: SourceAccess,
): AwsCredentials | undefined {
  const { authentication, iamRole } = access
  if (authentication === undefined) return undefined
  if (authentication === 'IAM_USER') return async () => identityOf(access)
  return cached(async () => {
    if (!iamRole) throw incomplete('iamRole', 'no role is given', 'send the ARN of the role as iamRole')
    const handler = awsRequestHandler(connectOptions, context)
    // Loaded on demand: most sources use an access key.
    const { assumeRole } = await import('./aws-role.ts')
    return assumeRole({ ...access, iamRole }, context, handler, connectOptions.signal)
  })
}

function identityOf({ accessKey, accessKeyField = 'accessKey' }: AwsAccess): AwsIdentity {
  const { accessKeyId, secretKey } = accessKey ?? {}
  if (accessKeyId && secretKey) return { accessKeyId, secretAccessKey: secretKey }
  throw incomplete(accessKeyField, 'the access key has no id or no secret', 'send accessKeyId and secretKey')
}

function incomplete(field: string, reason: string, remedy: string): ProbeFailure {
  return new ProbeFailure({ step: 'authenticate', code: 'not_set_up', reason, remedy, field })
}

/** Caches credentials: one request for concurrent callers, and a new one shortly before they expire or after a failure. */
function cached(load: () => Promise<AwsIdentity>): AwsCredentials {
  let known: Promise<AwsIdentity> | undefined
  const renew = (): Promise<AwsIdentity> => {
    const loading = load()
    known = loading
    loading.catch(() => {
      if (known === loading) known = undefined
    })
    return loading
  }
  return async () => {
    const loading = known ?? renew()
    const { expiration } = await loading
    if (!expiration || expiration.getTime() - Date.now() > earlyMs) return loading
    return known === loading ? renew() : (known ?? renew())
  }
}
