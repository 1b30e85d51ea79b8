// Conversion of arrays from PostgreSQL's text format to TabSeparated.
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { PostgresType } from '../../sources/postgres/postgres-types.ts'
import { columnValues } from './values.ts'

const abilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

function write(elements: Partial<PostgresType>, printed: string | Buffer, allowNullableColumns = true): string {
  const type = {
    name: '_',
    isBuiltIn: true,
    modifier: -1,
    elements: { name: 'text', isBuiltIn: true, modifier: -1, ...elements },
  }
  const values = columnValues({ name: 'a', type, isNotNull: true, isKey: false }, { allowNullableColumns, abilities })
  const out = new ByteOutput()
  // The value is not at the start of the buffer.
  const bytes = Buffer.concat([Buffer.from('{"'), Buffer.from(printed), Buffer.from('",}')])
  values.write(bytes, 2, bytes.length - 3, out)
  return out.take().toString()
}

/** Encodes as PostgreSQL does. */
function print(elements: (string | null)[]): string {
  const printed = elements.map((element) => {
    if (element === null) return 'NULL'
    const isPlain = element !== '' && !/[\s{},"\\]/.test(element) && element.toUpperCase() !== 'NULL'
    return isPlain ? element : `"${element.replaceAll(/["\\]/g, '\\$&')}"`
  })
  return `{${printed.join(',')}}`
}

const letters: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', 0: '\0' }

/** Decodes as ClickHouse does. */
function read(field: string): (string | null)[] {
  const elements: (string | null)[] = []
  const rest = field.replaceAll(/(?<=[[,])(?:NULL|'((?:[^'\\]|\\.)*)')/gs, (found, text: string) => {
    elements.push(
      found === 'NULL' ? null : text.replaceAll(/\\(.)/gs, (_, letter: string) => letters[letter] ?? letter),
    )
    return ''
  })
  assert.match(rest, /^\[,*\]$/)
  return elements
}

describe('arrays', () => {
  it('are written as the engine reads them', () => {
    assert.equal(write({ name: 'int4' }, '{1,-2,NULL}'), '[1,-2,NULL]')
    assert.equal(write({ name: 'int4' }, '{}'), '[]')
    assert.equal(write({}, '{a,"b c","",NULL,"NULL"}'), "['a','b c','',NULL,'NULL']")
    assert.equal(
      write({}, '{"it\'s","tab\there","back\\\\slash","say \\"hi\\""}'),
      String.raw`['it\'s','tab\there','back\\slash','say "hi"']`,
    )
    assert.equal(write({ name: 'bool' }, '{t,f,NULL}'), '[true,false,NULL]')
    assert.equal(write({ name: 'float8' }, '{0.1,NaN,-Infinity}'), '[0.1,-nan,-Infinity]')
    assert.equal(write({ name: 'bytea' }, '{"\\\\x6127","\\\\x"}'), "['a\\'','']")
    assert.equal(
      write({ name: 'date' }, '{2024-02-29,infinity,"0044-03-15 BC"}'),
      "['2024-02-29','2299-12-31','1900-01-01']",
    )
    assert.equal(write({ name: 'timestamptz' }, '{"2024-01-01 00:00:00+00"}'), "['2024-01-01 00:00:00']")
    assert.equal(write({ name: 'box' }, '{(3,4),(1,2);(1,1),(0,0)}'), "['(3,4),(1,2)','(1,1),(0,0)']")
    assert.equal(write({ name: 'geometry', isBuiltIn: false, delimiter: ':' }, '{01,02:03}'), "['01,02','03']")
  })

  it('have the default for NULL and for unrepresentable values when elements are not Nullable', () => {
    const defaults: [Partial<PostgresType>, string][] = [
      [{ name: 'int4' }, '[0]'],
      [{ name: 'bool' }, '[false]'],
      [{ name: 'text' }, "['']"],
      [{ name: 'date' }, "['1970-01-01']"],
      [{ name: 'timestamp' }, "['1970-01-01 00:00:00']"],
      [{ name: 'uuid' }, "['00000000-0000-0000-0000-000000000000']"],
    ]
    for (const [elements, expected] of defaults) assert.equal(write(elements, '{NULL}', false), expected)
    const numeric = { name: 'numeric', modifier: ((6 << 16) | 3) + 4 }
    assert.equal(write(numeric, '{1.500,NaN,NULL}', false), '[1.500,0,0]')
    assert.equal(write(numeric, '{1.500,NaN}'), '[1.500,NULL]')
  })

  it('are rejected when they have several dimensions or another lower bound than 1', () => {
    const rejected: [string, RegExp][] = [
      ['{{1,2},{3,4}}', /more than one dimension/],
      ['{{}}', /more than one dimension/],
      ['[0:1]={1,2}', /does not count from 1/],
      ['[1:1][-2:-1]={{1,2}}', /does not count from 1/],
    ]
    for (const [printed, reason] of rejected) {
      assert.throws(
        () => write({ name: 'int4' }, printed),
        (error) => error instanceof Undecodable && reason.test(error.reason),
      )
    }
  })

  it('are rejected when they are not valid PostgreSQL output', () => {
    for (const printed of ['', '{', '{1', '{1,', '{1}x', '{"a', '{"a"b}', '{"a\\', '1']) {
      assert.throws(() => write({}, printed), Undecodable, printed)
    }
  })

  it('keep every text as it is', () => {
    fc.assert(
      fc.property(lists, (list) => {
        const field = write({}, print(list))
        assert.deepEqual(read(field), list)
        assert.ok(!/[\t\n]/.test(field))
      }),
      { numRuns: 2_000 },
    )
  })

  it('keep every text that PostgreSQL prints', async () => {
    const client = new pg.Client({ connectionString: process.env.PENSTOCK_TEST_POSTGRES! })
    await client.connect()
    try {
      for (const list of fc.sample(lists, 300)) {
        const { rows } = await client.query<{ printed: string }>('SELECT $1::text[]::text AS printed', [list])
        assert.deepEqual(read(write({}, rows[0]!.printed)), list)
      }
    } finally {
      await client.end()
    }
  })
})

const character = fc.oneof(
  fc.constantFrom(...'{}",\'\\ \t\n\r\b\f\v[]N;', 'NULL', 'null', 'é', '🙂'),
  fc.string({ maxLength: 3 }),
)
/** Without zeros and lone surrogates, which PostgreSQL text cannot have. */
const texts = fc
  .array(character, { maxLength: 30 })
  .map((characters) => characters.join('').replaceAll('\0', '').toWellFormed())
const lists = fc.array(fc.option(texts), { maxLength: 6 })
