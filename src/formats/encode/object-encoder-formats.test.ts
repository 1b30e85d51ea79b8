// Objects of each format: their fields, their values, and how they end.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { objectOf, partsOf, piecesOf, rowsOf, textOf } from '../../../test/harness/object-encoder.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import { encodeKept } from './kept-rows.ts'
import { makeObjectEncoder } from './object-encoder.ts'
import type { Rows } from './rows.ts'

describe('JSON objects', () => {
  it('lose only the lines that are broken', async () => {
    const rows = await rowsOf({ format: 'JSONEachRow' }, '{"a":1}\nnonsense\n{"a":2\n{"a":3}\n[{"a":4},{"a":5}]\n')
    assert.equal(await textOf(rows), '{"a":1}\n{"a":3}\n{"a":4}\n{"a":5}\n')
    assert.deepEqual(
      rows.undecodable.map(({ index }) => index),
      [1, 2],
    )
    assert.deepEqual(rows.keep(2).position, 'bytes 17 to 23 of in/a')
  })

  it('lose only their first row when it is broken, however much comes after it', async () => {
    const line = `{"a":1,"b":"${'x'.repeat(1000)}"}\n`
    const object = objectOf(`{"a":1,"b":"cut off\n${line.repeat(200)}`, { chunkBytes: 10_000 })
    const [first] = await piecesOf({ format: 'JSONEachRow' }, object, 50_000)
    assert.ok(first!.rows.count > 10)
    assert.deepEqual(
      first!.rows.undecodable.map(({ index }) => index),
      [0],
    )
  })

  it('are cut at the same offsets however they arrive', async () => {
    const large = JSON.stringify({ a: 1, list: Array.from({ length: 10_000 }, (_, index) => index) }, undefined, 2)
    const text = `${large},\n{"a":2},\n{"a":3}`
    const cuts = await Promise.all(
      [1_000, 65_536, 1_000_000, 0].map(async (chunkBytes) => {
        const pieces = await piecesOf({ format: 'JSONEachRow' }, objectOf(text, { chunkBytes }), 100)
        return pieces.map(({ endByte, rows }) => [endByte, rows.count])
      }),
    )
    for (const others of cuts.slice(1)) assert.deepEqual(others, cuts[0])
  })

  it('get the virtual fields of their object', async () => {
    const columns = ['a Int64', '_path String', '_file LowCardinality(String)', '_size UInt64', '_time DateTime']
    const rows = await rowsOf({ format: 'JSONEachRow', columns }, '{"a":1}\n{}', 'in/a "b".json')
    const virtual = '"_path":"in/a \\"b\\".json","_file":"a \\"b\\".json","_size":10,"_time":1769817600'
    assert.equal(await textOf(rows), `{${virtual},"a":1}\n{${virtual}}\n`)
  })
})

describe('delimited objects', () => {
  const shapeOf = ({ shape }: Rows): unknown => [
    shape.fields.map(({ name, type }) => `${name} ${type}`),
    shape.columns.map(({ column, field }) => `${column}=${field}`),
  ]

  it('with names have the fields of their first line, whatever the columns are', async () => {
    const pipe = { format: 'CSVWithNames', columns: ['x Int64', 'b String', 'c Date'], mappings: { x: 'a' } }
    const rows = await rowsOf(pipe, 'b,"odd ""name""",a\n1,2,3\n')
    assert.deepEqual(shapeOf(rows), [
      ['b String', '_field_2 String', 'a Int64'],
      ['b=b', 'x=a'],
    ])
    assert.equal(rows.shape.format, 'CSV')
    assert.equal(rows.shape.delimiter, ',')
    assert.equal(await textOf(rows), '1,2,3\n')
  })

  it('without names fill the columns in their order, or those that ask for c1, c2 and so on', async () => {
    const text = 'x\t1\ty\n'
    const byOrder = await rowsOf({ format: 'TabSeparated', columns: ['a String', '_size Int64', 'b Int64'] }, text)
    assert.deepEqual(shapeOf(byOrder), [
      ['_size Int64', 'a String', 'b Int64', '_field_3 String'],
      ['_size=_size', 'a=a', 'b=b'],
    ])
    assert.equal(await textOf(byOrder), `6\t${text}`)
    const columns = ['a String', 'b Int64']
    const byName = await rowsOf({ format: 'TabSeparated', columns, mappings: { b: 'c2' } }, text)
    assert.deepEqual(shapeOf(byName), [['_field_1 String', 'c2 Int64', '_field_3 String'], ['b=c2']])
  })

  it('give a value to columns of different types, and take delimiters of several bytes', async () => {
    const columns = ['id Int64', 'text String', '_file String']
    const pipe = { format: 'CSVWithNames', delimiter: '¦', columns, mappings: { text: 'id' } }
    const rows = await rowsOf(pipe, 'id¦other\n"1"¦x\n2,5¦"y¦"\n')
    assert.deepEqual(shapeOf(rows), [columns, ['id=id', 'text=text', '_file=_file']])
    assert.equal(rows.shape.delimiter, ',')
    assert.equal(await textOf(rows), '"1","1","a"\n"2,5","2,5","a"\n')
  })

  it('are sent with a comma in place of a delimiter that ClickHouse rejects or misreads', async () => {
    for (const delimiter of ['\t', ' ', '"', "'", '.', '0', '-', ':', 'e']) {
      const pipe = { format: 'CSV', delimiter, columns: ['a Int64', 'b String'] }
      const rows = await rowsOf(pipe, `1${delimiter}x,y\n2${delimiter}"y z"\n`)
      assert.equal(rows.shape.delimiter, ',', delimiter)
      assert.equal(await textOf(rows), '1,"x,y"\n2,"y z"\n', delimiter)
    }
    for (const delimiter of [',', ';', '|']) {
      const rows = await rowsOf({ format: 'CSV', delimiter, columns: ['a Int64', 'b String'] }, `1${delimiter}x\n`)
      assert.deepEqual([rows.shape.delimiter, await textOf(rows)], [delimiter, `1${delimiter}x\n`])
    }
  })

  it('are rejected where they have another number of values, also when their values are picked', async () => {
    const rows = await rowsOf(
      { format: 'CSV', delimiter: '\t', columns: ['a Int64', 'b String'] },
      '1\tx\n2\n3\ty\t\n4\tz\tz\n',
    )
    assert.deepEqual(rows.undecodable, [
      { index: 1, reason: 'it has 1 value, where the first row has 2' },
      { index: 3, reason: 'it has 3 values, where the first row has 2' },
    ])
    assert.equal(await textOf(rows), '1,x\n3,y\n')
  })

  it('of TabSeparated lose the carriage return at the end of their lines', async () => {
    const rows = await rowsOf({ format: 'TabSeparated', columns: ['a Int64', 'b Int64'] }, '1\t2\r\n3\t4\r\n')
    assert.equal(await textOf(rows), '1\t2\n3\t4\n')
  })

  it('that cannot be read are reported to the user', async () => {
    for (const [pipe, content, reason] of [
      [{ format: 'CSVWithNames' }, 'a,a\n1,2\n', 'line 1 has the name "a" twice'],
      [{ format: 'CSVWithNames' }, 'x,y\n1,2\n', 'it has none of the columns'],
      [
        { format: 'CSV', compression: 'gzip' },
        '1\n',
        'compression is gzip, but the object begins with "1\\u{a}", which is not gzip',
      ],
    ] as const) {
      await assert.rejects(rowsOf(pipe, content), (error) => {
        assert.ok(error instanceof ProbeFailure)
        assert.equal(error.reason, `the object "in/a" cannot be read: ${reason}`)
        return true
      })
    }
  })
})

describe('the end of an object', () => {
  const unfinished: [format: string, content: string, reason: RegExp][] = [
    ['CSV', '1,a\n2,"no end\n3,c\n', /ends inside a quoted value, which begins at byte 3 of this row/],
    ['CSVWithNames', 'a,b\n1,a\n2,"no end', /ends inside a quoted value/],
    ['TabSeparated', '1\ta\n2\tno end\\', /ends with a backslash/],
    ['TabSeparated', '1\ta\n2\tno end\\\n', /ends with a backslash/],
    ['JSONEachRow', '{"a":1}\n{"a":2,"b":{"c":3}', /in the middle of a JSON object/],
    ['JSONEachRow', '{"a":1}\n{"a":2,"b":"}', /in the middle of a JSON object/],
    ['JSONEachRow', '[{"a":1},{"a":2,"b":{"c":3}', /in the middle of a JSON object/],
  ]
  for (const [format, content, reason] of unfinished) {
    for (const mappings of [{}, { file: '_file' }]) {
      const columns = ['a Int64', 'b String', ...(mappings.file ? ['file String'] : [])]
      it(`is that of its last row: ${JSON.stringify(content)} as ${format}${mappings.file ? ' with _file' : ''}`, async () => {
        const pipe = { format, columns, mappings: { ...mappings, ...(format.endsWith('Names') ? {} : named(format)) } }
        const encoder = makeObjectEncoder(partsOf(pipe))
        const damaged = await rowsOf(pipe, content, 'in/a')
        assert.equal(damaged.count, 2)
        assert.deepEqual(
          damaged.undecodable.map(({ index }) => index),
          [1],
        )
        assert.match(damaged.undecodable[0]!.reason, reason)
        assert.match(damaged.keep(1).position, /^bytes \d+ to \d+ of in\/a$/)
        const next = await rowsOf(pipe, goodOf[format] ?? '', 'in/b')
        const joined = encoder.join([damaged, next])
        assert.ok(joined)
        assert.ok(!(await textOf(joined)).includes('no end'))
        // A rejected row is sent again unchanged, and must not swallow the rows after it either.
        const { partition, raw, meta } = damaged.keep(1)
        const kept = await encodeKept(partsOf(pipe), [{ partition, raw, meta }])
        assert.deepEqual(
          kept.undecodable.map(({ index }) => index),
          [0],
        )
      })
    }
  }

  const goodOf: Record<string, string> = {
    CSV: '1,a\n',
    CSVWithNames: 'a,b\n1,a\n',
    TabSeparated: '1\ta\n',
    JSONEachRow: '{"a":1}\n',
  }
  const named = (format: string): Record<string, string> => (format === 'JSONEachRow' ? {} : { a: 'c1', b: 'c2' })

  it('is no error where the row is complete', async () => {
    const complete: [format: string, content: string][] = [
      ['CSV', '1,"a ""b"" c"'],
      ['CSV', '1,"two\nlines"\r\n'],
      ['TabSeparated', '1\ta\\\\'],
      ['JSONEachRow', '{"a":1} {"a":2}'],
      ['JSONEachRow', '{"a":1},\n{"a":2},'],
      ['JSONEachRow', '[{"a":1}]\n'],
    ]
    for (const [format, content] of complete) {
      const rows = await rowsOf({ format, columns: ['a Int64', 'b String'], mappings: named(format) }, content)
      assert.deepEqual(rows.undecodable, [], content)
    }
  })

  it('of an object without names is distinguished from a first row that is invalid', async () => {
    const rows = await rowsOf({ format: 'CSV', columns: ['a Int64', 'b String'] }, '1,"a"b\n2,c\n')
    assert.equal(rows.count, 2)
    assert.deepEqual(rows.shape.columns.length, 2)
  })
})
