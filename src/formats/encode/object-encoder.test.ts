import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import {
  keptTexts,
  objectOf,
  type Piece,
  type Pipe,
  partsOf,
  piecesOf,
  rowsOf,
  signal,
  textOf,
} from '../../../test/harness/object-encoder.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { encodeKept } from './kept-rows.ts'
import { makeObjectEncoder } from './object-encoder.ts'
import type { ObjectToEncode } from './object-format.ts'

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
