// Assumes an IAM role of a user's account. The role trusts the operator's AWS identity for one organization: its id is sent as
// external id, so that other organizations of this Penstock cannot use the role. The operator's identity comes from the SDK's
// default provider chain, which does not use the egress.
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts'
import type { NodeHttpHandler } from '@smithy/node-http-handler'
import { type FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceContext } from '../source.ts'
import { errorNames, readAwsError } from './aws-error.ts'
import { awsFailure } from './aws-failure.ts'
import { awsClientDefaults, awsEndpoint } from './aws-http.ts'

const durationSeconds = 3_600

export interface AwsIdentity {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  expiration?: Date
}

export interface RoleAccess {
  iamRole: string
  region: string
  /** Part of the session name in CloudTrail, after `penstock-`. */
  sessionName: string
}

/** Rejects with a ProbeFailure. Destroys the handler. */
export async function assumeRole(
  access: RoleAccess,
  context: SourceContext,
  requestHandler: NodeHttpHandler,
  signal: AbortSignal,
): Promise<AwsIdentity> {
  const { iamRole, region, sessionName } = access
  const client = new STSClient({
    ...awsClientDefaults,
    region,
    endpoint: context.awsEndpoints.sts ?? awsEndpoint('sts', region),
    requestHandler,
  })
  const command = new AssumeRoleCommand({
    RoleArn: iamRole,
    RoleSessionName: `penstock-${sessionName}`.replaceAll(/[^\w+=,.@-]/g, '-').slice(0, 64),
    ExternalId: context.organizationId,
    DurationSeconds: durationSeconds,
  })
  try {
    // The SDK's credential provider chain ignores the signal.
    const { Credentials: given } = await untilAborted(client.send(command, { abortSignal: signal }), signal)
    const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = given ?? {}
    const { SessionToken: sessionToken, Expiration: expiration } = given ?? {}
    if (!accessKeyId || !secretAccessKey || !sessionToken || !expiration) throw new Error('not a response of STS')
    return { accessKeyId, secretAccessKey, sessionToken, expiration }
  } catch (error) {
    throw roleFailure(error, access, context)
  } finally {
    client.destroy()
  }
}

async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  promise.catch(() => undefined)
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(new DOMException('aborted', 'AbortError'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const { unknownKey, signature, expired, unsigned, denied } = errorNames
const operatorRefused = [unknownKey, signature, expired, unsigned].flat()

function roleFailure(error: unknown, { iamRole, region }: RoleAccess, { organizationId }: SourceContext): ProbeFailure {
  const failed = (code: FailureCode, reason: string, remedy: string): ProbeFailure =>
    new ProbeFailure({ step: 'authenticate', code, reason, remedy, field: 'iamRole' })
  const { name } = readAwsError(error)
  if (name === 'CredentialsProviderError') {
    return failed(
      'not_set_up',
      'this Penstock has no AWS identity of its own that could assume a role',
      'have its operator give it AWS credentials, or use an access key with authentication IAM_USER',
    )
  }
  if (denied.includes(name)) {
    return failed(
      'permission_missing',
      `the role "${iamRole}" does not exist, or does not let this Penstock assume it`,
      `have the role trust the AWS identity of this Penstock with the external id ${organizationId}`,
    )
  }
  if (name === 'ValidationError' || name === 'ValidationException') {
    return failed(
      'not_found',
      `"${iamRole}" is not the ARN of a role`,
      'send an ARN such as arn:aws:iam::123456789012:role/name',
    )
  }
  if (name === 'RegionDisabledException') {
    return failed('not_set_up', `roles cannot be assumed in ${region}`, `activate STS in ${region} for the account`)
  }
  if (operatorRefused.includes(name)) {
    return failed(
      'not_set_up',
      'AWS refuses the AWS identity of this Penstock itself',
      'have its operator check the AWS credentials it was given',
    )
  }
  // All other failures mean for the user: the role could not be assumed.
  const { code, reason, remedy } = awsFailure(error, {
    step: 'authenticate',
    service: 'STS',
    endpoint: `the STS of ${region}`,
    resource: `the role "${iamRole}"`,
    action: 'sts:AssumeRole',
    fields: { endpoint: 'iamRole', credentials: 'iamRole', resource: 'iamRole', region: 'region' },
  })
  return failed(code, reason, remedy)
}
