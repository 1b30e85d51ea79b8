// Stores with queues: SQS with objects in this process, and any server with the Azure API.
import { randomUUID } from 'node:crypto'
import { makeObjectStorageSource } from '../../src/sources/object-storage/object-storage.ts'
import { startObjectServer } from './object-server.ts'
import { plainContext } from './object-storage-conformance.ts'
import type { QueueWorld } from './queue-common.ts'
import { blobEvent, type QueueServer, s3Event, startQueueServer } from './queue-server.ts'

const basis = { format: 'JSONEachRow', compression: 'auto', isContinuous: true } as const

const newName = (): string => `penstock-${randomUUID().slice(0, 13)}`

export async function startSqsWorld(): Promise<QueueWorld> {
  const [objects, queues] = await Promise.all([startObjectServer(), startQueueServer()])
  const { accessKey } = objects
  return {
    name: 'SQS in this process',
    async createBucket() {
      const name = newName()
      await objects.createBucket(name)
      return name
    },
    put: (bucket, key, bytes) => objects.put(bucket, key, bytes),
    createQueue: () => queues.createQueue(newName()),
    send: (queueUrl, text) => queues.send(queueUrl, text),
    counts: (queueUrl) => queues.attributes(queueUrl),
    eventOf: (bucket, ...keys) => s3Event(bucket, ...keys.map((key) => ({ key }))),
    makeSource(bucket, pattern, more, times) {
      const url = `${objects.endpoint}/${bucket}/${pattern}`
      const config = { type: 's3', ...basis, authentication: 'IAM_USER', url, ...more } as const
      return makeObjectStorageSource(config, { accessKey: { ...accessKey } }, plainContext, times)
    },
    secrets: [accessKey.accessKeyId, accessKey.secretKey],
    async stop() {
      await Promise.all([objects.stop(), queues.stop()])
    },
  }
}

/** Azure: blobs, and queues of the same account. */
export interface AzureQueueServer {
  name: string
  connectionString: string
  createContainer(name: string): Promise<void>
  put(container: string, key: string, bytes: Uint8Array): Promise<void>
  createQueue: QueueServer['createQueue']
  send: QueueServer['send']
  attributes: QueueServer['attributes']
  /** A shared access signature of the account for blobs and queues; undefined: not supported. */
  signed?(permissions: string, lifeMs?: number): Promise<string>
  stop(): Promise<void>
}

export function azureQueueWorld(server: AzureQueueServer): QueueWorld {
  const { connectionString } = server
  return {
    name: server.name,
    async createBucket() {
      const name = newName()
      await server.createContainer(name)
      return name
    },
    put: (bucket, key, bytes) => server.put(bucket, key, bytes),
    createQueue: () => server.createQueue(newName()),
    send: (queueUrl, text) => server.send(queueUrl, text),
    counts: (queueUrl) => server.attributes(queueUrl),
    eventOf: blobEvent,
    makeSource(bucket, pattern, more, times) {
      const location = { azureContainerName: bucket, path: pattern }
      const config = {
        type: 'azureblobstorage',
        ...basis,
        authentication: 'CONNECTION_STRING',
        ...location,
        ...more,
      } as const
      return makeObjectStorageSource(config, { connectionString }, plainContext, times)
    },
    secrets: [/AccountKey=([^;]+)/.exec(connectionString)![1]!],
    stop: () => server.stop(),
  }
}
