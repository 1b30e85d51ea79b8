import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RejectedNumber } from '../engine/engine.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import { joinRows } from '../formats/encode/joined-rows.ts'
import { mostNumbered, type NumberedPart, numberRows } from '../formats/encode/number-rows.ts'
import type { RowShape, Rows } from '../formats/encode/rows.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { findSkipped } from './skipped-rows.ts'

const { signal } = new AbortController()
const fields = [
  { name: 'id', type: 'UInt32' },
  { name: 'name', type: 'String' },
]
const shapeOf = (format: RowShape['format']): RowShape => ({
  format,
  fields,
  columns: fields.map(({ name }) => ({ column: name, field: name })),
})

function rowsOf(format: RowShape['format'], texts: string[]): Rows {
  const rows: Rows = {
    shape: shapeOf(format),
    count: texts.length,
    readBytes: texts.join('').length,
    undecodable: [],
    isDivisible: true,
    body: () => texts.map((text) => Buffer.from(text)),
    only: (begin, end) => rowsOf(format, texts.slice(begin, end)),
    without: (rejected) =>
      rowsOf(
        format,
        texts.filter((_, index) => !rejected.has(index)),
      ),
    keep: () => assert.fail('not kept here'),
  }
  return rows
}

describe('numbered rows', () => {
  const numbered = async (rows: Rows, leftOut: number[] = []) => {
    const made = numberRows(rows, new Set(leftOut), signal)
    assert.ok(made)
    const parts: NumberedPart[] = []
    for await (const part of made.parts) parts.push(part)
    assert.equal(parts.length, 1)
    const [{ body, first, indexes, unclosed }] = parts as [NumberedPart]
    assert.equal(first, 0)
    assert.deepEqual(made.shape.fields[0], { name: made.numberField, type: 'UInt32' })
    const lines = body.toString().replaceAll(made.numberField, 'n').split('\n').slice(0, -1)
    const isGuard = (line: string): boolean => /^(?:0{54}4294967295[,\t]+|\{"n":4294967295 {64}\})$/.test(line)
    assert.equal(lines.filter(isGuard).length, rows.count - leftOut.length)
    return { lines: lines.filter((line) => !isGuard(line)), indexes, unclosed }
  }

  it('are one line each, whatever they contain', async () => {
    assert.deepEqual(await numbered(rowsOf('CSV', ['1,"a\nb"\r\n', '2,c\n', '3,d'])), {
      lines: ['0,1,"a b"\r', '1,2,c', '2,3,d'],
      indexes: [0, 1, 2],
      unclosed: [],
    })
    assert.deepEqual(await numbered(rowsOf('TabSeparated', ['1\ta\\\nb\n', '2\tc\n'])), {
      lines: ['0\t1\ta\\nb', '1\t2\tc'],
      indexes: [0, 1],
      unclosed: [],
    })
    const texts = ['{"id":\n1}\n', '{"id":1} {"id":2}\n', ' [{}, { }]', '{"id":"x\n', '', '{"id":3}']
    assert.deepEqual(await numbered(rowsOf('JSONEachRow', texts), [5]), {
      lines: ['{"n":0,"id": 1}', '{"n":1,"id":1}', '{"n":2,"id":2}', '{"n":3}', '{"n":4}'],
      indexes: [0, 1, 1, 2, 2],
      unclosed: [3],
    })
  })

  it('come in parts with a bounded number of rows and bytes', async () => {
    const rows = rowsOf('CSV', [])
    const [short, long] = ['1\n', `1,${'x'.repeat(1_000)}\n`]
    for (const text of [short, long]) {
      const count = mostNumbered.rows + 20_000
      const many: Rows = { ...rows, count, only: () => rowsOf('CSV', [text]) }
      let next = 0
      for await (const { body, first, indexes } of numberRows(many, new Set(), signal)!.parts) {
        assert.equal(first, next)
        assert.deepEqual([indexes[0], indexes.at(-1)], [next, next + indexes.length - 1])
        assert.ok(indexes.length <= mostNumbered.rows)
        assert.ok(body.length <= mostNumbered.bytes + 2_000)
        next += indexes.length
      }
      assert.equal(next, count)
    }
  })

  it('are taken out of joined rows without reading each part', () => {
    let looks = 0
    const part: Rows = {
      ...rowsOf('CSV', ['1,a\n']),
      get count() {
        looks++
        return 1
      },
      only: () => rowsOf('CSV', ['1,a\n']),
    }
    const rows = joinRows(Array.from({ length: 1_000 }, () => part))
    looks = 0
    for (let index = 0; index < 1_000; index++) assert.equal(rows.only(index, index + 1).count, 1)
    assert.equal(looks, 1_000)
  })

  it('include all parts of joined rows', async () => {
    const rows = joinRows([rowsOf('CSV', ['1,a\n']), rowsOf('CSV', ['2,b\n', '3,c\n'])])
    assert.deepEqual((await numbered(rows)).lines, ['0,1,a', '1,2,b', '2,3,c'])
  })
})

describe('rows that the engine skips', () => {
  const constraint = { name: 'small', expression: 'id < 3' }
  let openChecks = 0
  /** Skips rows with these numbers. */
  const sinkThat = (skips: (number | RejectedNumber)[] | undefined) => ({
    async openReadCheck() {
      if (!skips) return undefined
      openChecks++
      const rejected = skips.map((skip) => (typeof skip === 'number' ? { number: skip } : skip))
      return { listRejected: async () => rejected, close: () => void openChecks-- }
    },
  })
  const texts = ['0,a\n', 'one,b\n', '2,c\n', '3,d\n', '4,e\n']
  const find = async (skips: (number | RejectedNumber)[] | undefined, refuses: (text: string) => boolean) => {
    const tried: string[] = []
    const search = findSkipped(rowsOf('CSV', texts), [], {
      sink: sinkThat(skips),
      token: 'token',
      settings: defaultSettings,
      signal,
      async tryOut(rows) {
        const text = Buffer.concat([...(rows.body() as Iterable<Uint8Array>)]).toString()
        tried.push(text)
        return refuses(text) ? 'the words of the engine' : undefined
      },
    })
    const found: RejectedRow[] = []
    let step = await search.next()
    for (; !step.done; step = await search.next()) found.push(...step.value)
    assert.equal(openChecks, 0)
    return { found: step.value ? found : undefined, tried }
  }

  it('are rejected with their reasons, without a query per row', async () => {
    assert.deepEqual(await find([1], () => assert.fail('asked')), {
      found: [{ index: 1, reason: '"one" is not a number, as it should be, in "id" of type UInt32' }],
      tried: [],
    })
  })

  it('are tried alone when only the engine knows the reason', async () => {
    const { found, tried } = await find([1, 3], () => true)
    assert.deepEqual(tried, ['3,d\n'])
    assert.deepEqual(found?.[1], { index: 3, reason: 'the words of the engine' })
  })

  it('name the violated constraint, which is verified with samples', async () => {
    const { found, tried } = await find(
      [
        { number: 3, constraint },
        { number: 4, constraint },
      ],
      () => true,
    )
    assert.deepEqual(tried, ['3,d\n', '4,e\n'])
    assert.deepEqual(found, [
      { index: 3, reason: 'it violates the constraint small: id < 3' },
      { index: 4, reason: 'it violates the constraint small: id < 3' },
    ])
    assert.equal((await find([{ number: 3, constraint }], () => false)).found, undefined)
  })

  it('are not rejected when the engine accepts one of them', async () => {
    assert.equal((await find([0, 1, 2, 3, 4], (text) => text === '0,a\n')).found, undefined)
    assert.equal((await find([2], () => false)).found, undefined)
  })

  it('are unknown when the engine cannot skip rows', async () => {
    assert.equal((await find(undefined, () => true)).found, undefined)
  })
})
