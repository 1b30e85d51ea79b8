import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliCompressSync, constants, crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Undecodable } from '../undecodable.ts'
import { compressionOf, decompress, readStart } from './compression.ts'
import type { Compression, ObjectBytes } from './decoding.ts'

function objectOf(key: string, bytes: Uint8Array): ObjectBytes & { readBytes: number } {
  return {
    key,
    sizeBytes: bytes.length,
    readBytes: 0,
    async read(start, end) {
      this.readBytes += end - start
      return bytes.subarray(start, end)
    },
  }
}

// Created with liblzma from the text "hello xz\n" 20 times.
const smallXz = Buffer.from(
  '/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4ACzAA9dADQZSe6N6RfQsmDzQC+AAAAADBXoe9JnPFYAASu0AQAAAJnoxfOxxGf7AgAAAAAEWVo=',
  'base64',
)
const smallText = 'hello xz\n'.repeat(20)

/** 2 MB of lines that do not compress well. */
const largeText = Array.from(
  { length: 40_000 },
  (_, index) => `${crc32(String(index))}${crc32(`${index}x`)}-${'y'.repeat(30)}\n`,
).join('')

function assertUndecodable(reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Undecodable)
    assert.match(error.reason, reason)
    return true
  }
}

describe('the compression of an object', () => {
  const gzip = gzipSync('text')
  const zstd = zstdCompressSync('text')

  it('is detected by the file extension, in any case', () => {
    for (const [key, bytes, method] of [
      ['a/b.json.gz', gzip, 'gzip'],
      ['B.JSON.GZIP', gzip, 'gzip'],
      ['b.br', brotliCompressSync('text'), 'brotli'],
      ['b.XZ', smallXz, 'xz'],
      ['b.lzma', smallXz, 'xz'],
      ['b.zst', zstd, 'zstd'],
      ['b.zstd', zstd, 'zstd'],
      ['b.json', Buffer.from('{}'), 'none'],
    ] as const) {
      assert.equal(compressionOf(key, bytes, 'auto'), method, key)
    }
  })

  it('is detected by the first bytes without a known extension', () => {
    assert.equal(compressionOf('part-1', gzip, 'auto'), 'gzip')
    assert.equal(compressionOf('part-1', smallXz, 'auto'), 'xz')
    assert.equal(compressionOf('part-1', zstd, 'auto'), 'zstd')
    assert.equal(compressionOf('part-1', Buffer.from([0x52, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), 'auto'), 'zstd')
    assert.equal(compressionOf('constructor.constructor', Buffer.from('a,b'), 'auto'), 'none')
  })

  it('is an error that names both when name and bytes contradict each other', () => {
    assert.throws(
      () => compressionOf('a.csv.gz', Buffer.from('id,name\n1,"x"\n'), 'auto'),
      assertUndecodable(
        /^the name of the object ends in \.gz, which means gzip, but the object begins with "id,name\\u\{a\}1,/,
      ),
    )
    assert.throws(
      () => compressionOf('a.br', gzip, 'auto'),
      assertUndecodable(/means brotli, but .* compressed with gzip$/),
    )
  })

  it('is an error when setting and bytes contradict each other', () => {
    assert.throws(() => compressionOf('a', zstd, 'gz'), assertUndecodable(/^compression is gz, but .* with zstd$/))
    assert.throws(() => compressionOf('a', gzip, 'none'), assertUndecodable(/^compression is none, but .* with gzip$/))
    assert.throws(
      () => compressionOf('a', Buffer.from('{}'), 'LZMA'),
      assertUndecodable(/^compression is LZMA, but .*is not xz$/),
    )
  })

  it('is `none` for an empty object with any name', () => {
    assert.equal(compressionOf('a.gz', new Uint8Array(), 'auto'), 'none')
  })
})

describe('the start of an object', () => {
  it('is the whole object when it is small', async () => {
    for (const [compression, bytes] of [
      ['none', Buffer.from(smallText)],
      ['gzip', gzipSync(smallText)],
      ['gz', gzipSync(smallText)],
      ['brotli', brotliCompressSync(smallText)],
      ['br', brotliCompressSync(smallText)],
      ['xz', smallXz],
      ['LZMA', smallXz],
      ['zstd', zstdCompressSync(smallText)],
    ] as [Compression, Uint8Array][]) {
      const start = await readStart(objectOf('a', bytes), compression)
      assert.equal(Buffer.from(start.bytes).toString(), smallText, compression)
      assert.equal(start.isWhole, true, compression)
    }
  })

  it('is the content of the first 256 KiB of a large object', async () => {
    for (const [name, bytes] of [
      ['a.txt', Buffer.from(largeText)],
      ['a.gz', gzipSync(largeText)],
      ['a.br', brotliCompressSync(largeText, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })],
      ['a.zst', zstdCompressSync(largeText)],
    ] as const) {
      const object = objectOf(name, bytes)
      assert.ok(object.sizeBytes > 300_000, `${name} is ${object.sizeBytes} bytes`)
      const { bytes: start, isWhole } = await readStart(object, 'auto')
      assert.equal(object.readBytes, 256 * 1024)
      assert.ok(start.length >= 200_000 && start.length <= 1024 * 1024, `${name}: ${start.length}`)
      assert.ok(largeText.startsWith(Buffer.from(start).toString()), name)
      assert.equal(isWhole, false)
    }
  })

  it('is limited to 1 MiB, also for a decompression bomb', async () => {
    const bomb = Buffer.alloc(64 * 1024 * 1024)
    const header = gzipSync('').subarray(0, 10)
    const bombs = {
      'a.gz': Buffer.concat([header, deflateRawSync(bomb, { level: 1 })]),
      'a.zst': zstdCompressSync(bomb),
      'a.br': brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }),
    }
    const before = process.memoryUsage().rss
    for (const [key, bytes] of Object.entries(bombs)) {
      const { bytes: start, isWhole } = await readStart(objectOf(key, bytes), 'auto')
      assert.deepEqual([start.length, isWhole], [1024 * 1024, false], key)
    }
    assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024)
  })

  it('includes all concatenated members and frames', async () => {
    for (const compress of [gzipSync, zstdCompressSync]) {
      const { bytes, isWhole } = await readStart(
        objectOf('a', Buffer.concat([compress('one\n'), compress('two\n')])),
        'auto',
      )
      assert.deepEqual([Buffer.from(bytes).toString(), isWhole], ['one\ntwo\n', true])
    }
  })

  it('of truncated xz is its content, and releases the decoder', async () => {
    const text = (isCut: boolean, end: number): Promise<string> =>
      decompress(smallXz.subarray(0, end), { method: 'xz', isCut, maxBytes: 1000 }).then(({ bytes }) =>
        Buffer.from(bytes).toString(),
      )
    await Promise.all([
      text(true, 60).then((found) => assert.ok(smallText.startsWith(found) && found.length > 0, found)),
      assert.rejects(text(false, 60), assertUndecodable(/^the object ends in the middle of its xz data$/)),
      text(false, smallXz.length).then((found) => assert.equal(found, smallText)),
      decompress(smallXz, { method: 'xz', isCut: false, maxBytes: 10 }).then(({ bytes, isComplete }) =>
        assert.deepEqual([Buffer.from(bytes).toString(), isComplete], ['hello xz\nh', false]),
      ),
      text(true, smallXz.length).then((found) => assert.equal(found, smallText)),
    ])
  })

  it('is an error when the data is damaged, or truncated in a complete object', async () => {
    for (const [key, bytes] of [
      ['a.gz', gzipSync(largeText.slice(0, 5000))],
      ['a.zst', zstdCompressSync(largeText.slice(0, 5000))],
      ['a.br', brotliCompressSync(largeText.slice(0, 5000))],
      ['a.xz', smallXz],
    ] as const) {
      const early = objectOf(key, bytes.subarray(0, bytes.length - 10))
      await assert.rejects(
        readStart(early, 'auto'),
        assertUndecodable(/^the object ends in the middle of its \w+ data$/),
        key,
      )
    }
    const damaged = Buffer.from(gzipSync(largeText.slice(0, 5000)))
    damaged.fill(0xff, 20, 40)
    await assert.rejects(
      readStart(objectOf('a.gz', damaged), 'auto'),
      assertUndecodable(/^the gzip data of the object is damaged$/),
    )
  })

  it('of xz with a huge dictionary is an error, and does not allocate it', async () => {
    const huge = Buffer.from(smallXz)
    const filter = huge.indexOf(Buffer.from([0x21, 0x01]), 12)
    huge[filter + 2] = 38
    const headerBytes = (huge[12]! + 1) * 4
    huge.writeUInt32LE(crc32(huge.subarray(12, 12 + headerBytes - 4)), 12 + headerBytes - 4)
    await assert.rejects(readStart(objectOf('a.xz', huge), 'auto'), assertUndecodable(/dictionary larger than 64 MiB$/))
  })
})
