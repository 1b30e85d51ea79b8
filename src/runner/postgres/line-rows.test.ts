// Lines as rows: sent and rejected lines, and conversion of COPY output.
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Rows } from '../../formats/encode/rows.ts'
import { findLoadOfKept, rowsOfKeptLines } from './kept-lines.ts'
import { lineRows, rewriteCopy, shapeOf } from './line-rows.ts'
import { columnValues } from './values.ts'

const abilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

const columns = (['id', 'data', 'list', 'note'] as const).map((name) => {
  const text = { name: 'text', isBuiltIn: true, modifier: -1 }
  const types = {
    ...{ id: { ...text, name: 'int4' }, data: { ...text, name: 'bytea' } },
    ...{ list: { ...text, name: '_text', elements: text }, note: text },
  }
  const column = { name, type: types[name], isNotNull: false, isKey: name === 'id' }
  return { name, values: columnValues(column, { allowNullableColumns: true, abilities }) }
})
const shape = shapeOf(columns)

function rowsOf(texts: string[], rejected: number[] = []): Rows {
  return lineRows({
    shape,
    chunks: texts.map((text) => Buffer.from(text)),
    partition: 'public.t',
    loadId: 'load 1',
    position: (index) => `row ${index}`,
    rejected: rejected.map((index) => ({ index, reason: `reason ${index}` })),
  })
}

function bodyOf(rows: Rows): string {
  return Buffer.concat([...(rows.body() as Iterable<Uint8Array>)]).toString()
}

describe('lines as rows', () => {
  it('have the columns, the version and the mark of deletion as fields', () => {
    assert.deepEqual(
      shape.fields.map(({ name, type }) => `${name} ${type}`),
      [
        ...['id Int32', 'data Nullable(String)', 'list Array(Nullable(String))', 'note Nullable(String)'],
        ...['_penstock_version UInt64', '_penstock_deleted UInt8'],
      ],
    )
    assert.ok(shape.columns.every(({ column, field }) => column === field))
  })

  it('are counted, and kept with what is needed to send them again', () => {
    const rows = rowsOf(['1\n2\n', '3\n'])
    assert.deepEqual([rows.count, rows.readBytes, rows.isDivisible], [3, 6, true])
    const { raw, ...kept } = rows.keep(2)
    assert.equal(Buffer.from(raw).toString(), '3')
    assert.deepEqual(kept, {
      partition: 'public.t',
      position: 'row 2',
      meta: JSON.stringify({
        fields: ['id', 'data', 'list', 'note', '_penstock_version', '_penstock_deleted'],
        loadId: 'load 1',
      }),
    })
    assert.equal(findLoadOfKept(rows.without(new Set([0])).keep(0)), 'load 1')
  })

  it('do not send rejected lines, but keep them', () => {
    const rows = rowsOf(['0\n1\n', '2\n3\n'], [1])
    assert.equal(bodyOf(rows), '0\n2\n3\n')
    assert.deepEqual(rows.undecodable, [{ index: 1, reason: 'reason 1' }])
    assert.equal(Buffer.from(rows.keep(1).raw).toString(), '1')
    const part = rows.only(1, 3)
    assert.deepEqual([part.count, bodyOf(part), part.undecodable], [2, '2\n', [{ index: 0, reason: 'reason 1' }]])
    assert.equal(part.keep(1).position, 'row 2')
  })

  it('can be divided', () => {
    const chunks = fc.array(fc.array(fc.stringMatching(/^[a-z\t]{0,4}$/), { maxLength: 5 }), { maxLength: 5 })
    fc.assert(
      fc.property(chunks, fc.infiniteStream(fc.nat({ max: 30 })), (texts, numbers) => {
        const all = texts.flat()
        const rows = rowsOf(texts.map((lines) => lines.map((line) => `${line}\n`).join('')))
        assert.equal(rows.count, all.length)
        const [begin = 0, end = 0] = [...numbers.take(2)]
          .map((number) => Math.min(number, all.length))
          .sort((a, b) => a - b)
        const taken = new Set(numbers.take(5))
        const lines = (some: string[]): string => some.map((line) => `${line}\n`).join('')
        assert.equal(bodyOf(rows.only(begin, end)), lines(all.slice(begin, end)))
        const left = all.map((line, index) => ({ line, index })).filter(({ index }) => !taken.has(index))
        const without = rows.without(taken)
        assert.equal(bodyOf(without), lines(left.map(({ line }) => line)))
        assert.deepEqual(
          left.map((_, index) => without.keep(index).position),
          left.map(({ index }) => `row ${index}`),
        )
      }),
    )
  })
})

describe('lines that were kept', () => {
  it('get the columns that the target has now', () => {
    const rows = rowsOf(['1\tab\t[]\tx\t7\t0\n2\t\\N\t{{1}}\t\\\\N\t8\t1\n'])
    const later = shapeOf([columns[3]!, columns[0]!, { name: 'new', values: { type: 'Array(Int32)' } }, columns[1]!])
    const again = rowsOfKeptLines(later, [rows.keep(0), rows.keep(1)])
    assert.equal(bodyOf(again), 'x\t1\t[]\tab\t7\t0\n\\\\N\t2\t[]\t\\N\t8\t1\n')
    assert.equal(bodyOf(rowsOfKeptLines(shape, [rows.keep(0), rows.keep(1)])), bodyOf(rows))
    const wide = rowsOf(['5000000000\t\\N\t[]\ta\t7\t0\n', '6\t\\N\t[]\tb\t8\t0\n'], [0])
    // The engine would take it, and keep 705032704.
    const tried = rowsOfKeptLines(shape, [wide.keep(0), wide.keep(1)])
    assert.deepEqual(tried.undecodable, [{ index: 0, reason: 'the column "id": Int32 cannot hold the value' }])
    assert.equal(bodyOf(tried), '6\t\\N\t[]\tb\t8\t0\n')
    assert.throws(() => rowsOfKeptLines(shape, [{ partition: '', raw: Buffer.from('1'), meta: '{}' }]), /not kept/)
  })
})

describe('COPY output', () => {
  it('is unchanged when no value needs conversion', () => {
    const chunk = Buffer.from('1\ta\\tb\n')
    assert.equal(rewriteCopy([columns[0]!, columns[3]!], chunk), chunk)
  })

  it('is converted where the engine has another format', () => {
    const lines = [
      ['1', '\\\\x610a', '{a,"b \\\\"c\\\\\\\\"}', 'x\\\\y', '7', '0'],
      ['2', '\\N', '\\N', '\\N', '7', '0'],
      ['3', '\\\\x', '{"tab\\there",NULL}', '', '7', '0'],
    ]
    const chunk = Buffer.from(lines.map((fields) => `${fields.join('\t')}\n`).join(''))
    const expected = [
      ['1', 'a\\n', "['a','b \"c\\\\']", 'x\\\\y', '7', '0'],
      ['2', '\\N', '[]', '\\N', '7', '0'],
      ['3', '', "['tab\\there',NULL]", '', '7', '0'],
    ]
    assert.deepEqual(
      rewriteCopy(columns, chunk)
        .toString()
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split('\t')),
      expected,
    )
  })

  it('keeps unrepresentable values and reports them', () => {
    const rejected: unknown[] = []
    const chunk = Buffer.from('1\t\\N\t{}\tx\t7\t0\n2\t\\N\t{{a},{"b\\\\\\\\"}}\tx\t7\t0\n')
    const rewritten = rewriteCopy(columns, chunk, (row) => rejected.push(row))
    assert.equal(rewritten.toString(), '1\t\\N\t[]\tx\t7\t0\n2\t\\N\t{{a},{"b\\\\\\\\"}}\tx\t7\t0\n')
    assert.deepEqual(rejected, [{ index: 1, reason: 'the column "list": it has an array of more than one dimension' }])
  })
})
