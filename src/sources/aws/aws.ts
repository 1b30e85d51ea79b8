// Who a source is at AWS: a user with an access key, a role that is assumed and renewed, or nobody.

import { ProbeFailure, type SourceContext, type SourceAccess } from '../source.ts'
import { awsRequestHandler } from './aws-http.ts'
import type { AwsIdentity } from './aws-role.ts'

export type { AwsIdentity } from './aws-role.ts'

/** Gives credentials that are good for some minutes at least. Rejects with a ProbeFailure. */
export type AwsCredentials = () => Promise<AwsIdentity>

export interface AwsAccess {
  /** Undefined: nobody, for what is public. */
  authentication: 'IAM_USER' | 'IAM_ROLE' | undefined
  /** Of IAM_USER: `accessKeyId` and `secretKey`. */
  accessKey: Record<string, string> | undefined
  /** The field of the source that the access key came in. */
  accessKeyField?: string
  /** Of IAM_ROLE. */
  iamRole: string | undefined
  /** Where the role is assumed. */
  region: string
  /** What the logs of AWS call us, after `penstock-`. */
  sessionName: string
}

/** Credentials are asked for anew this long before they end: a request must not outlive what it is signed with. */
const earlyMs = 5 * 60_000

/**
 * Undefined for nobody. Whoever gets that must keep the client of AWS from signing at all: a client without credentials looks
 * for the operator's, and would read with them what a user asks for.
 */
export function awsCredentials(
  access: AwsAccess & { authentication: 'IAM_USER' | 'IAM_ROLE' },
  context: SourceContext,
  surroundings: SourceAccess,
): AwsCredentials
export function awsCredentials(
  access: AwsAccess,
  context: SourceContext,
  surroundings: SourceAccess,
): AwsCredentials | undefined
export function awsCredentials(
  access: AwsAccess,
  context: SourceContext,
  surroundings: SourceAccess,
): AwsCredentials | undefined {
  const { authentication, iamRole } = access
  if (authentication === undefined) return undefined
  if (authentication === 'IAM_USER') return async () => identityOf(access)
  return remember(async () => {
    if (!iamRole) throw incomplete('iamRole', 'no role is given', 'send the ARN of the role as iamRole')
    const handler = awsRequestHandler(surroundings, context)
    // Loaded by who needs it: most come with a key of a user.
    const { assumeRole } = await import('./aws-role.ts')
    return assumeRole({ ...access, iamRole }, context, handler, surroundings.signal)
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

/** Asks once for all who want to know at the same time, and again when the answer is about to end or was a failure. */
function remember(ask: () => Promise<AwsIdentity>): AwsCredentials {
  let known: Promise<AwsIdentity> | undefined
  const renew = (): Promise<AwsIdentity> => {
    const asked = ask()
    known = asked
    asked.catch(() => {
      if (known === asked) known = undefined
    })
    return asked
  }
  return async () => {
    const asked = known ?? renew()
    const { expiration } = await asked
    if (!expiration || expiration.getTime() - Date.now() > earlyMs) return asked
    return known === asked ? renew() : (known ?? renew())
  }
}
