// Conformance suite for object sources, for all servers with the API of S3 or Azure.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { ObjectStorageSource } from '../../src/source-shapes/object-storage-source.ts'
import type { SourceSecrets } from '../../src/source-shapes/source-kind.ts'
import { makeObjectStorageSource } from '../../src/sources/object-storage/object-storage.ts'
import type { ReadableSource, SourceContext } from '../../src/sources/source.ts'
import { probe, probeFails, readAll } from './conformance.ts'
import { jsonLines } from './object-samples.ts'
import type { AccessKeyPair, AzureServer, ObjectServer } from './object-server.ts'
import { type ObjectWorld, probesObjects } from './object-storage-common.ts'
import { readsObjects } from './object-storage-reading.ts'

export const plainContext: SourceContext = {
  organizationId: '7e0ab0ea-2b3f-4f3c-8a0e-0d7e4b1c9a55',
  caCertificates: undefined,
  allowPlaintext: true,
  awsEndpoints: {},
}

const basis = { format: 'JSONEachRow', compression: 'auto', isContinuous: false } as const

function newName(): string {
  return `penstock-${randomUUID().slice(0, 13)}`
}

export function s3Source(
  url: string,
  accessKey: AccessKeyPair | undefined,
  more: Partial<ObjectStorageSource> = {},
  context: SourceContext = plainContext,
): ReadableSource {
  const access = accessKey && { authentication: 'IAM_USER' as const }
  const secrets: SourceSecrets = accessKey ? { accessKey: { ...accessKey } } : {}
  return makeObjectStorageSource({ type: 's3', ...basis, ...access, url, ...more }, secrets, context)
}

export function objectStorageConformance(start: () => Promise<ObjectServer>): void {
  describe('objects in S3', () => {
    let server: ObjectServer
    let world: ObjectWorld
    before(async () => {
      server = await start()
      world = worldOfS3(server)
    })
    after(() => server.stop())

    probesObjects(() => world)
    readsObjects(() => world)
    s3Failures(() => server)
  })
}

function worldOfS3(server: ObjectServer): ObjectWorld {
  const { accessKey, endpoint } = server
  return {
    patternField: 'url',
    secrets: [accessKey.accessKeyId, accessKey.secretKey],
    async createBucket() {
      const name = newName()
      await server.createBucket(name)
      return name
    },
    put: (bucket, key, bytes) => server.put(bucket, key, bytes),
    makeSource: (bucket, pattern, more = {}) => s3Source(`${endpoint}/${bucket}/${pattern}`, accessKey, more),
  }
}

const noSuchKey = 'the server was started without such a key'

function s3Failures(serverNow: () => ObjectServer): void {
  const rows = [
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ]
  const setUp = async (options = {}) => {
    const [server, bucket] = [serverNow(), newName()]
    await server.createBucket(bucket, options)
    await server.put(bucket, 'a.json', jsonLines)
    const { endpoint, accessKey } = server
    const make = (pattern: string, key: AccessKeyPair | undefined) => s3Source(`${endpoint}/${bucket}/${pattern}`, key)
    const secrets = [accessKey.accessKeyId, accessKey.secretKey]
    return { server, bucket, endpoint, accessKey, make, secrets }
  }

  it('reports a missing bucket', async () => {
    const { endpoint, accessKey, secrets } = await setUp()
    const source = s3Source(`${endpoint}/${newName()}/*.json`, accessKey)
    const failure = await probeFails(source, { step: 'describe', code: 'not_found', field: 'url' }, { secrets })
    assert.match(failure.reason, /the bucket "penstock-/)
  })

  it('reports a wrong key id and a wrong secret', async () => {
    const { make, accessKey, secrets } = await setUp()
    const refused = { step: 'authenticate', code: 'credentials_refused', field: 'accessKey' } as const
    const wrongId = { ...accessKey, accessKeyId: 'AKIA0000000000000000' }
    await probeFails(make('*.json', wrongId), refused, { secrets })
    const wrongSecret = { ...accessKey, secretKey: 'not-the-secret-of-anyone' }
    await probeFails(make('*.json', wrongSecret), refused, { secrets: [...secrets, wrongSecret.secretKey] })
    await assert.rejects(readAll(make('*.json', wrongSecret), {}), {
      name: 'ProbeFailure',
      code: 'credentials_refused',
    })
  })

  it('reports a key without permissions', async (test) => {
    const { make, secrets, server } = await setUp()
    const { powerless } = server
    if (!powerless) return test.skip(noSuchKey)
    const missing = { step: 'describe', code: 'permission_missing', field: 'accessKey' } as const
    await probeFails(make('*.json', powerless), missing, { secrets: [...secrets, powerless.secretKey] })
    await probeFails(make('a.json', powerless), missing, { secrets })
    await assert.rejects(readAll(make('*.json', powerless), {}), { name: 'ProbeFailure', code: 'permission_missing' })
  })

  it('reports a key that may list but not read', async (test) => {
    const { make, secrets, server } = await setUp()
    if (!server.onlyLists) return test.skip(noSuchKey)
    const missing = { step: 'read', code: 'permission_missing', field: 'accessKey' } as const
    const failure = await probeFails(make('*.json', server.onlyLists), missing, { secrets })
    assert.match(failure.reason, /s3:GetObject/)
  })

  it('reads one object without the permission to list', async (test) => {
    const { make, secrets, server } = await setUp()
    if (!server.onlyReads) return test.skip(noSuchKey)
    const source = make('a.json', server.onlyReads)
    assert.deepEqual((await probe(source)).samples[0]!.rows, rows)
    const { batches, ended } = await readAll(source, {})
    assert.deepEqual([batches.length, ended], [1, true])
    assert.deepEqual((await readAll(source, { objects: batches[0]!.next })).batches, [])
    const missing = { step: 'describe', code: 'permission_missing', field: 'accessKey' } as const
    await probeFails(make('*.json', server.onlyReads), missing, { secrets })
  })

  it('reads public objects without a key, and reports private ones', async () => {
    const open = await setUp({ isPublic: true })
    const { samples, steps } = await probe(open.make('*.json', undefined))
    assert.deepEqual(samples[0]!.rows, rows)
    assert.ok(!steps.includes('authenticate'))
    assert.equal((await readAll(open.make('*.json', undefined), {})).batches.length, 1)
    const closed = await setUp()
    const missing = { step: 'describe', code: 'permission_missing', field: 'authentication' } as const
    await probeFails(closed.make('*.json', undefined), missing, { secrets: closed.secrets })
  })

  it('reads one public object of a bucket that cannot be listed', async () => {
    const { make, secrets } = await setUp({ isPublic: true, mayBeListed: false })
    assert.deepEqual((await probe(make('a.json', undefined))).samples[0]!.rows, rows)
    const missing = { step: 'describe', code: 'permission_missing', field: 'authentication' } as const
    await probeFails(make('*.json', undefined), missing, { secrets })
  })

  it('finds the region of an Amazon S3 bucket, and reports a wrong one', async () => {
    const { bucket, endpoint, accessKey, secrets, server } = await setUp()
    const elsewhere = { ...plainContext, allowPlaintext: false, awsEndpoints: { s3: endpoint } }
    const { samples } = await probe(s3Source(`s3://${bucket}/*.json`, accessKey, {}, elsewhere))
    assert.deepEqual(samples[0]!.rows, rows)
    const inRegion = (region: string) =>
      s3Source(`https://${bucket}.s3.${region}.amazonaws.com/*.json`, accessKey, {}, elsewhere)
    assert.deepEqual((await probe(inRegion(server.region))).samples[0]!.rows, rows)
    const wrong = { step: 'describe', code: 'wrong_region', field: 'url' } as const
    const failure = await probeFails(inRegion('ap-south-1'), wrong, { secrets })
    assert.match(`${failure.reason} ${failure.remedy}`, new RegExp(server.region))
    assert.ok(!failure.reason.includes('127.0.0.1'), 'the endpoint of the operator is not shown')
  })
}

export function azureConformance(start: () => Promise<AzureServer>): void {
  describe('objects in Azure', () => {
    let server: AzureServer
    let world: ObjectWorld
    before(async () => {
      server = await start()
      world = worldOfAzure(server)
    })
    after(() => server.stop())

    probesObjects(() => world)
    readsObjects(() => world)
    azureFailures(
      () => server,
      () => world,
    )
  })
}

export function azureSource(
  connectionString: string,
  azureContainerName: string,
  path: string,
  more: Partial<ObjectStorageSource> = {},
  context: SourceContext = plainContext,
): ReadableSource {
  const access = { authentication: 'CONNECTION_STRING', azureContainerName, path } as const
  const config: ObjectStorageSource = { type: 'azureblobstorage', ...basis, ...access, ...more }
  return makeObjectStorageSource(config, { connectionString }, context)
}

function worldOfAzure(server: AzureServer): ObjectWorld {
  const { connectionString } = server
  return {
    patternField: 'path',
    secrets: [/AccountKey=([^;]+)/.exec(connectionString)![1]!],
    async createBucket() {
      const name = newName()
      await server.createContainer(name)
      return name
    },
    put: (container, key, bytes) => server.put(container, key, bytes),
    makeSource: (container, pattern, more = {}) => azureSource(connectionString, container, pattern, more),
  }
}

function azureFailures(serverNow: () => AzureServer, worldNow: () => ObjectWorld): void {
  it('reports a missing container, or an invalid name', async () => {
    const [{ connectionString }, { secrets }] = [serverNow(), worldNow()]
    const missing = { step: 'describe', code: 'not_found', field: 'azureContainerName' } as const
    await probeFails(azureSource(connectionString, newName(), '*.json'), missing, { secrets })
    const impossible = azureSource(connectionString, 'No/../Such', '*.json')
    await probeFails(impossible, { ...missing, step: 'connect' }, { secrets })
  })

  it('reports a wrong key', async () => {
    const [{ connectionString }, world] = [serverNow(), worldNow()]
    const container = await world.createBucket()
    const wrongKey = Buffer.alloc(64, 7).toString('base64')
    const wrong = connectionString.replace(/AccountKey=[^;]+/, `AccountKey=${wrongKey}`)
    const refused = { step: 'authenticate', code: 'credentials_refused', field: 'connectionString' } as const
    const secrets = [...world.secrets, wrongKey]
    await probeFails(azureSource(wrong, container, '*.json'), refused, { secrets })
    await assert.rejects(readAll(azureSource(wrong, container, '*.json'), {}), { code: 'credentials_refused' })
  })

  it('reports a private container without a key', async () => {
    const [{ connectionString }, world] = [serverNow(), worldNow()]
    const container = await world.createBucket()
    const config: ObjectStorageSource = {
      type: 'azureblobstorage',
      ...basis,
      azureContainerName: container,
      path: '*.json',
    }
    const source = makeObjectStorageSource(config, { connectionString }, plainContext)
    const missing = { step: 'describe', code: 'permission_missing', field: 'authentication' } as const
    await probeFails(source, missing, { secrets: world.secrets })
  })

  it('reads with a shared access signature, and reports missing permissions', async () => {
    const { BlobServiceClient, ContainerSASPermissions } = await import('@azure/storage-blob')
    const [{ connectionString }, world] = [serverNow(), worldNow()]
    const container = await world.createBucket()
    await world.put(container, 'a.json', jsonLines)
    const client = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container)
    const signed = async (permissions: string, lifeMs = 600_000): Promise<string> => {
      const expiresOn = new Date(Date.now() + lifeMs)
      const url = await client.generateSasUrl({ permissions: ContainerSASPermissions.parse(permissions), expiresOn })
      return url.slice(url.indexOf('?') + 1)
    }
    const endpoint = /BlobEndpoint=([^;]+)/.exec(connectionString)![1]!
    const withSignature = (signature: string, path = '*.json') =>
      azureSource(`BlobEndpoint=${endpoint};SharedAccessSignature=${signature}`, container, path)
    const both = await signed('rl')
    assert.equal((await probe(withSignature(both))).samples[0]!.rows.length, 2)
    const inUrl = azureSource(`BlobEndpoint=${endpoint}?${both}`, container, '*.json')
    assert.equal((await probe(inUrl)).samples[0]!.rows.length, 2)
    const [onlyLists, onlyReads] = [await signed('l'), await signed('r')]
    const secrets = [both, onlyLists, onlyReads].map((signature) => /sig=([^&]+)/.exec(signature)![1]!)
    const missing = { code: 'permission_missing', field: 'connectionString' } as const
    await probeFails(withSignature(onlyLists), { ...missing, step: 'read' }, { secrets })
    await probeFails(withSignature(onlyReads), { ...missing, step: 'describe' }, { secrets })
    assert.equal((await probe(withSignature(onlyReads, 'a.json'))).samples[0]!.rows.length, 2)
    const refused = { step: 'authenticate', code: 'credentials_refused', field: 'connectionString' } as const
    await probeFails(withSignature(await signed('rl', -60_000)), refused, { secrets })
  })
}
