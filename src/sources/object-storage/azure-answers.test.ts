// Answers and blob names that the tests with a complete Azure service do not cover.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { loopbackEgress } from '../../../test/sources/conformance.ts'
import { plainContext } from '../../../test/sources/object-storage-conformance.ts'
import { startScripted } from '../../../test/sources/scripted-server.ts'
import { openAzureStore } from './azure-blob-store.ts'
import { parsePattern } from './object-pattern.ts'
import { ObjectUnavailable } from './object-store.ts'

const { signal } = new AbortController()
const listOf = (...names: string[]) => {
  const properties = '<Properties><Etag>0x1</Etag><Content-Length>5</Content-Length></Properties>'
  const blobs = names.map((name) => `<Blob><Name>${name}</Name>${properties}</Blob>`)
  return `<EnumerationResults><Blobs>${blobs.join('')}</Blobs><NextMarker/></EnumerationResults>`
}
const stored = (key: string) => ({ key, sizeBytes: 5, etag: '0x1', modifiedAt: undefined })

async function storeAt(test: TestContext, answer: RequestListener) {
  const server = await startScripted(answer)
  const account = { endpoint: `${server.url}/account`, sharedKey: { accountName: 'account', accountKey: 'a2V5' } }
  const pattern = parsePattern('**', { isUrl: false })
  const store = openAzureStore({ kind: 'azure', container: 'data', account, pattern }, plainContext, {
    egress: loopbackEgress,
    signal,
  })
  test.after(async () => {
    store.close()
    await server.stop()
  })
  return { store, asked: () => server.requests.map(({ method, url }) => `${method} ${url}`) }
}

const xml = { 'content-type': 'application/xml' }

/** Answers HEAD with a status and an error code, and a list with the given blobs. */
const unclear =
  (status: number, name: string, list: string, ofList?: { status: number; name: string }): RequestListener =>
  ({ method }, response) => {
    const named = (code: string) => (code === '' ? {} : { 'x-ms-error-code': code })
    if (method === 'HEAD') response.writeHead(status, named(name)).end()
    else response.writeHead(ofList?.status ?? 200, { ...xml, ...named(ofList?.name ?? '') }).end(list)
  }

describe('a blob at Azure', () => {
  it('can be named `messages`', async (test) => {
    const { store } = await storeAt(test, ({ method }, response) => {
      response.writeHead(200, { etag: '"0x1"', 'content-length': 5 }).end(method === 'HEAD' ? undefined : 'hello')
    })
    for (const key of ['messages', 'in/messages']) {
      const found = await store.find(key, signal)
      assert.ok(found)
      assert.equal(await text(await store.open(found, signal)), 'hello')
    }
  })

  it('is never confused with another one because of its name', async (test) => {
    const { store, asked } = await storeAt(test, (_, response) => {
      response.writeHead(200, { etag: '"0x1"', 'content-length': 5 }).end('hello')
    })
    for (const key of ['2026/../../private/secret.json', '..', '.', 'a/./b', 'a/..']) {
      assert.equal(await store.find(key, signal), undefined)
      await assert.rejects(store.open(stored(key), signal), ObjectUnavailable)
      await assert.rejects(store.read(stored(key), 0, 5, signal), ObjectUnavailable)
    }
    assert.deepEqual(asked(), [])
    for (const key of ['a/..b/.c', '%2e%2e/a', 'a//b', 'a\\..\\b']) await store.read(stored(key), 0, 5, signal)
    assert.deepEqual(
      asked().map((line) => line.replace('GET /account/data/', '')),
      ['a/..b/.c', '%252e%252e/a', 'a//b', 'a%5C..%5Cb'],
    )
  })

  it('is missing when the service reports that, or has no error code and does not list it', async (test) => {
    const named = await storeAt(test, unclear(404, 'BlobNotFound', ''))
    assert.equal(await named.store.find('a', signal), undefined)
    assert.equal(named.asked().length, 1)
    const bare = await storeAt(test, unclear(404, '', listOf('ab')))
    assert.equal(await bare.store.find('a', signal), undefined)
    assert.match(bare.asked()[1] ?? '', /maxresults=1&.*prefix=a|prefix=a&.*maxresults=1/)
    const there = await storeAt(test, unclear(404, '', listOf('a')))
    assert.equal((await there.store.find('a', signal))?.etag, '0x1')
    for (const name of ['', 'InvalidUri', 'InvalidResourceName']) {
      const { store } = await storeAt(test, unclear(400, name, listOf('a')))
      assert.equal(await store.find('a', signal), undefined, name)
    }
    const tooLong = await storeAt(test, unclear(500, '', ''))
    assert.equal(await tooLong.store.find('a'.repeat(1_025), signal), undefined)
    assert.deepEqual(tooLong.asked(), [])
  })

  it('is not missing when the container is missing', async (test) => {
    for (const [status, name, code] of [
      [404, 'ContainerNotFound', 'not_found'],
      [400, 'InvalidResourceName', 'not_found'],
      [403, 'AuthenticationFailed', 'credentials_refused'],
      [404, '', 'protocol_mismatch'],
    ] as const) {
      for (const ofHead of [404, 400]) {
        const { store } = await storeAt(test, unclear(ofHead, '', '', { status, name }))
        await assert.rejects(store.find('a', signal), { name: 'ProbeFailure', code }, `${ofHead} ${name}`)
      }
    }
    const proxy = await storeAt(test, (_, response) => response.writeHead(404).end())
    await assert.rejects(proxy.store.open(stored('a'), signal), { name: 'ProbeFailure', code: 'protocol_mismatch' })
  })

  it('that is archived is a failure of this blob only', async (test) => {
    const failing = async (name: string): Promise<unknown> => {
      const { store } = await storeAt(test, (_, response) => {
        response.writeHead(409, { 'x-ms-error-code': name }).end()
      })
      return store.open(stored('a'), signal).catch((error: unknown) => error)
    }
    assert.ok((await failing('BlobArchived')) instanceof ObjectUnavailable)
    assert.ok(!((await failing('AccountIsDisabled')) instanceof ObjectUnavailable))
  })
})
