import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { Undecodable } from '../undecodable.ts'
import { decompressedStream } from './compressed-stream.ts'

const text = Buffer.from('rows of text, '.repeat(20_000))
const half = text.length / 2
const parts = [text.subarray(0, half), text.subarray(half)]
// `printf 'rows of text' | xz`
const xz = Buffer.from(
  '/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQALcm93cyBvZiB0ZXh0AIkXhZrxVFsiAAEkDKYY2NgftvN9AQAAAAAEWVo=',
  'base64',
)

const stored: { name: string; key: string; bytes: Buffer; expected: Buffer }[] = [
  { name: 'nothing', key: 'a.json', bytes: text, expected: text },
  { name: 'gzip', key: 'a.json.gz', bytes: gzipSync(text), expected: text },
  {
    name: 'gzip of several members',
    key: 'a',
    bytes: Buffer.concat(parts.map((part) => gzipSync(part))),
    expected: text,
  },
  { name: 'brotli', key: 'a.json.br', bytes: brotliCompressSync(text), expected: text },
  { name: 'zstd', key: 'a', bytes: zstdCompressSync(text), expected: text },
  {
    name: 'zstd of several frames',
    key: 'a.zst',
    bytes: Buffer.concat(parts.map((part) => zstdCompressSync(part))),
    expected: text,
  },
]

/** Small enough for chunks of one byte. */
async function recompressed(bytes: Buffer, key: string): Promise<Buffer> {
  const few = (await readAll(inChunks(bytes, bytes.length), key)).subarray(0, 1_000)
  if (key.endsWith('.br')) return brotliCompressSync(few)
  return key.endsWith('.gz') ? gzipSync(few) : zstdCompressSync(few)
}

function inChunks(bytes: Buffer, chunkBytes: number): Readable {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes))
  return Readable.from(chunks)
}

const readAll = (body: Readable, key = 'a'): Promise<Buffer> => buffer(decompressedStream(body, key, 'auto'))

describe('decompressedStream', () => {
  for (const { name, key, bytes, expected } of stored) {
    it(`returns the whole object compressed with ${name}, for any chunk sizes`, async () => {
      for (const chunkBytes of [1, 7, 100, bytes.length]) {
        if (bytes.length / chunkBytes > 10_000) continue
        const all = await readAll(inChunks(bytes, chunkBytes), key)
        assert.ok(all.equals(expected), `in chunks of ${chunkBytes}`)
      }
    })
  }

  for (const { name, key, bytes, expected } of stored.filter(({ name }) => name !== 'nothing')) {
    it(`rejects trailing bytes of an object compressed with ${name}, for any chunk sizes`, async () => {
      const small = name.includes('several') ? bytes : await recompressed(bytes, key)
      const longer = Buffer.concat([small, Buffer.from('\0 other bytes')])
      for (const chunkBytes of [1, 7, 13, small.length, longer.length]) {
        if (longer.length / chunkBytes > 10_000) continue
        await assert.rejects(readAll(inChunks(longer, chunkBytes), key), Undecodable, `in chunks of ${chunkBytes}`)
      }
      const late = async function* (): AsyncGenerator<Buffer> {
        yield small
        await wait(20)
        yield Buffer.from('x')
      }
      await assert.rejects(readAll(Readable.from(late()), key), Undecodable)
      if (!name.startsWith('gzip')) return
      const padded = Buffer.concat([bytes, Buffer.alloc(1_000)])
      for (const chunkBytes of [100, bytes.length, padded.length]) {
        assert.ok((await readAll(inChunks(padded, chunkBytes), key)).equals(expected))
      }
    })
  }

  it('rejects unsupported methods, by name and first bytes', async () => {
    const unsupported: [name: string, key: string, firstBytes: string][] = [
      ['bzip2', 'a.csv', '425a6839314159265359'],
      ['LZ4', 'a.csv', '04224d186040'],
      ['Snappy', 'a.csv', 'ff060000734e61507059'],
      ['ZIP', 'a.csv', '504b0304140000'],
      ['bzip2', 'a.csv.bz2', '612c62'],
      ['LZ4', 'a.lz4', '612c62'],
      ['Snappy', 'a.json.snappy', '7b7d'],
    ]
    for (const [name, key, firstBytes] of unsupported) {
      const body = inChunks(Buffer.from(firstBytes, 'hex'), 3)
      const reason = new RegExp(`${name}; gzip, brotli, xz and zstd are supported`)
      await assert.rejects(readAll(body, key), reason)
    }
    // The compression is inside.
    assert.equal(String(await readAll(inChunks(Buffer.from('PAR1 and more'), 5), 'a.snappy')), 'PAR1 and more')
    assert.equal(String(await readAll(inChunks(Buffer.from('BZh9 is text'), 5), 'a.csv')), 'BZh9 is text')
  })

  it('reads xz', async () => {
    assert.equal(String(await readAll(inChunks(xz, 5), 'a.xz')), 'rows of text')
  })

  it('returns nothing for an empty object', async () => {
    assert.equal((await readAll(Readable.from([]), 'a.gz')).length, 0)
  })

  it('reports a damaged or truncated object', async () => {
    for (const [bytes, reason] of [
      [gzipSync(text).subarray(0, 100), 'the object ends in the middle of its gzip data'],
      [zstdCompressSync(text).subarray(0, 30), 'the object ends in the middle of its zstd data'],
      [Buffer.concat([gzipSync(text).subarray(0, -8), Buffer.alloc(8, 1)]), 'the gzip data of the object is damaged'],
    ] as const) {
      await assert.rejects(readAll(inChunks(bytes, 10)), new Undecodable(reason))
    }
  })

  it('passes on errors of the store, for any compression', async () => {
    for (const { key, bytes } of stored) {
      const failing = Readable.from(
        (async function* () {
          yield bytes.subarray(0, 20)
          throw new NotConnected()
        })(),
      )
      await assert.rejects(readAll(failing, key), NotConnected)
    }
  })

  it('destroys the body when iteration stops early', async () => {
    for (const { key, bytes } of stored) {
      const body = inChunks(Buffer.concat([bytes, bytes]), 10)
      for await (const _ of decompressedStream(body, key, 'auto')) break
      assert.ok(body.destroyed, key)
    }
  })

  it('returns everything when chunks are freed, and frees unshared buffers', async () => {
    for (const { name, key, bytes, expected } of stored) {
      const cut = Math.floor(bytes.length / 2)
      const own = [bytes.subarray(0, cut), bytes.subarray(cut)].map((part) => Buffer.from(new Uint8Array(part).buffer))
      const copies: Buffer[] = []
      const stream = decompressedStream(Readable.from(own), key, 'auto', { frees: true })
      for await (const chunk of stream) copies.push(Buffer.from(chunk))
      assert.ok(Buffer.concat(copies).equals(expected), name)
      assert.equal(own[1]?.length, name === 'nothing' ? 0 : bytes.length - cut, name)
    }
  })

  it('frees no shared buffers, and none by default', async () => {
    const memory = Buffer.alloc(30_000, 'a')
    const whole = Buffer.alloc(10_000, 'a')
    for await (const _ of decompressedStream(inChunks(memory, 10_000), 'a', 'auto', { frees: true }));
    for await (const _ of decompressedStream(Readable.from([whole, whole]), 'a', 'auto'));
    assert.deepEqual([memory.length, whole.length], [30_000, 10_000])
  })
})
