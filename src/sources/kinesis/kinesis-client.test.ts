// How pages of records come over the wire: whole, in pieces, broken off, or not at all.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { accessKey, kinesisConfig } from '../../../test/sources/kinesis-source-at.ts'
import { ProbeFailure } from '../source.ts'
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

interface Asked {
  target: string
  body: unknown
  connection: string
}

/** What it does with the first request, the second, and so on; the last way is that of all others. */
type Way = (response: ServerResponse) => unknown

const whole: Way = (response) => response.writeHead(200, { 'content-length': Buffer.byteLength(page) }).end(page)
const chunked: Way = (response) => {
  response.write(page.slice(0, 100_000))
  response.end(page.slice(100_000))
}
const brokenOff: Way = (response) => {
  response.writeHead(200, { 'content-length': Buffer.byteLength(page) })
  response.write(page.slice(0, 1_000_000), () => response.destroy())
}
const stalled: Way = (response) => {
  response.writeHead(200, { 'content-length': Buffer.byteLength(page) })
  response.write(page.slice(0, 1_000_000))
}
const tooLarge: Way = (response) => {
  response.writeHead(200, { 'content-length': 17_000_000 })
  response.write('{"Records":[')
}
const expired: Way = (response) => {
  const body = JSON.stringify({ __type: 'ExpiredIteratorException', message: 'Iterator expired' })
  response.writeHead(400, { 'content-type': 'application/x-amz-json-1.1', 'content-length': body.length }).end(body)
}

describe('a page of records', { timeout: 60_000 }, () => {
  let server: Server
  let kinesis: Kinesis
  let asked: Asked[] = []
  afterEach(() => {
    kinesis.close()
    server.closeAllConnections()
    server.close()
    asked = []
  })

  async function start(...ways: Way[]): Promise<Kinesis> {
    server = createServer(async (request, response) => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece)
      const way = ways[Math.min(asked.length, ways.length - 1)]
      asked.push({
        target: String(request.headers['x-amz-target']),
        body: JSON.parse(String(Buffer.concat(pieces))),
        connection: String(request.socket.remotePort),
      })
      way?.(response)
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
    const surroundings = { egress: loopbackEgress, signal: AbortSignal.timeout(50_000) }
    kinesis = makeKinesis(kinesisConfig, { accessKey }, context, surroundings)
    return kinesis
  }

  async function readTexts(iterator = 'first'): Promise<string[]> {
    const read = await kinesis.readPage(iterator, 1_000)
    assert.ok(typeof read === 'object')
    assert.equal(read.next, 'next')
    return read.records.map(({ data }) => Buffer.from(data).toString())
  }

  it('comes over one connection, page after page', async () => {
    await start(whole)
    for (const iterator of ['one', 'two', 'three']) assert.deepEqual(await readTexts(iterator), records)
    assert.deepEqual(
      asked.map(({ target, body }) => [target, body]),
      ['one', 'two', 'three'].map((ShardIterator) => ['Kinesis_20131202.GetRecords', { ShardIterator, Limit: 1_000 }]),
    )
    assert.equal(new Set(asked.map(({ connection }) => connection)).size, 1)
  })

  it('stays as it is while others come', async () => {
    const textsOf = (order: number): string[] => records.map((text) => text.replaceAll(' ', ` ${order}`))
    await start((response) => {
      const text = pageOf(textsOf(asked.length))
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

  it('may come in pieces of unknown number', async () => {
    await start(chunked)
    assert.deepEqual(await readTexts(), records)
  })

  it('is asked for again when it is broken off', async () => {
    await start(brokenOff, whole)
    assert.deepEqual(await readTexts(), records)
    assert.equal(asked.length, 2)
  })

  it('is a failure that passes when it is broken off again', async () => {
    await start(brokenOff)
    await assert.rejects(kinesis.readPage('first', 1_000), (error) => {
      assert.ok(error instanceof ProbeFailure)
      assert.match(error.reason, /breaks the connection off/)
      return true
    })
  })

  it('is not waited for any longer than whoever asked', async () => {
    await start(stalled)
    const stopping = new AbortController()
    const read = kinesis.readPage('first', 1_000, stopping.signal)
    while (asked.length === 0) await wait(5)
    await wait(50)
    const abortedAtMs = performance.now()
    stopping.abort()
    await assert.rejects(read)
    assert.ok(performance.now() - abortedAtMs < 5_000)
  })

  it('is none when it is larger than Kinesis makes them', async () => {
    await start(tooLarge)
    await assert.rejects(kinesis.readPage('first', 1_000), ProbeFailure)
  })

  it('is none when the iterator has expired', async () => {
    await start(expired, whole)
    assert.equal(await kinesis.readPage('first', 1_000), 'expired')
    assert.deepEqual(await readTexts(), records)
  })
})
