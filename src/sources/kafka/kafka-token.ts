// OAUTHBEARER token for an IAM login at Amazon MSK. The AWS code is loaded only when a source needs it.

import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { KafkaAccess } from './kafka-access.ts'
import { addressText, type BrokerAddress } from './kafka-failure.ts'

/** Rejects with a ProbeFailure. */
export async function loadMskToken(access: KafkaAccess, address: BrokerAddress): Promise<string> {
  const [{ awsCredentials }, { mskToken, regionOfBroker }] = await Promise.all([
    import('../aws/aws.ts'),
    import('./msk-token.ts'),
  ])
  const { config, secrets, context } = access
  const { authentication, iamRole } = config
  if (access.region === undefined) {
    access.region = regionOfBroker(address.host)
    if (access.region === undefined) throw regionUnknown(address)
  }
  const { region } = access
  const isRole = authentication === 'IAM_ROLE'
  access.awsCredentials ??= awsCredentials(
    {
      authentication: isRole ? 'IAM_ROLE' : 'IAM_USER',
      accessKey: secrets.credentials,
      accessKeyField: 'credentials',
      iamRole,
      region,
      sessionName: 'kafka',
    },
    context,
    access,
  )
  return mskToken(await access.awsCredentials!(), region)
}

function regionUnknown(address: BrokerAddress): ProbeFailure {
  return new ProbeFailure({
    step: 'authenticate',
    code: 'not_set_up',
    reason: `the AWS region is not part of the host name of ${addressText(address)}, and a login with IAM needs it`,
    remedy: 'use the host names that Amazon MSK gives to the brokers',
    field: 'brokers',
  })
}
