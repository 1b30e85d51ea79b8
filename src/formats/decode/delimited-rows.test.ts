import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Undecodable } from '../undecodable.ts'
import type { ObjectFormat } from './decoding.ts'
import { decodeDelimited } from './delimited-rows.ts'

interface Options {
  format?: ObjectFormat
  delimiter?: string
  maxRows?: number
  isWhole?: boolean
}

function decode(data: string | Uint8Array, { format = 'CSV', delimiter, maxRows = 100, isWhole = true }: Options = {}) {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
  return decodeDelimited({ bytes, isWhole }, { format, maxRows, ...(delimiter === undefined ? {} : { delimiter }) })
}

/** The values of each row, in the order of the columns. */
const cellsOf = (data: string | Uint8Array, options?: Options): unknown[][] =>
  decode(data, options).rows.map((row) => Object.values(row))

function reasonOf(data: string, options?: Options): string {
  try {
    decode(data, options)
  } catch (error) {
    assert.ok(error instanceof Undecodable, String(error))
    return error.reason
  }
  return assert.fail('nothing was refused')
}

describe('CSV', () => {
  it('with very many empty lines takes little time', () => {
    const startedAtMs = performance.now()
    assert.equal(decode(`${'\n'.repeat(1024 * 1024)}a`, { maxRows: 20_000 }).rows.length, 20_000)
    assert.deepEqual(cellsOf(`a\n\nb${'\r\n'.repeat(1000)}`), [['a'], [''], ['b']])
    assert.ok(performance.now() - startedAtMs < 3000)
  })

  it('has columns c1, c2, … without names, and their types', () => {
    assert.deepEqual(decode('1,a\n2,b\n'), {
      rows: [
        { c1: '1', c2: 'a' },
        { c1: '2', c2: 'b' },
      ],
      fields: [
        { name: 'c1', type: 'Int64', isOptional: false },
        { name: 'c2', type: 'String', isOptional: false },
      ],
    })
  })

  it('has the names of its first line', () => {
    assert.deepEqual(decode('\ufeffid,"full name"\r\n1,Ä\r\n,B', { format: 'CSVWithNames' }), {
      rows: [
        { id: '1', 'full name': 'Ä' },
        { id: '', 'full name': 'B' },
      ],
      fields: [
        { name: 'id', type: 'Nullable(Int64)', isOptional: true },
        { name: 'full name', type: 'String', isOptional: false },
      ],
    })
  })

  it('has quotes of both kinds, doubled quotes, and newlines and delimiters inside', () => {
    assert.deepEqual(cellsOf('"a ""b""\nc,d",\'it\'\'s, so\' , "x" ,"",\n'), [['a "b"\nc,d', "it's, so", 'x', '', '']])
  })

  it('has text that begins with an apostrophe', () => {
    assert.deepEqual(cellsOf("'tis,1\n'twas,2\n"), [
      ["'tis", '1'],
      ["'twas", '2'],
    ])
  })

  it('has \\N for null, and empty text for empty values', () => {
    assert.deepEqual(cellsOf('\\N,,"\\N"\n'), [[null, '', '\\N']])
  })

  it('ignores spaces around values', () => {
    assert.deepEqual(cellsOf('  a b , 1\t,"  c "\n'), [['a b', '1', '  c ']])
  })

  it('uses the configured delimiter', () => {
    assert.deepEqual(cellsOf('a;b,c;"d;e"\n', { delimiter: ';' }), [['a', 'b,c', 'd;e']])
    assert.deepEqual(cellsOf('a\t b\n', { delimiter: '\t' }), [['a', 'b']])
    assert.deepEqual(cellsOf('a§b§ü\n', { delimiter: '§' }), [['a', 'b', 'ü']])
  })

  it('may have one more delimiter at the end of each line', () => {
    assert.deepEqual(decode('a,b,\n1,2,\n3,4,\n', { format: 'CSVWithNames' }).rows, [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ])
  })

  it('returns bytes for invalid UTF-8', () => {
    assert.deepEqual(cellsOf(Uint8Array.of(0xe4, 0x2c, 0x61, 0x0a)), [[Uint8Array.of(0xe4), 'a']])
  })

  it('with lines of unequal length is rejected, with the line and both counts', () => {
    assert.equal(reasonOf('a,b,c\n1,"x\ny",3\n1,2\n'), 'line 4 has 2 values, where line 1 has 3')
    assert.equal(reasonOf('a,b\n1\n', { format: 'CSVWithNames' }), 'line 2 has 1 value, where line 1 has 2')
  })

  it('with broken quotes is rejected, with the line', () => {
    assert.equal(reasonOf('1,2\n"a,2\n'), 'line 2 has a quote that is not closed')
    assert.equal(reasonOf('1,2\n"a"b,2\n'), 'line 2 has text after a closing quote')
  })

  it('with a name twice, or in UTF-16, is rejected', () => {
    assert.equal(reasonOf('id,x,id\n', { format: 'CSVWithNames' }), 'line 1 has the name "id" twice')
    assert.throws(() => decode(Uint8Array.of(0xff, 0xfe, 0x61, 0)), /UTF-16/)
  })

  it('loses the last line when the object continues', () => {
    assert.deepEqual(cellsOf('1,2\n3,4', { isWhole: false }), [['1', '2']])
    assert.deepEqual(cellsOf('1,2\n3,"4\n5,6\n', { isWhole: false }), [['1', '2']])
    assert.deepEqual(cellsOf('1,2\n3,4'), [
      ['1', '2'],
      ['3', '4'],
    ])
    assert.match(
      reasonOf('id,name\n1,abc', { format: 'CSVWithNames', isWhole: false }),
      /first line is longer than the 13 bytes/,
    )
  })

  it('is read up to the requested rows', () => {
    assert.equal(decode('a\n1\n2\n"broken', { format: 'CSVWithNames', maxRows: 2 }).rows.length, 2)
  })

  it('without data has the fields of its names', () => {
    assert.deepEqual(decode('id\n\n', { format: 'CSVWithNames' }), {
      rows: [],
      fields: [{ name: 'id', type: 'String', isOptional: false }],
    })
    assert.deepEqual(decode(''), { rows: [], fields: [] })
  })

  it('with malicious text takes little time', () => {
    const startedAtMs = performance.now()
    assert.deepEqual(cellsOf(`x${' '.repeat(300_000)}y  ,1\n`)[0]?.[1], '1')
    for (const cell of ['', "''", '""', "'", "'x''"]) {
      assert.equal(reasonOf(`${`${cell},`.repeat(200_000)}\n`), 'line 1 has more than 10000 values')
    }
    const tookMs = performance.now() - startedAtMs
    assert.ok(tookMs < 5000, `${tookMs} ms`)
  })

  it('is decoded as it was encoded', () => {
    const table = fc
      .integer({ min: 1, max: 4 })
      .chain((width) =>
        fc.array(fc.array(fc.string({ unit: 'binary' }), { minLength: width, maxLength: width }), { minLength: 1 }),
      )
    fc.assert(
      fc.property(table, (rows) => {
        const text = rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join()).join('\n')
        assert.deepEqual(cellsOf(`${text}\n`), rows)
      }),
      { numRuns: 50 },
    )
  })
})

describe('TabSeparated', () => {
  const format = 'TabSeparated'

  it('has escapes', () => {
    assert.deepEqual(cellsOf("a\\tb\\nc\\\\d\t\\N\t\\b\\f\\r\\0\\'\t\\x41\\q\n", { format }), [
      ['a\tb\nc\\d', null, "\b\f\r\0'", 'A\\q'],
    ])
  })

  it('keeps quotes and spaces', () => {
    assert.deepEqual(cellsOf('"a\t b \n', { format }), [['"a', ' b ']])
  })

  it('has the names of its first line, and types', () => {
    assert.deepEqual(decode('id\tday\n1\t2024-01-02\n', { format: 'TabSeparatedWithNames' }), {
      rows: [{ id: '1', day: '2024-01-02' }],
      fields: [
        { name: 'id', type: 'Int64', isOptional: false },
        { name: 'day', type: 'Date32', isOptional: false },
      ],
    })
  })

  it('with lines of unequal length is rejected', () => {
    assert.equal(reasonOf('1\t2\n3\n', { format }), 'line 2 has 1 value, where line 1 has 2')
  })

  it('loses the last line when the object continues', () => {
    assert.deepEqual(cellsOf('1\t2\n3\t4\\', { format, isWhole: false }), [['1', '2']])
    assert.deepEqual(cellsOf('1\t2\r\n3\t4', { format }), [
      ['1', '2'],
      ['3', '4'],
    ])
  })

  it('is decoded as it was encoded', () => {
    const escaped = (cell: string): string =>
      cell.replaceAll(/[\\\t\n\r]/g, (character) => `\\${{ '\\': '\\', '\t': 't', '\n': 'n', '\r': 'r' }[character]}`)
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string()), { minLength: 1 }), (rows) => {
        const text = rows.map((row) => row.map(escaped).join('\t')).join('\n')
        // Not at the start, where a byte order mark would be skipped.
        assert.deepEqual(cellsOf(`a\tb\n${text}\n`, { format }), [['a', 'b'], ...rows])
      }),
    )
  })
})
