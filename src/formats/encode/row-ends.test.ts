import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { delimitedRowEnds } from './delimited-scan.ts'
import type { ObjectFormat } from './object-format.ts'
import { rowsOfPiece } from './object-rows.ts'
import { type Ending, findEnds, jsonLineEnds, jsonListEnds, type RowEnds } from './row-ends.ts'
import { makeYieldToLoop } from './yield-to-loop.ts'

const kinds: Record<string, RowEnds> = {
  'lines of JSON': jsonLineEnds,
  'a list of JSON': jsonListEnds,
  CSV: delimitedRowEnds({ format: 'CSV', delimiter: Buffer.from(',') }),
  TabSeparated: delimitedRowEnds({ format: 'TabSeparated', delimiter: Buffer.from('\t') }),
}

const pieces = fc.array(
  fc.constantFrom(
    '{"a":1}',
    '{"a":[\n{}]}',
    '"',
    '\n',
    '\n\n',
    '\r\n',
    ',',
    'x',
    '\t',
    '\\',
    '}',
    '{',
    ']',
    ' ',
    '12',
    '""',
  ),
  { maxLength: 40 },
)

describe('ends of rows', () => {
  for (const [name, rowEnds] of Object.entries(kinds)) {
    it(`of ${name} are the same when they are looked for in steps, and others get their turn between these`, async () => {
      let rests = 0
      const rest = (): undefined => {
        rests++
      }
      await fc.assert(
        fc.asyncProperty(
          pieces,
          fc.integer({ min: 1, max: 20 }),
          fc.constantFrom<Ending>('anywhere', 'row', 'object'),
          async (parts, firstStepBytes, ending) => {
            const bytes = Buffer.from(parts.join(''))
            const found = await findEnds(rowEnds, bytes, { ending, rest, firstStepBytes })
            assert.deepEqual([...found], [...rowEnds.find(bytes, ending)])
          },
        ),
        { numRuns: 2_000 },
      )
      assert.ok(rests > 1_000)
    })
  }
})

describe('long work', () => {
  it('rests when its time is over, and ends when it is called off', async () => {
    const calling = new AbortController()
    const rest = makeYieldToLoop(calling.signal)
    assert.equal(rest(), undefined)
    const busyUntilMs = performance.now() + 25
    while (performance.now() < busyUntilMs);
    let hadTurn = false
    const turn = nextTurn().then(() => {
      hadTurn = true
    })
    await rest()
    assert.ok(hadTurn)
    await turn
    const againUntilMs = performance.now() + 25
    while (performance.now() < againUntilMs);
    calling.abort(new Error('called off'))
    await assert.rejects(rest() ?? Promise.resolve(), /called off/)
  })

  it('is also what is done with the rows of a piece', async () => {
    const format: ObjectFormat = {
      shape: { format: 'CSV', fields: [], columns: [] },
      rowEnds: kinds.CSV!,
      dataStart: 0,
      isStraight: () => true,
      check: () => undefined,
      checkLast: () => undefined,
      trim: (_bytes, row) => row,
      write: () => undefined,
      kept: {},
    }
    const bytes = Buffer.from('1\n'.repeat(1_000))
    const piece = {
      object: { key: 'k', sizeBytes: 1 },
      partition: 'objects',
      format,
      bytes,
      begin: 0,
      readBytes: 2_000,
      endsObject: true,
    }
    let rests = 0
    const rows = await rowsOfPiece({ ...piece, ends: kinds.CSV!.find(bytes, 'object') }, async () => {
      rests++
    })
    assert.equal(rows.count, 1_000)
    assert.ok(rests >= 1_000 / 64)
  })
})
