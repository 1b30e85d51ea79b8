// What a source opens: its store and, where it has one, its queue, both as the same user. Each vendor's client is some hundred
// files, and is loaded when a pipe first needs it.
import type { ObjectStorageSource } from '../../pipes/object-storage-source.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import { awsCredentials } from '../aws/aws.ts'
import { ProbeFailure, type SourceContext, type SourceAccess } from '../source.ts'
import type { MessageQueue } from './message-queue.ts'
import type { BucketLocation, ContainerLocation, ObjectLocation } from './object-location.ts'
import type { ObjectStore } from './object-store.ts'
import { type QueueLocation, regionOfHost } from './queue-location.ts'

export interface OpenedStore {
  store: ObjectStore
  openQueue(place: QueueLocation): Promise<MessageQueue>
}

export interface Visitor {
  config: ObjectStorageSource
  secrets: SourceSecrets
  context: SourceContext
  surroundings: SourceAccess
}

export function openLocation(place: ObjectLocation, visitor: Visitor): Promise<OpenedStore> {
  return place.kind === 'azure' ? openContainer(place, visitor) : openBucket(place, visitor)
}

async function openContainer(place: ContainerLocation, visitor: Visitor): Promise<OpenedStore> {
  const { config, context, surroundings } = visitor
  const { openAzureStore } = await import('./azure-blob-store.ts')
  return {
    store: openAzureStore(place, context, surroundings),
    async openQueue(queue) {
      if (config.authentication === undefined) throw withoutCredentials(queue)
      const { openAzureQueue } = await import('./azure-queue.ts')
      return openAzureQueue(queue, place.account, context, surroundings)
    },
  }
}

async function openBucket(place: BucketLocation, visitor: Visitor): Promise<OpenedStore> {
  const { config, secrets, context, surroundings } = visitor
  const access = s3Access(config, secrets)
  const whose = { ...access, region: place.region, sessionName: place.bucket }
  const credentials = awsCredentials(whose, context, surroundings)
  const field = { IAM_USER: 'accessKey', IAM_ROLE: 'iamRole' }[access.authentication ?? 'IAM_USER']
  const { openS3Store } = await import('./s3-store.ts')
  return {
    store: openS3Store(place, { credentials, field }, context, surroundings),
    async openQueue(queue) {
      if (!credentials) throw withoutCredentials(queue)
      const region = regionOfHost(queue.host) ?? place.region
      const { openSqsQueue } = await import('./sqs-queue.ts')
      return openSqsQueue(queue, { credentials, field, region }, context, surroundings)
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
