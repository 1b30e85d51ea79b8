// Queues of moto, to which its S3 sends notifications.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import {
  CreateBucketCommand,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { makeObjectStorageSource } from '../../src/sources/object-storage/object-storage.ts'
import { loopbackEgress, probeFails } from '../sources/conformance.ts'
import { line } from '../sources/object-storage-common.ts'
import { plainContext } from '../sources/object-storage-conformance.ts'
import type { QueueWorld } from '../sources/queue-common.ts'
import { queueConformance } from '../sources/queue-conformance.ts'
import { s3Event } from '../sources/queue-server.ts'
import { type MotoServer, startMoto } from './servers/moto.ts'

/** Region of a bucket at a custom address. */
const region = 'us-east-1'

interface MotoWorld extends QueueWorld {
  moto: MotoServer
  /** The bucket sends notifications about new objects to the queue from now on. */
  notify(bucket: string, queueUrl: string): Promise<void>
}

async function startMotoWorld(): Promise<MotoWorld> {
  const moto = await startMoto()
  const { user, url: endpoint } = moto
  const credentials = { accessKeyId: user.accessKeyId, secretAccessKey: user.secretKey }
  const s3 = new S3Client({ region, endpoint, forcePathStyle: true, credentials })
  const sqs = new SQSClient({ region, endpoint, credentials })
  const newName = (): string => `penstock-${randomUUID().slice(0, 13)}`
  const attributesOf = async (queueUrl: string): Promise<Record<string, string | undefined>> => {
    const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] })
    return (await sqs.send(command)).Attributes ?? {}
  }
  return {
    name: moto.name,
    moto,
    async createBucket() {
      const Bucket = newName()
      await s3.send(new CreateBucketCommand({ Bucket }))
      return Bucket
    },
    async put(Bucket, Key, Body) {
      await s3.send(new PutObjectCommand({ Bucket, Key, Body }))
    },
    async createQueue() {
      const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: newName() }))
      // The address as reached from here, whatever the server calls it.
      return new URL(new URL(QueueUrl!).pathname, endpoint).href
    },
    async send(QueueUrl, MessageBody) {
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }))
    },
    async counts(queueUrl) {
      const attributes = await attributesOf(queueUrl)
      return {
        waiting: Number(attributes.ApproximateNumberOfMessages),
        held: Number(attributes.ApproximateNumberOfMessagesNotVisible),
      }
    },
    eventOf: (bucket, ...keys) => s3Event(bucket, ...keys.map((key) => ({ key }))),
    makeSource(bucket, pattern, more, times) {
      const basis = { type: 's3', format: 'JSONEachRow', compression: 'auto', isContinuous: true } as const
      const config = { ...basis, authentication: 'IAM_USER', url: `${endpoint}/${bucket}/${pattern}`, ...more } as const
      return makeObjectStorageSource(config, { accessKey: { ...user } }, plainContext, times)
    },
    secrets: [user.secretKey],
    async notify(Bucket, queueUrl) {
      const { QueueArn } = await attributesOf(queueUrl)
      const QueueConfigurations = [{ QueueArn, Events: ['s3:ObjectCreated:*' as const] }]
      const NotificationConfiguration = { QueueConfigurations }
      await s3.send(new PutBucketNotificationConfigurationCommand({ Bucket, NotificationConfiguration }))
    },
    async stop() {
      s3.destroy()
      sqs.destroy()
      await moto.stop()
    },
  }
}

queueConformance(startMotoWorld)

describe('a queue with S3 notifications', () => {
  let world: MotoWorld
  before(async () => {
    world = await startMotoWorld()
  })
  after(() => world.stop())

  const setUp = async () => {
    const [bucket, queueUrl] = [await world.createBucket(), await world.createQueue()]
    await world.notify(bucket, queueUrl)
    return { bucket, queueUrl }
  }

  it('announces new objects, whatever their keys', async () => {
    const { bucket, queueUrl } = await setUp()
    const keys = ['in/a.json', 'in/a b+c.json', 'in/é 100%25.json']
    for (const [index, key] of keys.entries()) await world.put(bucket, key, line(index))
    const source = world.makeSource(bucket, 'in/*.json', { queueUrl, skipInitialLoad: true })
    const signal = AbortSignal.timeout(90_000)
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    const given = new Map<string, string>()
    for (let round = 0; round < 60 && given.size < keys.length; round++) {
      for (const { partition, object } of await reader.read({ maxRecords: 10, maxBytes: 1e9, waitMs: 1_000, signal })) {
        given.set(object!.key, partition)
      }
    }
    assert.deepEqual([...given.keys()].toSorted(), keys.toSorted())
    await reader.acknowledge(Object.fromEntries([...given.values()].map((partition) => [partition, 'finished'])))
    assert.deepEqual(await world.counts(queueUrl), { waiting: 0, held: 0 })
    await reader.close()
  })

  it('refuses an account without permissions', async () => {
    const { bucket, queueUrl } = await setUp()
    const { url, powerless } = world.moto
    const basis = { type: 's3', format: 'JSONEachRow', compression: 'auto', isContinuous: true } as const
    const config = { ...basis, authentication: 'IAM_USER', url: `${url}/${bucket}/*`, queueUrl } as const
    const source = makeObjectStorageSource(config, { accessKey: { ...powerless } }, plainContext)
    await probeFails(source, { step: 'describe', code: 'permission_missing' }, { secrets: [powerless.secretKey] })
  })
})
