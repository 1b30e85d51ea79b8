// GetRecords responses on the wire: complete, chunked, truncated, or stalled.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { accessKey, kinesisConfig } from '../../../test/sources/kinesis-source-at.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { type Kinesis, makeKinesis } from './kinesis-client.ts'

const records = Array.from({ length: 200 }, (_, index) => `${index} `.repeat(5_000))

function pageOf(texts: string[]): string {
  return JSON.stringify({
    Records: texts.map((text, index) => ({
      SequenceNumber: String(index),
      PartitionKey: 'a',
      ApproximateArrivalTimestamp: 1_700_000_000,
      Data: Buffer.from(text).toString('base64'),
    })),
    NextShardIterator: 'next',
    MillisBehindLatest: 0,
  })
}

const page = pageOf(records)

interface RecordedRequest {
  target: string
  body: unknown
  connection: string
}

/** Responses to the first request, the second, and so on; the last one repeats. */
type Respond = (response: ServerResponse) => unknown

const whole: Respond = (response) => response.writeHead(200, { 'content-length': Buffer.byteLength(page) }).end(page)
const chunked: Respond = (response) => {
  response.write(page.slice(0, 100_000))
  response.end(page.slice(100_000))
}
const truncated: Respond = (response) => {
  response.writeHead(200, { 'content-length': Buffer.byteLength(page) })
  response.write(page.slice(0, 1_000_000), () => response.destroy())
}
const stalled: Respond = (response) => {
  response.writeHead(200, { 'content-length': Buffer.byteLength(page) })
  response.write(page.slice(0, 1_000_000))
}
const tooLarge: Respond = (response) => {
  response.writeHead(200, { 'content-length': 17_000_000 })
  response.write('{"Records":[')
}
const expired: Respond = (response) => {
  const body = JSON.stringify({ __type: 'ExpiredIteratorException', message: 'Iterator expired' })
  response.writeHead(400, { 'content-type': 'application/x-amz-json-1.1', 'content-length': body.length }).end(body)
}

describe('a page of records', { timeout: 60_000 }, () => {
  let server: Server
  let kinesis: Kinesis
  let requests: RecordedRequest[] = []
  afterEach(() => {
    kinesis.close()
    server.closeAllConnections()
    server.close()
    requests = []
  })

  async function start(...responses: Respond[]): Promise<Kinesis> {
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const respond = responses[Math.min(requests.length, responses.length - 1)]
      requests.push({
        target: String(request.headers['x-amz-target']),
        body: JSON.parse(String(Buffer.concat(chunks))),
        connection: String(request.socket.remotePort),
      })
      respond?.(response)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const context = {
      organizationId: 'an-organization',
      pipeId: 'a-pipe',
      caCertificates: undefined,
      allowPlaintext: false,
      awsEndpoints: { kinesis: `http://127.0.0.1:${port}` },
    }
    const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(50_000) }
    kinesis = makeKinesis(kinesisConfig, { accessKey }, context, connectOptions)
    return kinesis
  }

  async function readTexts(iterator = 'first'): Promise<string[]> {
    const read = await kinesis.readPage(iterator, 1_000)
    assert.ok(typeof read === 'object')
    assert.equal(read.next, 'next')
    return read.records.map(({ data }) => Buffer.from(data).toString())
  }

  it('uses one connection for several pages', async () => {
    await start(whole)
    for (const iterator of ['one', 'two', 'three']) assert.deepEqual(await readTexts(iterator), records)
    assert.deepEqual(
      requests.map(({ target, body }) => [target, body]),
      ['one', 'two', 'three'].map((ShardIterator) => ['Kinesis_20131202.GetRecords', { ShardIterator, Limit: 1_000 }]),
    )
    assert.equal(new Set(requests.map(({ connection }) => connection)).size, 1)
  })

  it('is not overwritten by later pages', async () => {
    const textsOf = (order: number): string[] => records.map((text) => text.replaceAll(' ', ` ${order}`))
    await start((response) => {
      const text = pageOf(textsOf(requests.length))
      response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text)
    })
    const read = async () => {
      const given = await kinesis.readPage('first', 1_000)
      assert.ok(typeof given === 'object')
      return given.records.map(({ data }) => data)
    }
    const pages = [await read(), await read(), ...(await Promise.all([read(), read(), read()])), await read()]
    const found = pages.map((datas) => datas.map((data) => Buffer.from(data).toString())).toSorted()
    assert.deepEqual(found, [1, 2, 3, 4, 5, 6].map(textsOf).toSorted())
  })

  it('can use chunked encoding', async () => {
    await start(chunked)
    assert.deepEqual(await readTexts(), records)
  })

  it('is requested again after a truncated response', async () => {
    await start(truncated, whole)
    assert.deepEqual(await readTexts(), records)
    assert.equal(requests.length, 2)
  })

  it('is a temporary failure when the response is truncated twice', async () => {
    await start(truncated)
    await assert.rejects(kinesis.readPage('first', 1_000), (error) => {
      assert.ok(error instanceof ProbeFailure)
      assert.match(error.reason, /breaks the connection off/)
      return true
    })
  })

  it('ends when the signal aborts', async () => {
    await start(stalled)
    const stopping = new AbortController()
    const read = kinesis.readPage('first', 1_000, stopping.signal)
    while (requests.length === 0) await wait(5)
    await wait(50)
    const abortedAtMs = performance.now()
    stopping.abort()
    await assert.rejects(read)
    assert.ok(performance.now() - abortedAtMs < 5_000)
  })

  it('is rejected when it exceeds the limit of Kinesis', async () => {
    await start(tooLarge)
    await assert.rejects(kinesis.readPage('first', 1_000), ProbeFailure)
  })

  it('reports an expired iterator', async () => {
    await start(expired, whole)
    assert.equal(await kinesis.readPage('first', 1_000), 'expired')
    assert.deepEqual(await readTexts(), records)
  })
})
