// Objects read with an assumed role: moto checks the signature of the operator, the trust policy, the external id, and then the
// signature and token of each request.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { makeObjectStorageSource } from '../../src/sources/object-storage/object-storage.ts'
import type { ReadableSource } from '../../src/sources/source.ts'
import { probe, probeFails, readAll } from '../sources/conformance.ts'
import type { AccessKey } from '../sources/kinesis-server.ts'
import { type MotoServer, startMoto } from './servers/moto.ts'

const organizationId = 'a1b2c3d4-0000-4000-8000-000000000001'
const bucket = 'events'

describe('objects readable with a role', () => {
  let moto: MotoServer
  let trusted: string
  let powerless: string

  before(async () => {
    moto = await startMoto()
    trusted = await moto.createRole('trusted', { externalId: organizationId, mayRead: true })
    powerless = await moto.createRole('powerless', { externalId: organizationId, mayRead: false })
    const { accessKeyId, secretKey } = moto.user
    const client = new S3Client({
      region: moto.region,
      endpoint: moto.url,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey: secretKey },
    })
    try {
      const LocationConstraint = moto.region as 'eu-west-1'
      await client.send(new CreateBucketCommand({ Bucket: bucket, CreateBucketConfiguration: { LocationConstraint } }))
      for (const n of [1, 2]) {
        await client.send(new PutObjectCommand({ Bucket: bucket, Key: `day/${n}.json`, Body: `{"n":${n}}\n` }))
      }
    } finally {
      client.destroy()
    }
  })
  after(() => moto.stop())

  function sourceOf(iamRole: string, organization = organizationId): ReadableSource {
    return makeObjectStorageSource(
      {
        type: 's3',
        url: `s3://${bucket}/day/*.json`,
        format: 'JSONEachRow',
        compression: 'auto',
        isContinuous: false,
        authentication: 'IAM_ROLE',
        iamRole,
      },
      {},
      {
        organizationId: organization,
        caCertificates: undefined,
        allowPlaintext: true,
        awsEndpoints: { s3: moto.url, sts: moto.url },
      },
    )
  }

  /** The identity of the operator comes from the environment, as on a server. */
  async function as({ accessKeyId, secretKey }: AccessKey, work: () => Promise<unknown>): Promise<void> {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, ...others } = process.env
    const original = process.env
    process.env = { ...others, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretKey }
    try {
      await work()
    } finally {
      process.env = original
    }
  }

  it('are sampled and read', async () => {
    await as(moto.user, async () => {
      const { samples } = await probe(sourceOf(trusted))
      assert.deepEqual(samples[0]?.rows, [{ n: 1 }, { n: 2 }])
      const { batches, ended } = await readAll(sourceOf(trusted), {})
      assert.deepEqual(
        batches.map(({ object }) => object?.key),
        ['day/1.json', 'day/2.json'],
      )
      assert.ok(ended)
    })
  })

  it('are not readable for another organization', async () => {
    const another = 'a1b2c3d4-0000-4000-8000-000000000002'
    await as(moto.user, async () => {
      const expected = { step: 'authenticate', code: 'permission_missing', field: 'iamRole' } as const
      const { remedy } = await probeFails(sourceOf(trusted, another), expected, { secrets: [moto.user.secretKey] })
      assert.ok(remedy.includes(another), remedy)
    })
  })

  it('are not readable for an operator whom the role does not trust', async () => {
    await as(moto.powerless, () =>
      probeFails(
        sourceOf(trusted),
        { step: 'authenticate', code: 'permission_missing', field: 'iamRole' },
        { secrets: [moto.powerless.secretKey] },
      ),
    )
  })

  it('are not readable for an unknown operator', async () => {
    for (const operator of [
      { accessKeyId: 'AKIAUNKNOWN000000000', secretKey: 'secret of nobody' },
      { ...moto.user, secretKey: 'not the secret' },
    ]) {
      await as(operator, () =>
        probeFails(
          sourceOf(trusted),
          { step: 'authenticate', code: 'not_set_up', field: 'iamRole' },
          { secrets: [operator.secretKey, operator.accessKeyId] },
        ),
      )
    }
  })

  it('are not readable with a role without permission', async () => {
    await as(moto.user, () =>
      probeFails(
        sourceOf(powerless),
        { step: 'describe', code: 'permission_missing' },
        { secrets: [moto.user.secretKey] },
      ),
    )
  })
})
