import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { DirectBody } from '../../sources/direct/direct-body.ts'
import type { DirectConnection } from '../../sources/direct/direct-connection.ts'
import type { EncoderParts } from './encoder.ts'
import { encodeKept } from './kept-rows.ts'
import { makeObjectEncoder } from './object-encoder.ts'
import type { ObjectToEncode } from './object-format.ts'
import type { Rows } from './rows.ts'

const { signal } = new AbortController()

interface Pipe {
  format: string
  compression?: string
  delimiter?: string
  /** `name type` */
  columns?: string[]
  /** Destination field to source field. */
  mappings?: Record<string, string>
}

function partsOf({ columns = ['a Int64'], mappings = {}, compression = 'auto', ...source }: Pipe): EncoderParts {
  return {
    kind: 'objectStorage',
    source: { ...source, compression },
    destination: {
      columns: columns.map((column) => {
        const [name = '', ...type] = column.split(' ')
        return { name, type: type.join(' ') }
      }),
    },
    fieldMappings: Object.entries(mappings).map(([destinationField, sourceField]) => ({
      destinationField,
      sourceField,
    })),
    openRegistry: () => undefined,
  }
}

interface TestObject extends ObjectToEncode {
  /** Streams that were opened. */
  opened: Readable[]
}

/** With `chunkBytes` 0, the body is read straight into the memory of the feed. */
function objectOf(content: string | Buffer, { key = 'in/a', chunkBytes = 5 } = {}): TestObject {
  const bytes = Buffer.from(content)
  const opened: Readable[] = []
  return {
    key,
    sizeBytes: bytes.length,
    modifiedAt: new Date(Date.UTC(2026, 0, 31)),
    opened,
    async open() {
      const chunks: Buffer[] = []
      for (let at = 0; chunkBytes > 0 && at < bytes.length; at += chunkBytes)
        chunks.push(bytes.subarray(at, at + chunkBytes))
      opened.push(chunkBytes === 0 ? directBodyOf(bytes) : Readable.from(chunks))
      return opened.at(-1)!
    },
  }
}

function directBodyOf(bytes: Buffer): DirectBody {
  let at = 0
  const fill = async (target: Uint8Array): Promise<void> => {
    await nextTurn()
    target.set(bytes.subarray(at, at + target.length))
    at += target.length
  }
  const connection = { fill, close: () => undefined } as Partial<DirectConnection> as DirectConnection
  return new DirectBody(connection, bytes.length, () => undefined)
}

interface Piece {
  beginByte: number
  endByte: number | null
  rows: Rows
}

async function piecesOf(
  pipe: Pipe,
  object: ObjectToEncode,
  pieceBytes: number | (() => number) = 1e6,
  beginByte = 0,
): Promise<Piece[]> {
  const encoder = makeObjectEncoder(partsOf(pipe))
  const pieces: Piece[] = []
  const size = typeof pieceBytes === 'number' ? () => pieceBytes : pieceBytes
  for await (const piece of encoder.pieces(object, { partition: 'objects', beginByte, pieceBytes: size, signal }))
    pieces.push(piece)
  return pieces
}

async function rowsOf(pipe: Pipe, content: string | Buffer, key = 'in/a'): Promise<Rows> {
  const [piece, ...others] = await piecesOf(pipe, objectOf(content, { key, chunkBytes: 1000 }))
  assert.ok(piece && others.length === 0)
  return piece.rows
}

const keptTexts = (rows: Rows): string[] =>
  Array.from({ length: rows.count }, (_, index) => String(rows.keep(index).raw))

async function textOf(rows: Rows): Promise<string> {
  const body = rows.body()
  return String(
    Symbol.iterator in body ? Buffer.concat(Array.from(body, (chunk) => Buffer.from(chunk))) : await buffer(body),
  )
}

const spaces = fc.constantFrom('', ' ', '\n', '\r\n', '\n\n  ')

/** JSON objects in any layout, with content that could mislead the search for row ends. */
const jsonValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer(),
    fc.string().map((text) => `${text}}\n{"[`),
    fc.constantFrom('}\n{', '"', '\\', '{"a":1}\n{"b":2}', null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 5 }), tie('value'), { maxKeys: 3 }),
  ),
})).value
const jsonObject = fc
  .tuple(fc.dictionary(fc.string({ maxLength: 5 }), jsonValue, { maxKeys: 3 }), fc.constantFrom(0, 0, 1, 4))
  .map(([object, indent]) => JSON.stringify(object, undefined, indent))

const csvCell = fc.oneof(
  fc.constantFrom('', 'plain', '"quoted, with\na newline"', '"a ""quote"""', "it's", '5" disk', '"\r\n"', 'ü'),
  fc.integer().map(String),
)
const tsvCell = fc.constantFrom('', 'plain', 'a\\nb', 'back\\\\', 'new\\\nline', '"quote', 'ü', '\\N')
const rowOfTwo = (cell: fc.Arbitrary<string>, delimiter: string): fc.Arbitrary<string> =>
  fc.tuple(cell, cell).map((cells) => cells.join(delimiter))

interface Layout {
  name: string
  pipe: Pipe
  /** Rows, and the object that holds them. */
  object: fc.Arbitrary<{ rows: string[]; text: string }>
  /** How a row is compared. */
  normal?: (row: string) => unknown
}

const lines = (row: fc.Arbitrary<string>, before = ''): Layout['object'] =>
  fc
    .tuple(fc.array(row, { maxLength: 12 }), fc.constantFrom('\n', '\r\n'), fc.constantFrom(0, 1, 3))
    .map(([rows, newline, newlinesAtEnd]) => ({
      rows,
      text: `${before}${rows.join(newline)}${rows.length === 0 ? '' : newline.repeat(newlinesAtEnd)}`,
    }))

const layouts: Layout[] = [
  {
    name: 'JSON with newlines between',
    pipe: { format: 'JSONEachRow' },
    object: lines(jsonObject),
    normal: JSON.parse,
  },
  {
    name: 'JSON after the mark of the byte order',
    pipe: { format: 'JSONEachRow' },
    object: lines(jsonObject, '\ufeff'),
    normal: JSON.parse,
  },
  {
    name: 'a list of JSON objects',
    pipe: { format: 'JSONEachRow' },
    object: fc.tuple(fc.array(jsonObject, { maxLength: 8 }), spaces, spaces).map(([rows, before, after]) => ({
      rows,
      text: `${before}[${rows.join(`${after},${before}`)}${after}]${before}`,
    })),
    normal: JSON.parse,
  },
  {
    name: 'JSON with commas between',
    pipe: { format: 'JSONEachRow' },
    object: fc.array(jsonObject, { minLength: 2, maxLength: 8 }).map((rows) => ({ rows, text: rows.join(',\n') })),
    normal: JSON.parse,
  },
  {
    name: 'CSV',
    pipe: { format: 'CSV', columns: ['a String', 'b String'] },
    object: lines(rowOfTwo(csvCell, ',')),
  },
  {
    name: 'CSV with names',
    pipe: { format: 'CSVWithNames', columns: ['a String', 'b String'] },
    object: lines(rowOfTwo(csvCell, ','), '\ufeff"a",b\r\n'),
  },
  {
    name: 'TabSeparated',
    pipe: { format: 'TabSeparated', columns: ['a String', 'b String'] },
    object: lines(rowOfTwo(tsvCell, '\t')),
  },
]

describe('pieces of objects', () => {
  for (const { name, pipe, object, normal = (row: string) => row } of layouts) {
    it(`of ${name} are the whole, split no row, and are the same again`, async () => {
      const check = async (
        { rows, text }: { rows: string[]; text: string },
        pieceBytes: number,
        chunkBytes: number,
      ) => {
        const stored = objectOf(text, { chunkBytes })
        const pieces = await piecesOf(pipe, stored, pieceBytes)
        const found = pieces.flatMap((piece) => keptTexts(piece.rows))
        assert.deepEqual(found.map(normal), rows.map(normal))
        const sent = (await Promise.all(pieces.map((piece) => textOf(piece.rows)))).join('')
        const whole = await piecesOf(pipe, stored)
        assert.equal(whole.length, 1)
        assert.equal(trimmedText(sent), trimmedText(await textOf(whole[0]!.rows)))
        await assertAgain(pipe, stored, pieces)
        assert.ok(stored.opened.every(({ destroyed }) => destroyed))
      }
      await fc.assert(
        fc.asyncProperty(object, fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 20 }), check),
        {
          numRuns: 50,
        },
      )
    })
  }

  const trimmedText = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(/\n+$/g, '')

  async function assertAgain(pipe: Pipe, object: ObjectToEncode, pieces: Piece[]): Promise<void> {
    const encoder = makeObjectEncoder(partsOf(pipe))
    let expectedBegin = 0
    for (const { beginByte, endByte, rows } of pieces) {
      assert.equal(beginByte, expectedBegin)
      const again = await encoder.piece(object, { partition: 'objects', beginByte, endByte, signal })
      assert.deepEqual(keptTexts(again), keptTexts(rows))
      assert.equal(await textOf(again), await textOf(rows))
      assert.equal(again.readBytes, rows.readBytes)
      assert.deepEqual(again.shape, rows.shape)
      expectedBegin = endByte ?? Number.NaN
    }
    assert.equal(pieces.at(-1)!.endByte, null)
    const { beginByte = 0, rows } = pieces.at(-1) ?? {}
    const [rest] = await piecesOf(pipe, object, 1e6, beginByte)
    assert.equal(await textOf(rest!.rows), await textOf(rows!))
  }

  it('are as large as they may be, and as large as a row that is larger', async () => {
    const object = objectOf('{"a":1}\n{"a":2}\n{"a":3}\n{"text":"longer than a piece may be"}\n{"a":4}\n')
    const pieces = await piecesOf({ format: 'JSONEachRow' }, object, 20)
    assert.deepEqual(
      pieces.map(({ beginByte, endByte, rows }) => [beginByte, endByte, rows.count, rows.readBytes]),
      [
        [0, 16, 2, 16],
        [16, 24, 1, 8],
        [24, 62, 1, 38],
        [62, null, 1, 8],
      ],
    )
  })

  it('of compressed objects have offsets in the decompressed bytes', async () => {
    const text = Array.from({ length: 500 }, (_, index) => `{"a":${index}}\n`).join('')
    for (const bytes of [gzipSync(text), zstdCompressSync(text)]) {
      for (const chunkBytes of [5, 0]) {
        const pieces = await piecesOf({ format: 'JSONEachRow' }, objectOf(bytes, { chunkBytes }), 1000)
        assert.equal((await Promise.all(pieces.map(({ rows }) => textOf(rows)))).join(''), text)
        assert.equal(pieces[1]!.beginByte, 1000)
      }
    }
  })

  it('are the same again of a large object, to its end and in the middle', async () => {
    const text = Array.from({ length: 50_000 }, (_, index) => `{"a":${index}}\n`).join('')
    for (const chunkBytes of [10_000, 0]) {
      const object = objectOf(text, { chunkBytes })
      const pieces = await piecesOf({ format: 'JSONEachRow' }, object, 250_000)
      assert.equal(pieces.length, 3)
      await assertAgain({ format: 'JSONEachRow' }, object, pieces)
      const [whole] = await piecesOf({ format: 'JSONEachRow' }, object, 1e9)
      assert.equal(await textOf(whole!.rows), text)
    }
  })

  it('are of about the same size, so that the last one is not tiny', async () => {
    const text = `{"a":"${'x'.repeat(1000)}"}\n`.repeat(1100)
    const sizesOf = async (bytes: Buffer): Promise<number[]> => {
      const pieces = await piecesOf({ format: 'JSONEachRow' }, objectOf(bytes, { chunkBytes: 10_000 }))
      return pieces.map(({ rows }) => rows.readBytes)
    }
    const [first, second, ...others] = await sizesOf(Buffer.from(text))
    assert.deepEqual([others.length, first! + second!], [0, text.length])
    assert.ok(second! > text.length / 3, `${first} and ${second}`)
    // The size of a compressed object is unknown before its end.
    assert.ok((await sizesOf(gzipSync(text)))[0]! > 990_000)
  })

  it('have the size that pieceBytes returns for each of them', async () => {
    const text = `{"a":"${'x'.repeat(91)}"}\n`.repeat(1000)
    // The first call is for the memory, when the object is opened.
    const sizes = [1_000, 1_000, 2_000, 50_000]
    const next = () => sizes.shift() ?? 1e6
    const pieces = await piecesOf({ format: 'JSONEachRow' }, objectOf(text, { chunkBytes: 1000 }), next)
    assert.deepEqual(
      pieces.map(({ rows }) => rows.count),
      [10, 20, 500, 470],
    )
  })

  it('of an object without rows are one without rows', async () => {
    for (const [format, text] of [
      ['JSONEachRow', ''],
      ['JSONEachRow', '[]'],
      ['CSV', '\n'],
      ['CSVWithNames', 'a,b\n'],
      ['TabSeparatedWithNames', ''],
    ] as const) {
      const rows = await rowsOf({ format }, text)
      assert.equal(rows.count, 0, format)
      assert.equal(await textOf(rows), '')
    }
  })
})

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

describe('rows of objects', () => {
  it('are divided as lists are', async () => {
    const pipe = { format: 'CSV', columns: ['a Int64'] }
    const check = async (values: number[], begin: number, end: number, rejected: number[]): Promise<void> => {
      const rows = await rowsOf(pipe, values.join('\n'))
      const [from, to] = [Math.min(begin, values.length), Math.min(Math.max(begin, end), values.length)]
      const lineOf = (value: number): string => `${value}\n`
      assert.equal(await textOf(rows.only(from, to)), values.slice(from, to).map(lineOf).join(''))
      const left = values.filter((_, index) => !rejected.includes(index))
      assert.equal(await textOf(rows.without(new Set(rejected))), left.map(lineOf).join(''))
      assert.equal(rows.without(new Set(rejected)).count, left.length)
    }
    const index = fc.nat(20)
    await fc.assert(fc.asyncProperty(fc.array(fc.integer(), { maxLength: 15 }), index, index, fc.array(index), check))
  })

  it('of objects of the same shape are joined, others are not', async () => {
    const pipe = { format: 'CSVWithNames', columns: ['a Int64', 'b Int64'] }
    const { join } = makeObjectEncoder(partsOf(pipe))
    const [one, other, different] = await Promise.all(
      ['a,b\n1,2', 'a,b\n3,4', 'b,a\n5,6'].map((text) => rowsOf(pipe, text)),
    )
    assert.equal(await textOf(join([one!, other!])!), '1,2\n3,4\n')
    assert.equal(join([one!, different!]), undefined)
  })

  it('are encoded again when they were kept, also of files with different fields', async () => {
    const pipe = { format: 'CSVWithNames', columns: ['a Int64', 'b String', '_path String'] }
    const kept = [
      (await rowsOf(pipe, 'a,b\n1,"x, y"\n', 'one')).keep(0),
      (await rowsOf(pipe, 'z,b\nz,w\r\n', 'other')).keep(0),
    ]
    const rows = await encodeKept(partsOf(pipe), kept)
    assert.equal(await textOf(rows), '1,"x, y","one"\n\\N,w,"other"\n')
    assert.equal(rows.count, 2)
    const json = { format: 'JSONEachRow', columns: ['a Int64', '_path String'] }
    const keptJson = (await rowsOf(json, '[{"a":1},{"a":"x"}]', 'list')).keep(1)
    assert.equal(await textOf(await encodeKept(partsOf(json), [keptJson])), '{"_path":"list","a":"x"}\n')
  })
})

describe('objects that are one piece', () => {
  const content = Buffer.from('PAR1 and so on')

  it('are sent as they are, without their compression', async () => {
    for (const bytes of [content, gzipSync(content)]) {
      const [piece, ...others] = await piecesOf({ format: 'Parquet', mappings: { a: 'field' } }, objectOf(bytes))
      assert.equal(others.length, 0)
      const { rows, beginByte, endByte } = piece!
      assert.deepEqual([beginByte, endByte, rows.isDivisible, rows.count], [0, null, false, 1])
      assert.deepEqual(rows.shape, {
        format: 'Parquet',
        fields: [{ name: 'field', type: 'Int64' }],
        columns: [{ column: 'a', field: 'field' }],
      })
      assert.equal(await textOf(rows), String(content))
      assert.equal(await textOf(rows), String(content), 'each time')
    }
  })

  it('reject with NotConnected when the connection to the store is lost', async () => {
    const object = objectOf(content)
    const [piece] = await piecesOf(
      { format: 'Avro' },
      { ...object, open: async () => Promise.reject(new NotConnected()) },
    )
    await assert.rejects(textOf(piece!.rows), NotConnected)
  })

  it('cannot fill columns from what is known of the object', async () => {
    await assert.rejects(piecesOf({ format: 'Parquet', columns: ['_path String'] }, objectOf(content)), ProbeFailure)
  })

  it('of Avro cannot fill columns from within a record, where the engine would store the default', async () => {
    const mappings = { a: 'customer.id' }
    await assert.rejects(piecesOf({ format: 'Avro', mappings }, objectOf(content)), (error) => {
      assert.ok(error instanceof ProbeFailure)
      return error.code === 'misfit' && error.reason.includes('"customer.id"')
    })
    assert.equal((await piecesOf({ format: 'Parquet', mappings }, objectOf(content))).length, 1)
  })
})
