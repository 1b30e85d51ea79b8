import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ByteOutput } from './byte-output.ts'
import { jsonRecords, unpackNothing } from './json-records.ts'
import { encodeRecords } from './record-rows.ts'

const column = { name: 'a', type: 'Int64', field: 'a', isVirtual: false }
const { signal } = new AbortController()

/** Record values and the bytes before them in a batch. */
const piece = fc.record({
  value: fc.constantFrom(
    '{"a":1}',
    '{"a":2,"b":"}{"}',
    '{"a":3},',
    ' {"a":4}\r\n',
    '\ufeff{"a":5}',
    '[{"a":6},{"a":7}]',
    '',
    '{',
  ),
  gap: fc.uint8Array({ minLength: 1, maxLength: 50 }),
})

describe('values copied coalesced with the bytes between them', () => {
  it('give the same rows as values copied one by one, whatever bytes are between them', async () => {
    const format = jsonRecords([column], unpackNothing)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(piece, { minLength: 1, maxLength: 20 }), { maxLength: 4 }), async (runs) => {
        const pieces = runs.flat()
        const [starts, ends] = [new Int32Array(pieces.length), new Int32Array(pieces.length)]
        let count = 0
        const valueRuns = runs.map((run) => {
          let at = 0
          const parts = run.flatMap(({ value, gap }) => {
            starts[count] = at + gap.length
            at = starts[count]! + Buffer.byteLength(value)
            ends[count++] = at
            return [gap, Buffer.from(value)]
          })
          return { bytes: Buffer.concat(parts), end: count }
        })
        const records = pieces.map(({ value }) => ({ value: Buffer.from(value), meta: {} }))
        const valueOffsets = { starts, ends, runs: valueRuns }
        const list = {
          length: count,
          at: (index: number) => records[index],
          valueOffsets,
          [Symbol.iterator]: () => records.values(),
        }
        const [coalesced, single] = [
          await encodeRecords(format, 'p', list, signal),
          await encodeRecords(format, 'p', records, signal),
        ]
        assert.deepEqual(coalesced.undecodable, single.undecodable)
        assert.deepEqual([coalesced.count, coalesced.readBytes], [single.count, single.readBytes])
        assert.deepEqual(linesOf(coalesced.body()), linesOf(single.body()))
        const odd = new Set([...pieces.keys()].filter((index) => index % 2 === 1))
        assert.deepEqual(linesOf(coalesced.without(odd).body()), linesOf(single.without(odd).body()))
        assert.deepEqual(linesOf(coalesced.only(1, count).body()), linesOf(single.only(1, count).body()))
      }),
      { numRuns: 300 },
    )
  })

  it('are written in chunks whose buffer is reused', () => {
    const out = new ByteOutput()
    out.text('first')
    const lent = out.lend()
    const first = lent.next().value as Buffer
    assert.equal(String(first), 'first')
    lent.next()
    out.text('other')
    assert.equal(String(first), 'other')
    out.close()
    assert.equal(out.sizeBytes, 0)
  })
})

/** Rows without the white space between them. */
function linesOf(body: unknown): string[] {
  const chunks = Array.from(body as Iterable<Uint8Array>, (chunk) => Buffer.from(chunk))
  return Buffer.concat(chunks)
    .toString()
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
