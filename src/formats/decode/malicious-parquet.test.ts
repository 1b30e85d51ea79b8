import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parquetMetadata } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { decoding, objectOf, reasonOf, write } from '../../../test/harness/parquet.ts'
import { Undecodable } from '../undecodable.ts'
import { decodeObject } from './decode.ts'
import { firstRows } from './parquet-decode.ts'
import { decodeParquet } from './parquet-rows.ts'

describe('a malicious Parquet object', () => {
  const bare = write(
    [
      { name: 'a', data: Array.from({ length: 500 }, (_, index) => index % 7), type: 'INT32', nullable: false },
      { name: 'b', data: Array.from({ length: 500 }, (_, index) => [`${index}`]) },
    ],
    { codec: 'UNCOMPRESSED', statistics: false },
  )

  /** The object with other bytes at the start of the values of its first column. */
  function withValues(...values: number[]): Buffer {
    const bytes = Buffer.from(bare)
    const { row_groups } = parquetMetadata(new Uint8Array(bare).buffer)
    const start = Number(row_groups[0]!.columns[0]!.meta_data!.data_page_offset)
    const reader = { view: new DataView(new Uint8Array(bare).buffer), offset: start }
    const header = parquetHeader(reader)
    assert.equal(header.data_page_header_v2?.encoding ?? header.data_page_header?.encoding, 'RLE_DICTIONARY')
    bytes.set(values, reader.offset)
    return bytes
  }

  it('that exhausts memory is rejected', async () => {
    // One value, more than a billion times.
    const bytes = withValues(3, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1)
    const reason = await reasonOf(decodeParquet(objectOf(bytes), { ...decoding, maxRows: 10 }, { silenceMs: 60_000 }))
    assert.equal(reason, 'the Parquet object takes too much memory to decode')
  })

  it('that never ends is rejected', async () => {
    // A value count that overflows to a negative number, with zero bits per value.
    const bytes = withValues(0, 0xff, 0xff, 0xff, 0xff, 0x0f)
    const reason = await reasonOf(decodeParquet(objectOf(bytes), { ...decoding, maxRows: 10 }, { silenceMs: 2000 }))
    assert.equal(reason, 'the Parquet object takes too long to decode')
  })

  it('that never ends is aborted with the signal', async () => {
    const bytes = withValues(0, 0xff, 0xff, 0xff, 0xff, 0x0f)
    const waiting = new AbortController()
    const reason = new Error('nobody waits')
    const object = objectOf(bytes)
    const startedAtMs = performance.now()
    const decoded = decodeObject(
      {
        ...object,
        read: async (start, end) => {
          setTimeout(() => waiting.abort(reason), 300)
          return object.read(start, end)
        },
      },
      { format: 'Parquet', compression: 'auto', maxRows: 10, signal: waiting.signal },
    )
    await assert.rejects(decoded, (error) => error === reason)
    // Before the silence timeout.
    assert.ok(performance.now() - startedAtMs < 8000)
    const again = decodeParquet(object, { ...decoding, maxRows: 10, signal: waiting.signal })
    await assert.rejects(again, (error) => error === reason)
  })

  it('with changes in its footer is rejected or read', async () => {
    const footerBytes = bare.readUInt32LE(bare.length - 8)
    const change = fc.tuple(fc.nat(footerBytes - 1), fc.nat(255))
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const bytes = Buffer.from(bare)
        for (const [at, byte] of changes) bytes[bare.length - 8 - footerBytes + at] = byte
        try {
          const { rows, fields } = await firstRows(objectOf(bytes), 'auto', 10)
          assert.ok(rows.length <= 10 && fields)
        } catch (error) {
          assert.ok(error instanceof Undecodable, (error as Error).stack)
        }
      }),
      { numRuns: 500, seed: 5 },
    )
  })

  it('with false list sizes in its footer is rejected before memory is allocated', async () => {
    // A list of structs of lists of structs …, each with a declared size of 30 million elements.
    const level = [0x49, 0xfc, 0x80, 0x87, 0xa7, 0x0e]
    const footer = Buffer.from(Array.from({ length: 30 }, () => level).flat())
    const length = Buffer.alloc(4)
    length.writeUInt32LE(footer.length)
    const bytes = Buffer.concat([Buffer.from('PAR1'), footer, length, Buffer.from('PAR1')])
    const before = process.memoryUsage().rss
    assert.match(await reasonOf(firstRows(objectOf(bytes), 'auto', 10)), /footer of the Parquet object cannot be read/)
    assert.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024)
  })
})
