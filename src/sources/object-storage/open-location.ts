// Opens the store of a source and its queue with the same credentials. The client of each vendor is large, so it is loaded when
// a pipe first needs it.
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import { awsCredentials } from '../aws/aws.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import type { MessageQueue } from './message-queue.ts'
import type { BucketLocation, ContainerLocation, ObjectLocation } from './object-location.ts'
import type { ObjectStore } from './object-store.ts'
import { type QueueLocation, regionOfHost } from './queue-location.ts'

export interface OpenedStore {
  store: ObjectStore
  openQueue(location: QueueLocation): Promise<MessageQueue>
}

export interface StoreParts {
  config: ObjectStorageSource
  secrets: SourceSecrets
  context: SourceContext
  options: SourceAccess
}

export function openLocation(location: ObjectLocation, parts: StoreParts): Promise<OpenedStore> {
  return location.kind === 'azure' ? openContainer(location, parts) : openBucket(location, parts)
}

async function openContainer(location: ContainerLocation, parts: StoreParts): Promise<OpenedStore> {
  const { config, context, options } = parts
  const { openAzureStore } = await import('./azure-blob-store.ts')
  return {
    store: openAzureStore(location, context, options),
    async openQueue(queue) {
      if (config.authentication === undefined) throw withoutCredentials(queue)
      const { openAzureQueue } = await import('./azure-queue.ts')
      return openAzureQueue(queue, location.account, context, options)
    },
  }
}

async function openBucket(location: BucketLocation, parts: StoreParts): Promise<OpenedStore> {
  const { config, secrets, context, options } = parts
  const access = s3Access(config, secrets)
  const signer = { ...access, region: location.region, sessionName: location.bucket }
  const credentials = awsCredentials(signer, context, options)
  const field = { IAM_USER: 'accessKey', IAM_ROLE: 'iamRole' }[access.authentication ?? 'IAM_USER']
  const { openS3Store } = await import('./s3-store.ts')
  return {
    store: openS3Store(location, { credentials, field }, context, options),
    async openQueue(queue) {
      if (!credentials) throw withoutCredentials(queue)
      const region = regionOfHost(queue.host) ?? location.region
      const { openSqsQueue } = await import('./sqs-queue.ts')
      return openSqsQueue(queue, { credentials, field, region }, context, options)
    },
  }
}

function s3Access({ authentication, iamRole, type }: ObjectStorageSource, { accessKey }: SourceSecrets) {
  if (authentication === 'IAM_ROLE' && type !== 's3') {
    const reason = `authentication IAM_ROLE is for Amazon's S3, not for ${type}`
    const remedy = 'send an access key with authentication IAM_USER'
    throw new ProbeFailure({ step: 'authenticate', code: 'not_set_up', reason, remedy, field: 'authentication' })
  }
  return { authentication: authentication === 'CONNECTION_STRING' ? undefined : authentication, accessKey, iamRole }
}

function withoutCredentials({ name }: QueueLocation): ProbeFailure {
  return new ProbeFailure({
    step: 'authenticate',
    code: 'not_set_up',
    reason: `the queue "${name}" is read with credentials, and the source has none`,
    remedy: 'send an access key, a role or, for Azure, a connection string with authentication CONNECTION_STRING',
    field: 'authentication',
  })
}
