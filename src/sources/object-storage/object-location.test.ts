import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { type BucketLocation, locationOf } from './object-location.ts'

type Kind = ObjectStorageSource['type']

function bucketOf(url: string, type: Kind = 's3'): BucketLocation {
  const location = locationOf({ type, url }, {})
  assert.equal(location.kind, 's3')
  return location as BucketLocation
}

function failureOf(ask: () => unknown): ProbeFailure {
  let failure: unknown
  assert.throws(ask, (error) => {
    failure = error
    return error instanceof ProbeFailure
  })
  return failure as ProbeFailure
}

describe('the location of objects', () => {
  const path = 'path'
  const host = 'host'
  // The region has a question mark when it is guessed.
  const cases: [url: string, endpoint: string, style: string, bucket: string, pattern: string, region: string][] = [
    ['s3://data/a/*.json', 'https://s3.us-east-1.amazonaws.com', host, 'data', 'a/*.json', 'us-east-1?'],
    ['S3://data/a', 'https://s3.us-east-1.amazonaws.com', host, 'data', 'a', 'us-east-1?'],
    ['s3://my.data/a', 'https://s3.us-east-1.amazonaws.com', path, 'my.data', 'a', 'us-east-1?'],
    ['s3://data', 'https://s3.us-east-1.amazonaws.com', host, 'data', '', 'us-east-1?'],
    [
      'https://data.s3.eu-west-1.amazonaws.com/a?.json',
      'https://s3.eu-west-1.amazonaws.com',
      host,
      'data',
      'a?.json',
      'eu-west-1',
    ],
    ['https://DATA.S3.eu-west-1.amazonaws.com/A', 'https://s3.eu-west-1.amazonaws.com', host, 'data', 'A', 'eu-west-1'],
    [
      'https://my.data.s3.eu-west-1.amazonaws.com/a',
      'https://s3.eu-west-1.amazonaws.com',
      path,
      'my.data',
      'a',
      'eu-west-1',
    ],
    ['https://data.s3-eu-west-1.amazonaws.com/a', 'https://s3-eu-west-1.amazonaws.com', host, 'data', 'a', 'eu-west-1'],
    [
      'https://data.s3.dualstack.us-west-2.amazonaws.com/a',
      'https://s3.dualstack.us-west-2.amazonaws.com',
      host,
      'data',
      'a',
      'us-west-2',
    ],
    [
      'https://data.s3.cn-north-1.amazonaws.com.cn/a',
      'https://s3.cn-north-1.amazonaws.com.cn',
      host,
      'data',
      'a',
      'cn-north-1',
    ],
    [
      'https://data.s3.us-gov-west-1.amazonaws.com/a',
      'https://s3.us-gov-west-1.amazonaws.com',
      host,
      'data',
      'a',
      'us-gov-west-1',
    ],
    ['https://data.s3.amazonaws.com/a', 'https://s3.us-east-1.amazonaws.com', host, 'data', 'a', 'us-east-1?'],
    ['https://s3.amazonaws.com/data/a', 'https://s3.us-east-1.amazonaws.com', host, 'data', 'a', 'us-east-1?'],
    [
      'https://s3.eu-west-1.amazonaws.com/data/a/b',
      'https://s3.eu-west-1.amazonaws.com',
      host,
      'data',
      'a/b',
      'eu-west-1',
    ],
    [
      'https://s3.eu-west-1.amazonaws.com:443/data/a',
      'https://s3.eu-west-1.amazonaws.com',
      host,
      'data',
      'a',
      'eu-west-1',
    ],
    ['http://minio:9000/data/a/**', 'http://minio:9000', path, 'data', 'a/**', 'us-east-1?'],
    ['https://[2001:db8::1]:9000/data/a', 'https://[2001:db8::1]:9000', path, 'data', 'a', 'us-east-1?'],
    ['https://objects.example/My_Data/%C3%A9*#1', 'https://objects.example', path, 'My_Data', 'é*#1', 'us-east-1?'],
    [
      'https://s3.eu-west-1.amazonaws.com.evil.example/data/a',
      'https://s3.eu-west-1.amazonaws.com.evil.example',
      path,
      'data',
      'a',
      'us-east-1?',
    ],
    ['gs://data/a', 'https://storage.googleapis.com', host, 'data', 'a', 'auto'],
    ['https://storage.googleapis.com/data/a', 'https://storage.googleapis.com', host, 'data', 'a', 'auto'],
    ['https://data.storage.googleapis.com/a', 'https://storage.googleapis.com', host, 'data', 'a', 'auto'],
    ['https://data.nyc3.digitaloceanspaces.com/a', 'https://nyc3.digitaloceanspaces.com', host, 'data', 'a', 'nyc3'],
    [
      'https://data.nyc3.cdn.digitaloceanspaces.com/a',
      'https://nyc3.digitaloceanspaces.com',
      host,
      'data',
      'a',
      'nyc3',
    ],
    ['https://nyc3.digitaloceanspaces.com/data/a', 'https://nyc3.digitaloceanspaces.com', host, 'data', 'a', 'nyc3'],
  ]
  for (const [url, ...expected] of cases) {
    it(`is read from ${url}`, () => {
      const { endpoint, isPathStyle, bucket, pattern, region, isRegionGuessed } = bucketOf(url)
      const style = isPathStyle ? path : host
      assert.deepEqual([endpoint, style, bucket, pattern.text, region + (isRegionGuessed ? '?' : '')], expected)
    })
  }

  it('of a bucket without host depends on the type', () => {
    assert.equal(bucketOf('s3://data/a', 'gcs').vendor, 'google')
    assert.equal(bucketOf('gs://data/a', 's3').vendor, 'google')
    assert.equal(bucketOf('s3://data/a', 's3').vendor, 'amazon')
    assert.match(failureOf(() => bucketOf('s3://data/a', 'dospaces')).remedy, /digitaloceanspaces/)
  })

  for (const url of [
    'https://objects.example/',
    'https://objects.example/*/a',
    'https://objects.example/da*ta/a',
    's3://a:b/c',
    's3://-data/a',
    'https://objects.example/arn:aws:s3:::data/a',
    'ftp://objects.example/data/a',
    'data/a',
    `s3://data/${'*a'.repeat(300)}`,
  ]) {
    it(`is not read from ${url.slice(0, 60)}`, () => {
      const { step, field } = failureOf(() => bucketOf(url))
      assert.deepEqual([step, field], ['connect', 'url'])
    })
  }
})

describe('an Azure account', () => {
  const key = Buffer.alloc(64, 1).toString('base64')
  const accountOf = (connectionString: string, isPublic = false) => {
    const access = isPublic ? {} : { authentication: 'CONNECTION_STRING' as const }
    const location = locationOf(
      { type: 'azureblobstorage', azureContainerName: 'data', path: '*', ...access },
      { connectionString },
    )
    assert.equal(location.kind, 'azure')
    return location.account
  }
  const sharedKey = { accountName: 'me', accountKey: key }

  it('is read from a connection string', () => {
    const whole = `DefaultEndpointsProtocol=https;AccountName=me;AccountKey=${key};EndpointSuffix=core.windows.net`
    assert.deepEqual(accountOf(whole), { endpoint: 'https://me.blob.core.windows.net', sharedKey })
    assert.deepEqual(accountOf(`accountname=me;ACCOUNTKEY=${key}`), {
      endpoint: 'https://me.blob.core.windows.net',
      sharedKey,
    })
    const china = `AccountName=me;AccountKey=${key};EndpointSuffix=core.chinacloudapi.cn;DefaultEndpointsProtocol=http`
    assert.equal(accountOf(china).endpoint, 'http://me.blob.core.chinacloudapi.cn')
    const own = `AccountKey=${key};BlobEndpoint=http://127.0.0.1:10000/me/`
    assert.deepEqual(accountOf(own), { endpoint: 'http://127.0.0.1:10000/me', sharedKey })
    assert.deepEqual(accountOf(`AccountKey=${key};BlobEndpoint=https://me.blob.example`).sharedKey, sharedKey)
    const development = `UseDevelopmentStorage=true;AccountName=me;AccountKey=${key};BlobEndpoint=http://azurite:10000/me`
    assert.equal(accountOf(development).endpoint, 'http://azurite:10000/me')
  })

  it('accepts a shared access signature in any part', () => {
    const endpoint = 'https://me.blob.example'
    const opened = { endpoint, accessSignature: 'sv=1&sig=a%3D' }
    assert.deepEqual(accountOf(`BlobEndpoint=${endpoint}/;SharedAccessSignature=sv=1&sig=a%3D`), opened)
    assert.deepEqual(accountOf(`BlobEndpoint=${endpoint};SharedAccessSignature=?sv=1&sig=a%3D`), opened)
    assert.deepEqual(accountOf(`BlobEndpoint=${endpoint}/?sv=1&sig=a%3D`), opened)
    const byName = accountOf('AccountName=me;SharedAccessSignature=sv=1&sig=a%3D')
    assert.deepEqual(byName, { ...opened, endpoint: 'https://me.blob.core.windows.net' })
  })

  it('that is public is read without credentials', () => {
    assert.deepEqual(accountOf(`AccountName=me;AccountKey=${key}`, true), {
      endpoint: 'https://me.blob.core.windows.net',
    })
  })

  for (const [connectionString, code] of [
    ['UseDevelopmentStorage=true', 'not_set_up'],
    ['AccountName=me', 'credentials_refused'],
    ['AccountName=me;AccountKey=not base64!', 'credentials_refused'],
    [`AccountKey=${key}`, 'not_found'],
    [`AccountName=me/../you;AccountKey=${key}`, 'not_found'],
    [`AccountName=me;AccountKey=${key};DefaultEndpointsProtocol=ftp`, 'not_found'],
    [`AccountName=me;AccountKey=${key};BlobEndpoint=me.blob.example`, 'not_found'],
    [`AccountName=me;AccountKey=${key};BlobEndpoint=https://user:secret-word@me.blob.example`, 'not_found'],
  ] as const) {
    it(`is not read from ${connectionString.replace(key, '…')}`, () => {
      const failure = failureOf(() => accountOf(connectionString))
      assert.deepEqual([failure.step, failure.code, failure.field], ['connect', code, 'connectionString'])
      assert.ok(!failure.reason.includes(key) && !failure.reason.includes('secret-word'))
    })
  }
})
