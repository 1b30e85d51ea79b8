import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { delimitedRowEnds } from './delimited-row-ends.ts'
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
    it(`of ${name} are the same when they are searched in steps, with a yield after each step`, async () => {
      let yields = 0
      const yieldToLoop = (): undefined => {
        yields++
      }
      await fc.assert(
        fc.asyncProperty(
          pieces,
          fc.integer({ min: 1, max: 20 }),
          fc.constantFrom<Ending>('anywhere', 'row', 'object'),
          async (parts, firstStepBytes, ending) => {
            const bytes = Buffer.from(parts.join(''))
            const found = await findEnds(rowEnds, bytes, { ending, yieldToLoop, firstStepBytes })
            assert.deepEqual([...found], [...rowEnds.find(bytes, ending)])
          },
        ),
        { numRuns: 2_000 },
      )
      assert.ok(yields > 1_000)
    })
  }
})

describe('yielding to the event loop', () => {
  it('happens after 20 ms, and rejects when the signal is aborted', async () => {
    const abort = new AbortController()
    const yieldToLoop = makeYieldToLoop(abort.signal)
    assert.equal(yieldToLoop(), undefined)
    const busyUntilMs = performance.now() + 25
    while (performance.now() < busyUntilMs);
    let hasYielded = false
    const turn = nextTurn().then(() => {
      hasYielded = true
    })
    await yieldToLoop()
    assert.ok(hasYielded)
    await turn
    const againUntilMs = performance.now() + 25
    while (performance.now() < againUntilMs);
    abort.abort(new Error('aborted'))
    await assert.rejects(yieldToLoop() ?? Promise.resolve(), /aborted/)
  })

  it('happens while the rows of a piece are checked', async () => {
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
    let yields = 0
    const rows = await rowsOfPiece({ ...piece, ends: kinds.CSV!.find(bytes, 'object') }, async () => {
      yields++
    })
    assert.equal(rows.count, 1_000)
    assert.ok(yields >= 1_000 / 64)
  })
})
