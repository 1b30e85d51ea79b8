// Failures of a source with a queue: wrong configuration, missing permissions and temporary errors.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { makeCertificates } from '../../../test/sources/certificates.ts'
import { loopbackEgress, probeFails, strictEgress } from '../../../test/sources/conformance.ts'
import { keyOf, type ObjectServer, startObjectServer } from '../../../test/sources/object-server.ts'
import { line } from '../../../test/sources/object-storage-common.ts'
import { plainContext } from '../../../test/sources/object-storage-conformance.ts'
import { readOnce } from '../../../test/sources/queue-common.ts'
import {
  type QueueServer,
  type QueueServerOptions,
  s3Event,
  startQueueServer,
} from '../../../test/sources/queue-server.ts'
import { startScripted, startSilent } from '../../../test/sources/scripted-server.ts'
import type { ObjectStorageSource } from '../../source-shapes/object-storage-source.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import type { Batch, ReadableSource, SourceContext, SourceReader } from '../source.ts'
import type { HoldTimes } from './held-messages.ts'
import { makeObjectStorageSource } from './object-storage.ts'

const owner = keyOf('owner')
const secrets = [owner.accessKeyId, owner.secretKey]
const brief: HoldTimes = { holdMs: 1_000, extendEveryMs: 100 }

let objects: ObjectServer
before(async () => {
  objects = await startObjectServer()
  await objects.createBucket('data')
  await objects.put('data', 'a', line(1))
  await objects.put('data', 'b', line(2))
})
after(() => objects.stop())

interface Made {
  queueUrl: string
  more?: Partial<ObjectStorageSource>
  accessKey?: { accessKeyId: string; secretKey: string }
  context?: Partial<SourceContext>
}

function sourceWith({ queueUrl, more = {}, accessKey = owner, context = {} }: Made): ReadableSource {
  const config: ObjectStorageSource = {
    type: 's3',
    format: 'JSONEachRow',
    compression: 'auto',
    isContinuous: true,
    skipInitialLoad: true,
    authentication: 'IAM_USER',
    url: `${objects.endpoint}/data/*`,
    queueUrl,
    ...more,
  }
  const { accessKeyId, secretKey } = accessKey
  return makeObjectStorageSource(
    config,
    { accessKey: { accessKeyId, secretKey } },
    { ...plainContext, ...context },
    brief,
  )
}

async function queueIn(test: TestContext, options: QueueServerOptions = {}) {
  const server = await startQueueServer(options)
  test.after(() => server.stop())
  const queueUrl = await server.createQueue('new-objects')
  return { server, queueUrl, announce: (...keys: string[]) => announceTo(server, queueUrl, keys) }
}

const announceTo = (server: QueueServer, queueUrl: string, keys: string[]) =>
  server.send(queueUrl, s3Event('data', ...keys.map((key) => ({ key }))))

async function openIn(test: TestContext, source: ReadableSource): Promise<SourceReader> {
  const reader = await source.open({}, { egress: loopbackEgress, signal: AbortSignal.timeout(30_000) })
  test.after(() => reader.close())
  return reader
}

const read = (reader: SourceReader, waitMs = 0): Promise<Batch[]> =>
  reader.read({ maxRecords: 10, maxBytes: 1e9, waitMs, signal: AbortSignal.timeout(20_000) })
const finish = (reader: SourceReader, batches: Batch[]): Promise<void> =>
  reader.acknowledge(Object.fromEntries(batches.map(({ partition }) => [partition, 'finished'])))

describe('a queue that cannot be used', () => {
  it('is reported without permission to describe it', async (test) => {
    const keys = [{ ...owner, denies: ['sqs:GetQueueAttributes'] }]
    const { queueUrl } = await queueIn(test, { keys })
    const missing = { step: 'describe', code: 'permission_missing', field: 'accessKey' } as const
    const { reason, remedy } = await probeFails(sourceWith({ queueUrl }), missing, { secrets })
    assert.equal(reason, 'the credentials do not allow sqs:GetQueueAttributes on the queue "new-objects"')
    assert.equal(remedy, 'allow sqs:GetQueueAttributes on it')
  })

  it('is reported without permission to receive', async (test) => {
    const { queueUrl } = await queueIn(test, { keys: [{ ...owner, denies: ['sqs:ReceiveMessage'] }] })
    const reader = await openIn(test, sourceWith({ queueUrl }))
    await assert.rejects(read(reader), { code: 'permission_missing', reason: /sqs:ReceiveMessage/ })
  })

  it('is reported for unknown and wrong credentials', async (test) => {
    const { queueUrl } = await queueIn(test, { keys: [keyOf('somebody')] })
    const refused = { step: 'authenticate', code: 'credentials_refused', field: 'accessKey' } as const
    await probeFails(sourceWith({ queueUrl }), refused, { secrets })
    const other = await queueIn(test, { keys: [{ ...owner, secretKey: 'another-secret' }] })
    await probeFails(sourceWith({ queueUrl: other.queueUrl }), refused, { secrets })
  })

  it('is reported when it is in another region', async (test) => {
    const elsewhere = await startScripted((_, response) => {
      const message = 'Credential should be scoped to a valid region. '
      response.writeHead(403, { 'content-type': 'application/x-amz-json-1.0' })
      response.end(JSON.stringify({ __type: 'SignatureDoesNotMatch', message }))
    })
    test.after(() => elsewhere.stop())
    const wrong = { step: 'describe', code: 'wrong_region', field: 'queueUrl' } as const
    await probeFails(sourceWith({ queueUrl: `${elsewhere.url}/1/new-objects` }), wrong, { secrets })
  })

  it('is reported for another kind of server, a closed port and an unknown host', async (test) => {
    const page = await startScripted((_, response) => response.end('<html>hello</html>'))
    test.after(() => page.stop())
    const mismatch = { step: 'describe', code: 'protocol_mismatch', field: 'queueUrl' } as const
    const { reason } = await probeFails(sourceWith({ queueUrl: `${page.url}/1/q` }), mismatch, { secrets })
    assert.doesNotMatch(reason, /hello/)
    const gone = await startScripted(() => undefined)
    await gone.stop()
    const refused = { step: 'connect', code: 'connection_refused', field: 'queueUrl' } as const
    await probeFails(sourceWith({ queueUrl: `${gone.url}/1/q` }), refused, { secrets })
    const unknown = { step: 'connect', code: 'host_unknown', field: 'queueUrl' } as const
    await probeFails(sourceWith({ queueUrl: 'http://sqs.nowhere.invalid/1/q' }), unknown, { secrets })
  })

  it('is subject to the time limit', async (test) => {
    const silent = await startSilent()
    test.after(() => silent.stop())
    const timedOut = { step: 'describe', code: 'timed_out', field: 'queueUrl' } as const
    await probeFails(sourceWith({ queueUrl: `${silent.url}/1/q` }), timedOut, { secrets, timeoutMs: 700 })
    await silent.left()
  })

  it('is not connected to if the operator denies its address', async (test) => {
    const { queueUrl } = await queueIn(test)
    const more = { url: 'https://nowhere.invalid/data/*' }
    const source = sourceWith({ queueUrl, more })
    const denied = { name: 'ProbeFailure', code: 'address_denied', field: 'queueUrl' }
    await assert.rejects(readOnce(source, strictEgress), denied)
  })

  it('is rejected without TLS unless the operator allows it, even if the store has TLS', async (test) => {
    const { ca, server: certificate } = await makeCertificates()
    const secure = await startObjectServer({ tls: certificate })
    test.after(() => secure.stop())
    await secure.createBucket('data')
    const { queueUrl } = await queueIn(test)
    const context = { allowPlaintext: false, caCertificates: ca }
    const source = sourceWith({ queueUrl, more: { url: `${secure.endpoint}/data/*` }, context })
    const refused = { step: 'tls', code: 'tls_refused', field: 'queueUrl' } as const
    await probeFails(source, refused, { secrets })
    const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(5_000) }
    await assert.rejects(source.open({}, surroundings), { code: 'tls_refused', field: 'queueUrl' })
  })

  it('is ignored by a source whose cloud has no queues', async (test) => {
    const { queueUrl, announce } = await queueIn(test)
    await announce('b')
    for (const type of ['gcs', 'dospaces'] as const) {
      const more = { type, url: `${objects.endpoint}/data/a`, skipInitialLoad: false }
      const [batch] = await readOnce(sourceWith({ queueUrl, more }))
      assert.deepEqual([batch?.partition, batch?.object?.key], ['objects', 'a'])
      await readOnce(sourceWith({ queueUrl: 'http://127.0.0.1:1/1/q', more }))
    }
  })

  it('is rejected for a source without credentials', async (test) => {
    const { queueUrl } = await queueIn(test)
    const config = { type: 's3', format: 'JSONEachRow', compression: 'auto', isContinuous: true, queueUrl } as const
    const source = makeObjectStorageSource({ ...config, url: `${objects.endpoint}/data/*` }, {}, plainContext)
    const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(5_000) }
    await assert.rejects(source.open({}, surroundings), { code: 'not_set_up', field: 'authentication' })
  })
})

/** Returns the URL of a queue that always returns the same messages. */
async function queueWith(test: TestContext, messages: object[]): Promise<string> {
  const queue = await startScripted(({ headers }, response) => {
    const isReceive = String(headers['x-amz-target']).endsWith('.ReceiveMessage')
    const answer = isReceive ? { Messages: messages } : { Attributes: { ApproximateNumberOfMessages: '10' } }
    response.setHeader('content-type', 'application/x-amz-json-1.0')
    response.end(JSON.stringify(answer))
  })
  test.after(() => queue.stop())
  return `${queue.url}/1/q`
}

describe('a queue with temporary errors', () => {
  it('is retried when it fails or limits the rate', async (test) => {
    let error: { status: number; code: string } | undefined
    const { queueUrl, announce } = await queueIn(test, { interfere: () => error })
    await announce('a')
    for (const each of [
      { status: 500, code: 'InternalFailure' },
      { status: 503, code: 'ServiceUnavailable' },
      { status: 400, code: 'RequestThrottled' },
      { status: 403, code: 'OverLimit' },
    ]) {
      error = each
      await assert.rejects(readOnce(sourceWith({ queueUrl })), NotConnected, each.code)
    }
    error = undefined
    const reader = await openIn(test, sourceWith({ queueUrl }))
    assert.equal((await read(reader, 5_000)).length, 1)
  })

  it('is reported as unreachable, not the store', async (test) => {
    let broken: string | undefined
    const interfere = (action: string) => (action === broken ? { status: 503, code: 'ServiceUnavailable' } : undefined)
    const { queueUrl, announce } = await queueIn(test, { interfere })
    await announce('a')
    const unreachable = `the queue at ${new URL(queueUrl).host}`
    for (const action of ['sqs:GetQueueAttributes', 'sqs:ReceiveMessage']) {
      broken = action
      await assert.rejects(readOnce(sourceWith({ queueUrl })), { name: 'NotConnected', unreachable }, action)
    }
    broken = undefined
    const reader = await openIn(test, sourceWith({ queueUrl }))
    const given = await read(reader, 5_000)
    broken = 'sqs:DeleteMessage'
    await assert.rejects(finish(reader, given), { name: 'NotConnected', unreachable })
  })

  it('is read although messages cannot be extended', async (test) => {
    const { queueUrl, announce } = await queueIn(test, {
      keys: [{ ...owner, denies: ['sqs:ChangeMessageVisibility'] }],
    })
    await announce('a')
    const reader = await openIn(test, sourceWith({ queueUrl }))
    const given = await read(reader, 5_000)
    assert.equal(given.length, 1)
    await wait(1_300)
    assert.deepEqual(await read(reader), [], 'it comes again, and is being loaded')
    await finish(reader, given)
    assert.deepEqual(await read(reader, 1_000), [])
  })

  it('is reported when messages may not be deleted, because they would be delivered again forever', async (test) => {
    const { queueUrl, announce } = await queueIn(test, { keys: [{ ...owner, denies: ['sqs:DeleteMessage'] }] })
    await announce('a')
    const reader = await openIn(test, sourceWith({ queueUrl }))
    const given = await read(reader, 5_000)
    const missing = { name: 'ProbeFailure', code: 'permission_missing', reason: /sqs:DeleteMessage/ }
    await assert.rejects(finish(reader, given), missing)
    await assert.rejects(read(reader), missing)
  })

  it('redelivers a message that could not be deleted, as the same partition', async (test) => {
    let isBroken = false
    const interfere = (action: string) =>
      isBroken && action === 'sqs:DeleteMessage' ? { status: 500, code: 'InternalFailure' } : undefined
    const { server, queueUrl, announce } = await queueIn(test, { interfere })
    await announce('a', 'b')
    const reader = await openIn(test, sourceWith({ queueUrl }))
    const given = await read(reader, 5_000)
    isBroken = true
    await assert.rejects(finish(reader, given), NotConnected)
    isBroken = false
    const again = await read(reader, 5_000)
    const partitionsOf = (batches: Batch[]) => batches.map(({ partition }) => partition).toSorted()
    assert.deepEqual(partitionsOf(again), partitionsOf(given))
    await finish(reader, again)
    assert.deepEqual(await server.attributes(queueUrl), { waiting: 0, held: 0 })
  })

  it('loses no messages when the store fails', async (test) => {
    const { queueUrl, announce } = await queueIn(test)
    await announce('a', 'b')
    let broken = ['a', 'b']
    const store = await startScripted((request, response) => {
      if (broken.some((key) => request.url === `/data/${key}`)) response.writeHead(503).end()
      else response.writeHead(200, { etag: '"e1"', 'content-length': '9' }).end()
    })
    test.after(() => store.stop())
    const reader = await openIn(test, sourceWith({ queueUrl, more: { url: `${store.url}/data/*` } }))
    const partitionsOf = async () => (await read(reader, 5_000)).map(({ partition }) => partition)
    await assert.rejects(partitionsOf(), (error) => error instanceof NotConnected && error.unreachable === undefined)
    await assert.rejects(partitionsOf(), NotConnected)
    broken = ['a']
    assert.deepEqual(await partitionsOf(), ['object:e1 b'])
    await assert.rejects(partitionsOf(), NotConnected)
    broken = []
    assert.deepEqual(await partitionsOf(), ['object:e1 a'])
  })

  it('is read with messages of the maximum size', { timeout: 60_000 }, async (test) => {
    const body = '"\n'.repeat(500_000)
    const messages = Array.from({ length: 10 }, (_, index) => ({
      MessageId: `${index}`,
      ReceiptHandle: `${index}`,
      Body: body,
      Attributes: { ApproximateReceiveCount: '3' },
    }))
    const reader = await openIn(test, sourceWith({ queueUrl: await queueWith(test, messages) }))
    const batches = await read(reader)
    assert.equal(batches.length, 10)
    assert.equal(batches[0]?.rejected?.raw.length, body.length)
  })

  it('is limited to the requested number of messages', async (test) => {
    const messages = Array.from({ length: 500 }, (_, index) => ({
      MessageId: `${index}`,
      ReceiptHandle: `${index}`,
      Body: 'nonsense',
      Attributes: { ApproximateReceiveCount: '3' },
    }))
    const reader = await openIn(test, sourceWith({ queueUrl: await queueWith(test, messages) }))
    assert.equal(
      (await reader.read({ maxRecords: 10, maxBytes: 1e9, waitMs: 0, signal: AbortSignal.timeout(9_000) })).length,
      10,
    )
    for (let look = 0; look < 500 && reader.lag() === undefined; look++) await wait(20)
    assert.equal(reader.lag(), 10 + 10)
  })

  it('is counted by one of several readers, and each reports the messages that it holds', async (test) => {
    const messages = ['a', 'b', 'a'].map((key, index) => ({
      MessageId: `${index}`,
      ReceiptHandle: `${index}`,
      Body: s3Event('data', { key }),
    }))
    const queueUrl = await queueWith(test, messages)
    const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(20_000) }
    const lagOf = async (index: number): Promise<number | undefined> => {
      const reader = await sourceWith({ queueUrl }).open({}, surroundings, { assignment: { index, count: 3 } })
      test.after(() => reader.close())
      await read(reader)
      for (let look = 0; look < 500 && reader.lag() === undefined; look++) await wait(20)
      return reader.lag()
    }
    assert.deepEqual([await lagOf(0), await lagOf(1), await lagOf(2)], [10 + 3, 3, 3])
  })
})
