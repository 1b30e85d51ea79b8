import assert from 'node:assert/strict'
import type { RequestListener, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Certificate, type Certificates, makeCertificates } from '../../../test/sources/certificates.ts'
import { loopbackEgress, probe, probeFails, readAll } from '../../../test/sources/conformance.ts'
import { jsonLines } from '../../../test/sources/object-samples.ts'
import { type ObjectServer, startObjectServer } from '../../../test/sources/object-server.ts'
import {
  azureSource,
  objectStorageConformance,
  plainContext,
  s3Source,
} from '../../../test/sources/object-storage-conformance.ts'
import { startScripted, startSilent } from '../../../test/sources/scripted-server.ts'
import { NotConnected, type ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceContext } from '../source.ts'

const accessKey = { accessKeyId: 'AKIAOFSOMEONE0000000', secretKey: 'the-secret-of-someone' }
const secrets = [accessKey.accessKeyId, accessKey.secretKey]

objectStorageConformance(() => startObjectServer())

describe('a source of objects with TLS', () => {
  let certificates: Certificates
  before(async () => {
    certificates = await makeCertificates()
  })
  const trusting = (): SourceContext => ({ ...plainContext, allowPlaintext: false, caCertificates: certificates.ca })

  it('reports certificate errors', async () => {
    const failing = async (certificate: Certificate, context: SourceContext, code: ProbeFailure['code']) => {
      const server = await startObjectServer({ tls: certificate })
      const source = s3Source(`${server.endpoint}/data/*`, server.accessKey, {}, context)
      const expected = { step: 'tls', code, field: 'url' } as const
      return probeFails(source, expected, { secrets }).finally(() => server.stop())
    }
    await failing(certificates.expired, trusting(), 'certificate_expired')
    await failing(certificates.otherHost, trusting(), 'certificate_of_other_host')
    const { remedy } = await failing(certificates.server, plainContext, 'certificate_untrusted')
    assert.doesNotMatch(remedy, /caCertificate/, 'this source has no such field')
  })

  it('can be probed and read with an authority of the operator', async () => {
    const server = await startObjectServer({ tls: certificates.server })
    await server.createBucket('data')
    await server.put('data', 'a.json', jsonLines)
    const source = s3Source(`${server.endpoint}/data/*`, server.accessKey, {}, trusting())
    const { steps, samples } = await probe(source)
    assert.deepEqual(steps, ['connect', 'tls', 'authenticate', 'describe', 'read', 'decode'])
    assert.equal(samples[0]!.rows.length, 2)
    const signal = AbortSignal.timeout(10_000)
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    const [batch] = await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
    assert.ok((await buffer(await batch!.object!.open(signal))).equals(jsonLines))
    await reader.close()
    await server.stop()
  })

  it('is rejected without TLS unless the operator allows it', async () => {
    const server = await startObjectServer()
    const context = { ...plainContext, allowPlaintext: false }
    const source = s3Source(`${server.endpoint}/data/*`, server.accessKey, {}, context)
    const expected = { step: 'tls', code: 'tls_refused', field: 'url' } as const
    await probeFails(source, expected, { secrets })
    const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(5_000) }
    await assert.rejects(source.open({}, surroundings), { code: 'tls_refused' })
    const swapped = s3Source(`${server.endpoint.replace('http:', 'https:')}/data/*`, server.accessKey)
    await probeFails(swapped, expected, { secrets })
    await server.stop()
  })
})

/** Both kinds of store at an address. */
function sourcesAt(url: string) {
  const accountKey = Buffer.alloc(64, 3).toString('base64')
  const connectionString = `AccountName=me;AccountKey=${accountKey};BlobEndpoint=${url}/me`
  return [
    { source: s3Source(`${url}/data/*.json`, accessKey), field: 'url', secrets },
    { source: azureSource(connectionString, 'data', '*.json'), field: 'connectionString', secrets: [accountKey] },
  ]
}

async function answering(test: TestContext, answer: RequestListener) {
  const server = await startScripted(answer)
  test.after(() => server.stop())
  return server
}

describe('a source of objects at another kind of server', () => {
  const cases: [what: string, expected: Pick<ProbeFailure, 'step' | 'code'>, answer: RequestListener][] = [
    [
      'a page that is not found',
      { step: 'describe', code: 'protocol_mismatch' },
      (_, response) => response.writeHead(404).end('<html>no</html>'),
    ],
    [
      'a page',
      { step: 'describe', code: 'protocol_mismatch' },
      (_, response) => response.end('<html><body>hello<br></body></html>'),
    ],
    [
      'other XML',
      { step: 'describe', code: 'protocol_mismatch' },
      (_, response) => response.end('<?xml version="1.0"?><a><b>1</b></a>'),
    ],
    ['a broken connection', { step: 'describe', code: 'protocol_mismatch' }, (_, response) => response.destroy()],
    [
      'an error of the server',
      { step: 'describe', code: 'source_failed' },
      (_, response) => response.writeHead(500).end(),
    ],
    [
      'a redirect',
      { step: 'describe', code: 'protocol_mismatch' },
      (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    ],
  ]
  for (const [what, expected, answer] of cases) {
    it(`reports ${what}`, async (test) => {
      const server = await answering(test, answer)
      for (const { source, secrets } of sourcesAt(server.url)) {
        const { reason } = await probeFails(source, expected, { secrets })
        assert.doesNotMatch(reason, /html|hello/)
      }
      assert.ok(
        server.requests.every(({ url }) => url !== '/elsewhere'),
        'no redirect is followed',
      )
    })
  }

  it('reports a closed port and an unknown host', async () => {
    const server = await startScripted(() => undefined)
    await server.stop()
    for (const { source, field, secrets } of sourcesAt(server.url)) {
      await probeFails(source, { step: 'connect', code: 'connection_refused', field }, { secrets })
    }
    for (const { source, field, secrets } of sourcesAt('http://nowhere.invalid:9000')) {
      await probeFails(source, { step: 'connect', code: 'host_unknown', field }, { secrets })
    }
  })

  it('times out, and leaves nothing open', async () => {
    const silent = await startSilent()
    for (const { source, secrets } of sourcesAt(silent.url)) {
      const startedAtMs = performance.now()
      // The step depends on whether the store accepted the connection.
      const options = { secrets, timeoutMs: 1_000, timedStep: 'connect' } as const
      await probeFails(source, { step: 'describe', code: 'timed_out' }, options)
      assert.ok(performance.now() - startedAtMs < 8_000)
      await silent.left()
    }
    await silent.stop()
  })
})

const entry = (key: string, sizeBytes: number) =>
  `<Contents><Key>${key}</Key><Size>${sizeBytes}</Size><ETag>"1"</ETag></Contents>`
const listOf = (entries: string, isTruncated = false) =>
  `<?xml version="1.0"?><ListBucketResult><Name>data</Name><IsTruncated>${isTruncated}</IsTruncated>${entries}</ListBucketResult>`

function azureList(response: ServerResponse, key: string, sizeBytes: number): void {
  const properties =
    `<Last-Modified>${new Date().toUTCString()}</Last-Modified><Etag>0x1</Etag>` +
    `<Content-Length>${sizeBytes}</Content-Length><BlobType>BlockBlob</BlobType>`
  const blobs = `<Blobs><Blob><Name>${key}</Name><Properties>${properties}</Properties></Blob></Blobs>`
  response.setHeader('content-type', 'application/xml')
  response.end(`<?xml version="1.0"?><EnumerationResults>${blobs}<NextMarker/></EnumerationResults>`)
}

describe('a source of objects in a store that misbehaves', () => {
  it('reports an unsorted list, and does not loop', async (test) => {
    const server = await answering(test, (_, response) => response.end(listOf(entry('b.json', 5), true)))
    const source = s3Source(`${server.url}/data/*.json`, accessKey)
    await assert.rejects(readAll(source, {}), { name: 'ProbeFailure', code: 'not_set_up' })
    assert.ok(server.requests.length <= 3)
  })

  it('rejects an endless answer', async (test) => {
    for (const status of [200, 403]) {
      const server = await answering(test, (_, response) => {
        response.writeHead(status, { 'content-type': 'application/xml' })
        response.end(`<EnumerationResults><Blobs/>${'<a>x</a>'.repeat(1_000_000)}</EnumerationResults>`)
      })
      for (const { source, field, secrets } of sourcesAt(server.url)) {
        // The client of S3 still has the status of an error.
        const code = status === 403 && field === 'url' ? 'permission_missing' : 'protocol_mismatch'
        await probeFails(source, { step: 'describe', code }, { secrets })
      }
    }
  })

  it('lists at most ten pages', async (test) => {
    let page = 0
    const server = await answering(test, (_, response) => response.end(listOf(entry(`a${page++ + 100}`, 5), true)))
    const source = s3Source(`${server.url}/data/**.json`, accessKey)
    const expected = { step: 'describe', code: 'not_found', field: 'url' } as const
    const { reason } = await probeFails(source, expected, { secrets })
    assert.match(reason, /10,000/)
    assert.equal(server.requests.length, 10)
  })

  it('uses the start of an object when the store ignores Range', async (test) => {
    const server = await answering(test, ({ url }, response) =>
      response.end(url!.includes('list-type') ? listOf(entry('a.json', jsonLines.length)) : jsonLines),
    )
    const { samples } = await probe(s3Source(`${server.url}/data/*.json`, accessKey))
    assert.equal(samples[0]!.rows.length, 2)
  })

  it('detects a truncated object', async (test) => {
    const server = await answering(test, ({ url }, response) => {
      if (url!.includes('list-type')) return response.end(listOf(entry('a.json', 1_000)))
      if (url!.includes('comp=list')) return azureList(response, 'a.json', 1_000)
      response.writeHead(200, { 'content-length': 1_000, etag: '"0x1"' }).write('{"id":1}\n')
      return setImmediate(() => response.destroy())
    })
    for (const { source } of sourcesAt(server.url)) {
      const signal = AbortSignal.timeout(5_000)
      const reader = await source.open({}, { egress: loopbackEgress, signal })
      const [batch] = await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
      const stream = await batch!.object!.open(signal)
      await assert.rejects(stream.toArray(), NotConnected)
      await reader.close()
    }
  })

  it('ends open streams when the reader is closed', async (test) => {
    const server = await answering(test, ({ url }, response) => {
      if (url!.includes('list-type')) response.end(listOf(entry('a.json', 1_000)))
      else if (url!.includes('comp=list')) azureList(response, 'a.json', 1_000)
      else response.writeHead(200, { 'content-length': 1_000, etag: '"0x1"' }).write('{"id":1}\n')
    })
    for (const { source } of sourcesAt(server.url)) {
      const signal = AbortSignal.timeout(5_000)
      const reader = await source.open({}, { egress: loopbackEgress, signal })
      const [batch] = await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 0, signal })
      const whole = (await batch!.object!.open(signal)).toArray()
      await reader.close()
      await assert.rejects(whole, NotConnected)
    }
  })

  it('rejects with NotConnected when the reader is closed or a read is aborted, even with remaining objects', async (test) => {
    const contents = `${entry('a.json', 5)}${entry('b.json', 5)}`
    const server = await answering(test, (_, response) => response.end(listOf(contents, false)))
    const signal = AbortSignal.timeout(10_000)
    const source = s3Source(`${server.url}/data/*.json`, accessKey, { isContinuous: true })
    const open = () => source.open({}, { egress: loopbackEgress, signal })
    const limits = { maxRecords: 1, maxBytes: 1, waitMs: 60_000, signal }
    const reader = await open()
    assert.equal((await reader.read(limits)).length, 1)
    await assert.rejects(reader.read({ ...limits, signal: AbortSignal.abort() }), NotConnected)
    await reader.close()
    await assert.rejects(reader.read(limits), NotConnected)
    const waiting = await open()
    for (const _ of 'ab') await waiting.read(limits)
    const read = waiting.read(limits)
    await waiting.close()
    await assert.rejects(read, NotConnected)
  })

  it('rejects with NotConnected when the store stops', async () => {
    const server = await startObjectServer()
    await server.createBucket('data')
    await server.put('data', 'a.json', jsonLines)
    const source = s3Source(`${server.endpoint}/data/*`, server.accessKey, { isContinuous: true })
    const signal = AbortSignal.timeout(10_000)
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    const limits = { maxRecords: 1, maxBytes: 1, waitMs: 0, signal }
    const [batch] = await reader.read(limits)
    await server.stop()
    await assert.rejects(reader.read(limits), NotConnected)
    await assert.rejects(batch!.object!.open(signal), NotConnected)
    await reader.close()
  })
})

describe('credentials of a source of objects', () => {
  let server: ObjectServer & { temporary: { accessKeyId: string; secretKey: string; sessionToken: string } }
  const operator = { AWS_ACCESS_KEY_ID: 'AKIAOFTHEOPERATOR000', AWS_SECRET_ACCESS_KEY: 'the-secret-of-the-operator' }
  before(async () => {
    server = await startObjectServer()
    await server.createBucket('data')
    await server.put('data', 'a.json', jsonLines)
    Object.assign(process.env, operator)
  })
  after(async () => {
    for (const name of Object.keys(operator)) delete process.env[name]
    await server.stop()
  })

  it('are not used without authentication, even if the operator has some', async (test) => {
    const seen = await answering(test, (_, response) => response.end(listOf('')))
    await probe(s3Source(`${seen.url}/data/*`, undefined, { isContinuous: true }))
    assert.equal(seen.requests.length, 1)
    assert.equal(seen.requests[0]!.headers.authorization, undefined)
    assert.doesNotMatch(JSON.stringify(seen.requests[0]!.headers), /OPERATOR|nobody/i)
  })

  it('are those of the assumed role', async (test) => {
    const { accessKeyId, secretKey, sessionToken } = server.temporary
    const expiration = new Date(Date.now() + 3_600_000).toISOString()
    const sts = await answering(test, (_, response) => {
      response.setHeader('content-type', 'text/xml')
      response.end(
        `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>` +
          `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretKey}</SecretAccessKey>` +
          `<SessionToken>${sessionToken}</SessionToken><Expiration>${expiration}</Expiration>` +
          `</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
      )
    })
    const context = { ...plainContext, awsEndpoints: { s3: server.endpoint, sts: sts.url } }
    const role = { authentication: 'IAM_ROLE', iamRole: 'arn:aws:iam::123456789012:role/reader' } as const
    const source = s3Source('s3://data/*.json', undefined, role, context)
    const { samples } = await probe(source)
    assert.equal(samples[0]!.rows.length, 2)
    assert.equal(sts.requests.length, 1, 'one role for all that a probe asks')
  })

  it('cannot be an AWS role at other stores', async () => {
    const role = { type: 'gcs', authentication: 'IAM_ROLE', iamRole: 'arn:aws:iam::123456789012:role/reader' } as const
    const source = s3Source(`${server.endpoint}/data/*`, undefined, role)
    const expected = { step: 'authenticate', code: 'not_set_up', field: 'authentication' } as const
    await probeFails(source, expected, { secrets: [operator.AWS_SECRET_ACCESS_KEY] })
  })
})
