// Requests of the S3 client that the tests with a complete server do not cover.
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it, type TestContext } from 'node:test'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { jsonLines } from '../../../test/sources/object-samples.ts'
import { type ObjectServer, startObjectServer } from '../../../test/sources/object-server.ts'
import { plainContext } from '../../../test/sources/object-storage-conformance.ts'
import { startScripted } from '../../../test/sources/scripted-server.ts'
import { Egress } from '../../lib/egress.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { DirectBody } from '../direct/direct-body.ts'
import type { BucketLocation } from './object-location.ts'
import { parsePattern } from './object-pattern.ts'
import { type ObjectStore, ObjectUnavailable } from './object-store.ts'
import { openS3Store } from './s3-store.ts'

const object = { key: 'a.json', sizeBytes: jsonLines.length, etag: '', modifiedAt: undefined }

describe('a store with the S3 API', () => {
  let server: ObjectServer
  before(async () => {
    server = await startObjectServer()
    await server.createBucket('data')
    await server.put('data', 'a.json', jsonLines)
  })
  after(() => server.stop())

  const { signal } = new AbortController()
  const openAt = (test: TestContext, location: Partial<BucketLocation>, egress = loopbackEgress): ObjectStore => {
    const { accessKeyId, secretKey: secretAccessKey } = server.accessKey
    const whole: BucketLocation = {
      kind: 's3',
      endpoint: server.endpoint,
      isPathStyle: true,
      bucket: 'data',
      pattern: parsePattern('**', { isUrl: true }),
      region: server.region,
      isRegionGuessed: false,
      vendor: 'other',
      ...location,
    }
    const access = { credentials: async () => ({ accessKeyId, secretAccessKey }), field: 'accessKey' }
    const store = openS3Store(whole, access, plainContext, { egress, signal })
    test.after(() => store.close())
    return store
  }
  const scripted = async (test: TestContext, body: string | Uint8Array, status = 200) => {
    const answering = await startScripted((_, response) => response.writeHead(status).end(body))
    test.after(() => answering.stop())
    return answering
  }

  it('reads objects of Google as they are stored, and does not sign the header that Google modifies', async (test) => {
    const store = openAt(test, { vendor: 'google' })
    assert.equal((await store.list('', undefined, signal)).objects.length, 1)
    assert.deepEqual(Buffer.from(await store.read(object, 0, 8, signal)), jsonLines.subarray(0, 8))
    const seen = await scripted(test, jsonLines)
    const other = openAt(test, { vendor: 'google', endpoint: seen.url })
    await other.read(object, 0, 8, signal)
    const { headers } = seen.requests[0]!
    assert.equal(headers['accept-encoding'], 'gzip')
    assert.doesNotMatch(headers.authorization!, /accept-encoding/)
  })

  it('puts the bucket into the host name without path style', async (test) => {
    const names: string[] = []
    const egress = new Egress({ allowLoopback: true, deniedAddresses: [] }, async (name) => {
      names.push(name)
      return ['127.0.0.1']
    })
    const endpoint = server.endpoint.replace('127.0.0.1', 'objects.example')
    const store = openAt(test, { endpoint, isPathStyle: false }, egress)
    assert.equal((await store.list('', undefined, signal)).objects.length, 1)
    assert.deepEqual([...new Set(names)], ['data.objects.example'])
  })

  it('ignores the environment', async (test) => {
    const misleading = {
      AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
      AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
      AWS_REGION: 'ap-south-1',
      AWS_DEFAULTS_MODE: 'auto',
      AWS_USE_DUALSTACK_ENDPOINT: 'true',
      AWS_USE_FIPS_ENDPOINT: 'true',
      AWS_S3_USE_ARN_REGION: 'true',
      HTTP_PROXY: 'http://127.0.0.1:1',
      HTTPS_PROXY: 'http://127.0.0.1:1',
    }
    Object.assign(process.env, misleading)
    test.after(() => {
      for (const name of Object.keys(misleading)) delete process.env[name]
    })
    assert.equal((await openAt(test, {}).list('', undefined, signal)).objects.length, 1)
  })

  it('uses the region that the store returns when none is known, and only once', async (test) => {
    const list = '<ListBucketResult><Name>data</Name><IsTruncated>false</IsTruncated></ListBucketResult>'
    const moved = '<Error><Code>PermanentRedirect</Code><Endpoint>evil.example</Endpoint></Error>'
    const regions: string[] = []
    const answering = await startScripted(({ headers }, response) => {
      regions.push(/\d{8}\/([^/]+)\/s3/.exec(headers.authorization!)![1]!)
      const isThere = regions.at(-1) === 'eu-west-1'
      response.setHeader('x-amz-bucket-region', `eu-west-${regions.length}`)
      response.writeHead(isThere ? 200 : 301).end(isThere ? list : moved)
    })
    test.after(() => answering.stop())
    const location = { endpoint: answering.url, region: 'us-east-1', isRegionGuessed: true }
    assert.deepEqual(await openAt(test, location).list('', undefined, signal), { objects: [], isLast: true })
    assert.deepEqual(regions, ['us-east-1', 'eu-west-1'])
    // Now the store returns another region each time.
    const wrong = { name: 'ProbeFailure', code: 'wrong_region' }
    await assert.rejects(openAt(test, location).list('', undefined, signal), wrong)
    assert.deepEqual(regions.slice(2), ['us-east-1', 'eu-west-3'])
    await assert.rejects(openAt(test, { ...location, isRegionGuessed: false }).list('', undefined, signal), wrong)
    assert.equal(regions.length, 5)
  })

  it('finds objects with concurrent requests before it knows the region', async (test) => {
    const wrong = '<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>'
    const isThere = Promise.withResolvers<void>()
    let wrongHeads = 0
    const answering = await startScripted(async ({ method, headers }, response) => {
      const region = /\d{8}\/([^/]+)\/s3/.exec(headers.authorization!)![1]!
      if (region === 'eu-west-1') {
        isThere.resolve()
        response.writeHead(200, { 'content-length': '5', etag: '"x"' }).end()
        return
      }
      // The first request gets the region. Only then do the others fail, with answers without a body.
      if (method === 'HEAD' && wrongHeads++ > 0) await isThere.promise
      response.writeHead(400).end(method === 'HEAD' ? undefined : wrong)
    })
    test.after(() => answering.stop())
    const store = openAt(test, { endpoint: answering.url, region: 'us-east-1', isRegionGuessed: true })
    const found = await Promise.all(['a', 'b', 'c'].map((key) => store.find(key, signal)))
    assert.deepEqual(
      found.map((one) => one?.etag),
      ['x', 'x', 'x'],
    )
    assert.equal(wrongHeads, 3)
  })

  it('reads keys with characters that are invalid in XML', async (test) => {
    const contents = '<Contents><Key>a+b%2Bc%0A%C3%A9%2525</Key><Size>1</Size><ETag>x</ETag></Contents>'
    const list = `<ListBucketResult><Name>data</Name><EncodingType>url</EncodingType>${contents}</ListBucketResult>`
    const answering = await scripted(test, list)
    const { objects, isLast } = await openAt(test, { endpoint: answering.url }).list('a', 'before', signal)
    assert.deepEqual([objects[0]!.key, objects[0]!.etag, isLast], ['a b+c\né%25', 'x', true])
    assert.match(answering.requests[0]!.url!, /prefix=a&start-after=before/)
  })

  const listOf = (text: string) => `<ListBucketResult><Name>data</Name>${text}</ListBucketResult>`
  const contentsOf = (key: string) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"x"</ETag></Contents>`

  it('lists 1,000 objects with the longest keys', async (test) => {
    const keys = Array.from({ length: 1_000 }, (_, index) => `${index + 1_000}${'%C3%A9'.repeat(510)}`)
    const list = listOf(`<EncodingType>url</EncodingType>${keys.map(contentsOf).join('')}`)
    const { url: endpoint } = await scripted(test, list)
    const { objects } = await openAt(test, { endpoint }).list('', undefined, signal)
    assert.deepEqual([objects.length, objects[0]!.key], [1_000, `1000${'é'.repeat(510)}`])
  })

  for (const [what, text, before = ''] of [
    ['is too long', ' x'.repeat(1_000).concat('<a/>').repeat(2_001)],
    ['has too many tags', contentsOf('a').repeat(20_000)],
    ['has a text without an end', 'x'.repeat(100_000)],
    ['declares a type of document', '', '<!DocType x>'],
  ] as [what: string, text: string, before?: string][]) {
    it(`rejects a list that ${what}`, async (test) => {
      const { url: endpoint } = await scripted(test, `${before}${listOf(text)}`)
      const expected = { name: 'ProbeFailure', code: 'protocol_mismatch' }
      await assert.rejects(openAt(test, { endpoint }).list('', undefined, signal), expected)
    })

    it(`classifies an error that ${what} by its status`, async (test) => {
      const { url: endpoint } = await scripted(test, `${before}<Error><Code>AccessDenied</Code>${text}</Error>`, 502)
      const expected = { name: 'ProbeFailure', code: 'source_failed' }
      await assert.rejects(openAt(test, { endpoint }).list('', undefined, signal), expected)
      await assert.rejects(openAt(test, { endpoint }).read(object, 0, 8, signal), expected)
    })
  }

  it('reads whole objects directly, and none of another size', async (test) => {
    const store = openAt(test, {})
    const body = await store.open(object, signal)
    assert.ok(body instanceof DirectBody, 'the store says how long it is')
    const target = Buffer.alloc(jsonLines.length)
    assert.equal(await body.readInto(target), jsonLines.length)
    assert.deepEqual(target, Buffer.from(jsonLines))
    body.destroy()
    for (const sizeBytes of [jsonLines.length - 1, jsonLines.length + 1]) {
      await assert.rejects(buffer(await store.open({ ...object, sizeBytes }, signal)), NotConnected)
    }
  })

  it('reads objects that exceed the limit of a list', async (test) => {
    const bytes = Buffer.alloc(5_000_000, 'x')
    const { url: endpoint } = await scripted(test, bytes)
    const large = { ...object, sizeBytes: bytes.length }
    const read = await openAt(test, { endpoint }).read(large, 0, bytes.length, signal)
    assert.equal(read.length, bytes.length)
  })

  it('continues after empty pages if they have a continuation token', async (test) => {
    const answering = await startScripted(({ url = '' }, response) => {
      const token = new URL(url, 'http://store').searchParams.get('continuation-token')
      const more = `<IsTruncated>true</IsTruncated><NextContinuationToken>${Number(token) + 1}</NextContinuationToken>`
      response.end(listOf(token === '3' ? contentsOf('z.json') : more))
    })
    test.after(() => answering.stop())
    const { objects, isLast } = await openAt(test, { endpoint: answering.url }).list('', 'a', signal)
    assert.deepEqual([objects.map(({ key }) => key), isLast], [['z.json'], true])
    const { url: endpoint } = await scripted(test, listOf('<IsTruncated>true</IsTruncated>'))
    const expected = { name: 'ProbeFailure', code: 'protocol_mismatch' }
    await assert.rejects(openAt(test, { endpoint }).list('', undefined, signal), expected)
  })

  for (const [name, status, code] of [
    ['InvalidObjectState', 403, 'not_set_up'],
    ['SlowDown', 503, 'source_failed'],
    ['AccessDenied', 403, 'permission_missing'],
    ['KMSDisabledException', 400, 'not_set_up'],
  ] as const) {
    it(`reports ${name} of an object`, async (test) => {
      const error = `<Error><Code>${name}</Code><Message>A message of theirs.</Message></Error>`
      const { url: endpoint } = await scripted(test, error, status)
      await assert.rejects(openAt(test, { endpoint }).read(object, 0, 8, signal), { name: 'ProbeFailure', code })
    })
  }

  it('reports an archived object as a failure of this object only', async (test) => {
    const failureOf = async (name: string): Promise<unknown> => {
      const { url: endpoint } = await scripted(test, `<Error><Code>${name}</Code></Error>`, 403)
      return openAt(test, { endpoint })
        .read(object, 0, 8, signal)
        .catch((error: unknown) => error)
    }
    assert.ok((await failureOf('InvalidObjectState')) instanceof ObjectUnavailable)
    for (const name of ['KMSDisabledException', 'AccessDenied']) {
      assert.ok(!((await failureOf(name)) instanceof ObjectUnavailable), name)
    }
  })

  describe('answers a HEAD request without an error code', () => {
    /** Answers HEAD with a status, and a list with the given objects. */
    const answering = async (test: TestContext, status: number, list: string, listStatus = 200) => {
      const server = await startScripted(({ method }, response) => {
        if (method === 'HEAD') response.writeHead(status).end()
        else response.writeHead(listStatus).end(list)
      })
      test.after(() => server.stop())
      const find = (key: string) => openAt(test, { endpoint: server.url }).find(key, signal)
      return { find, asked: () => server.requests.map(({ method, url }) => `${method} ${url}`) }
    }

    it('reports a missing object when a list does not have it', async (test) => {
      for (const status of [404, 400]) {
        const { find, asked } = await answering(test, status, listOf(contentsOf('a.json.bak')))
        assert.equal(await find('a.json'), undefined)
        assert.match(asked()[1] ?? '', /^GET .*list-type=2&max-keys=1&prefix=a\.json/)
      }
    })

    it('finds an object that a list has, unless its name is invalid', async (test) => {
      const missing = await answering(test, 404, listOf(contentsOf('a.json')))
      assert.equal((await missing.find('a.json'))?.etag, 'x')
      const refused = await answering(test, 400, listOf(contentsOf('a.json')))
      assert.equal(await refused.find('a.json'), undefined)
    })

    for (const [name, status, code] of [
      ['NoSuchBucket', 404, 'not_found'],
      ['ExpiredToken', 400, 'credentials_refused'],
      ['AccessDenied', 403, 'permission_missing'],
      ['', 404, 'protocol_mismatch'],
    ] as const) {
      it(`reports the error of a list: ${name || 'without code'}`, async (test) => {
        for (const ofHead of [404, 400]) {
          const error = name && `<Error><Code>${name}</Code></Error>`
          const { find } = await answering(test, ofHead, error, status)
          await assert.rejects(find('a.json'), { name: 'ProbeFailure', code }, `${ofHead}`)
        }
      })
    }

    it('is not asked for an invalid key', async (test) => {
      const { find, asked } = await answering(test, 500, '')
      assert.equal(await find('é'.repeat(513)), undefined)
      assert.deepEqual(asked(), [])
      await assert.rejects(find('é'.repeat(512)), { code: 'source_failed' })
    })

    it('does not cause endless retries when the region is guessed', async (test) => {
      const server = await startScripted(({ method, url = '' }, response) => {
        const isList = url.includes('list-type')
        if (method === 'HEAD') response.writeHead(400).end()
        else if (isList) response.end(listOf(''))
        else response.writeHead(400).end('<Error><Code>XMinioInvalidObjectName</Code></Error>')
      })
      test.after(() => server.stop())
      const store = openAt(test, { endpoint: server.url, isRegionGuessed: true })
      assert.equal(await store.find('a.json', signal), undefined)
    })
  })

  for (const [name, status] of [
    ['PreconditionFailed', 412],
    ['NoSuchKey', 404],
    ['InvalidRange', 416],
  ] as const) {
    it(`treats ${name} as a changed object`, async (test) => {
      const { url: endpoint } = await scripted(test, `<Error><Code>${name}</Code></Error>`, status)
      await assert.rejects(openAt(test, { endpoint }).read(object, 0, 8, signal), { name: 'ObjectChanged' })
    })
  }
})
