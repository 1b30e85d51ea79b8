// Every type of PostgreSQL, from the catalog and the rows of a real server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { probe } from '../../../test/sources/conformance.ts'
import { queryAt } from '../../../test/sources/postgres-embedded.ts'
import { mapping, sourceOf } from '../../../test/sources/postgres-world.ts'
import type { Row, SourceField } from '../../source-shapes/probe.ts'
import { listColumns } from './postgres-columns.ts'
import type { PostgresSession } from './postgres-connection.ts'

const url = process.env.PENSTOCK_TEST_POSTGRES!
const database = 'probed_types'

interface Case {
  type: string
  /** SQL literal. */
  literal: string
  destination: string
  value: unknown
}

const text = (type: string, literal: string, value: unknown = literal.slice(1, -1)): Case => ({
  ...{ type, literal, value },
  destination: 'String',
})

const cases: Case[] = [
  { type: 'boolean', literal: 'true', destination: 'Bool', value: true },
  { type: 'smallint', literal: '-32768', destination: 'Int16', value: -32768 },
  { type: 'integer', literal: '2147483647', destination: 'Int32', value: 2147483647 },
  { type: 'bigint', literal: '-9223372036854775808', destination: 'Int64', value: -9223372036854775808n },
  { type: 'oid', literal: '4294967295', destination: 'UInt32', value: 4294967295 },
  { type: 'real', literal: '1.5', destination: 'Float32', value: 1.5 },
  { type: 'double precision', literal: '0.1', destination: 'Float64', value: 0.1 },
  { type: 'float8', literal: `'-Infinity'`, destination: 'Float64', value: -Infinity },
  { type: 'numeric(10,2)', literal: '12345678.9', destination: 'Decimal(10, 2)', value: '12345678.90' },
  { type: 'numeric(20)', literal: '12', destination: 'Decimal(20, 0)', value: '12' },
  { type: 'numeric(76,38)', literal: '1', destination: 'Decimal(76, 38)', value: `1.${'0'.repeat(38)}` },
  { type: 'numeric(77,0)', literal: '1', destination: 'String', value: '1' },
  { type: 'numeric(3,-2)', literal: '12345', destination: 'Decimal(5, 0)', value: '12300' },
  { type: 'numeric(3,5)', literal: '0.00123', destination: 'Decimal(5, 5)', value: '0.00123' },
  { type: 'numeric', literal: '1e30', destination: 'String', value: `1${'0'.repeat(30)}` },
  text('text', `'Grüße, 世界 🙂'`),
  text('varchar(20)', `'abc'`),
  text('varchar', `'abc'`),
  text('char(5)', `'ab'`, 'ab   '),
  text('"char"', `'x'`),
  text('name', `'somebody'`),
  text('bytea', `'\\x00ff7f'`, new Uint8Array([0, 255, 127])),
  { type: 'date', literal: `'2024-02-29'`, destination: 'Date32', value: '2024-02-29' },
  text('time', `'12:34:56.789'`),
  text('timetz', `'12:34:56+02'`),
  {
    ...{ type: 'timestamp', literal: `'2024-02-29 12:34:56.123456'`, destination: "DateTime64(6, 'UTC')" },
    value: '2024-02-29 12:34:56.123456',
  },
  {
    ...{ type: 'timestamptz', literal: `'2024-02-29 12:34:56+02'`, destination: "DateTime64(6, 'UTC')" },
    value: '2024-02-29 10:34:56',
  },
  { type: 'timestamptz(3)', literal: `'infinity'`, destination: "DateTime64(6, 'UTC')", value: 'infinity' },
  {
    ...{ type: 'timestamptz', literal: `'0044-03-15 12:00:00+00 BC'`, destination: "DateTime64(6, 'UTC')" },
    value: '0044-03-15 12:00:00 BC',
  },
  text('interval', `'1 year 2 days 03:04:05'`),
  {
    ...{ type: 'uuid', literal: `'0B7C1F0E-5D5D-4C6A-8F0B-2F1C9F6F1A11'`, destination: 'UUID' },
    value: '0b7c1f0e-5d5d-4c6a-8f0b-2f1c9f6f1a11',
  },
  text('json', `'{"a":  1}'`),
  text('jsonb', `'{"a": 1}'`),
  text('jsonpath', `'$."a"'`),
  text('inet', `'10.1.2.3/8'`),
  text('cidr', `'10.0.0.0/8'`),
  text('macaddr', `'08:00:2b:01:02:03'`),
  text('macaddr8', `'08:00:2b:01:02:03:04:05'`),
  text('bit(3)', `'101'`),
  text('varbit', `'10101'`),
  text('money', `'12.34'`, '$12.34'),
  text('point', `'(1,2)'`),
  text('line', `'{1,2,3}'`),
  text('lseg', `'[(1,2),(3,4)]'`),
  text('box', `'(3,4),(1,2)'`),
  text('path', `'((1,2),(3,4))'`),
  text('polygon', `'((1,2),(3,4))'`),
  text('circle', `'<(1,2),3>'`),
  text('int4range', `'[1,5)'`),
  text('int8range', `'[1,5)'`),
  text('numrange', `'[1.5,2)'`),
  text('daterange', `'[2024-01-01,2024-02-01)'`),
  text('tsrange', `'["2024-01-01 00:00:00","2024-02-01 00:00:00")'`),
  text('tstzrange', `'["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")'`),
  text('int4multirange', `'{[1,5),[7,9)}'`),
  text('tsvector', `'cat dog'`, `'cat' 'dog'`),
  text('tsquery', `'cat & dog'`, `'cat' & 'dog'`),
  text('pg_lsn', `'16/B374D848'`),
  text('xid8', `'42'`),
  text('regclass', `'pg_class'`),
  text('int2vector', `'1 2 3'`),
  text('mood', `'happy'`),
  text('pair', `'(1,)'`),
  text('hstore', `'"a"=>"1"'`),
  text('citext', `'Case'`),
  { type: 'percent', literal: '12.5', destination: 'Decimal(5, 2)', value: '12.50' },
  { type: 'small_percent', literal: '12.5', destination: 'Decimal(5, 2)', value: '12.50' },
  { type: 'integer[]', literal: `'{1,NULL,3}'`, destination: 'Array(Int32)', value: [1, null, 3] },
  { type: 'bigint[]', literal: `'{9007199254740993}'`, destination: 'Array(Int64)', value: [9007199254740993n] },
  { type: 'boolean[]', literal: `'{t,f}'`, destination: 'Array(Bool)', value: [true, false] },
  { type: 'text[]', literal: `ARRAY['a,"b', '', '\\']`, destination: 'Array(String)', value: ['a,"b', '', '\\'] },
  { type: 'numeric(6,3)[]', literal: `'{1.5}'`, destination: 'Array(Decimal(6, 3))', value: ['1.500'] },
  { type: 'bytea[]', literal: `'{"\\\\x01"}'`, destination: 'Array(String)', value: [new Uint8Array([1])] },
  {
    ...{ type: 'timestamptz[]', literal: `'{2024-01-01 00:00:00+01}'`, destination: "Array(DateTime64(6, 'UTC'))" },
    value: ['2023-12-31 23:00:00'],
  },
  { type: 'mood[]', literal: `'{happy,sad}'`, destination: 'Array(String)', value: ['happy', 'sad'] },
  { type: 'pair[]', literal: `'{"(1,2)"}'`, destination: 'Array(String)', value: ['(1,2)'] },
  { type: 'percent[]', literal: `'{1}'`, destination: 'Array(Decimal(5, 2))', value: ['1.00'] },
  { type: 'scores', literal: `'{1,2}'`, destination: 'Array(Int32)', value: [1, 2] },
  { type: 'scores[]', literal: `'{"{1,2}"}'`, destination: 'Array(String)', value: ['{1,2}'] },
  { type: 'integer[]', literal: `'{}'`, destination: 'Array(Int32)', value: [] },
]

describe('the types of PostgreSQL', () => {
  let fields: SourceField[]
  let rows: Row[]

  const probeTable = async (allowNullableColumns: boolean, table = 'everything') => {
    const { username, password, port } = new URL(url)
    const source = sourceOf(
      { host: '127.0.0.1', port: Number(port), ca: '' },
      {
        database,
        credentials: { username, password },
        context: { allowPlaintext: true },
        settings: { replicationMode: 'snapshot', allowNullableColumns },
        tableMappings: [mapping(table, { sourceSchemaName: 'public', tableEngine: 'MergeTree' })],
      },
    )
    return (await probe(source)).samples[0]!
  }

  before(async () => {
    await queryAt(url, `CREATE DATABASE ${database}`, 'postgres')
    const columns = cases.map(({ type }, index) => `column${index} ${type}`).join(', ')
    const values = cases.map(({ literal }) => literal).join(', ')
    await queryAt(
      url,
      `CREATE EXTENSION hstore; CREATE EXTENSION citext;
      CREATE TYPE mood AS ENUM ('happy', 'sad');
      CREATE TYPE pair AS (first int, second int);
      CREATE DOMAIN percent AS numeric(5,2);
      CREATE DOMAIN small_percent AS percent CHECK (value < 50);
      CREATE DOMAIN scores AS int[];
      CREATE DOMAIN known AS int NOT NULL;
      CREATE TABLE everything (${columns});
      INSERT INTO everything VALUES (${values});
      INSERT INTO everything DEFAULT VALUES;
      CREATE TABLE nulls (id int PRIMARY KEY, needed text NOT NULL, free text, certain known, list text[]);
      CREATE TABLE "__proto__" ("__proto__" int)`,
      database,
    )
    ;({ fields, rows } = await probeTable(false))
  })

  after(() => queryAt(url, `DROP DATABASE ${database} WITH (FORCE)`, 'postgres'))

  for (const [index, { type, literal, destination, value }] of cases.entries()) {
    it(`can hold ${type} such as ${literal}`, () => {
      const name = `column${index}`
      assert.deepEqual(fields[index], { name, type: destination, isOptional: true })
      assert.deepEqual(rows[0]![name], value)
      assert.equal(rows[1]![name], null)
    })
  }

  it('are nullable only where the source says so, where PostgreSQL allows it and where the engine can', async () => {
    const types = async (allowNullableColumns: boolean) => (await probeTable(allowNullableColumns, 'nulls')).fields
    assert.deepEqual(
      (await types(true)).map(({ type }) => type),
      ['Int32', 'String', 'Nullable(String)', 'Int32', 'Array(Nullable(String))'],
    )
    assert.deepEqual(
      (await types(false)).map(({ type, isOptional }) => `${type} ${isOptional}`),
      ['Int32 false', 'String false', 'String true', 'Int32 false', 'Array(String) true'],
    )
  })

  it('all have a ClickHouse type', async () => {
    const types = await queryAt(
      url,
      `SELECT format_type(oid, NULL) AS type FROM pg_type
      WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm')
        AND typelem NOT IN (SELECT oid FROM pg_type WHERE typtype IN ('c', 'p')) ORDER BY 1`,
      database,
    )
    assert.ok(types.length > 100)
    const columns = types.map(({ type }, index) => `c${index} ${type}`).join(', ')
    await queryAt(url, `CREATE TABLE builtin (${columns}); INSERT INTO builtin DEFAULT VALUES`, database)
    const sample = await probeTable(false, 'builtin')
    assert.equal(sample.fields.length, types.length)
    assert.ok(sample.fields.every(({ type }) => /^(?:Array\()*[A-Z]\w+/.test(type)))
    assert.equal(sample.rows.length, 1)
  })

  it('are read in fewer rows where a table has very many columns', async () => {
    const columns = Array.from({ length: 1_000 }, (_, index) => `c${index} text DEFAULT repeat('x', 5)`)
    const insert = 'INSERT INTO wide (c0) SELECT repeat($$y$$, 500) FROM generate_series(1, 50)'
    await queryAt(url, `CREATE TABLE wide (${columns.join(', ')}); ${insert}`, database)
    const sample = await probeTable(false, 'wide')
    assert.equal(sample.rows.length, 10)
    assert.deepEqual([sample.rows[0]!.c0, sample.rows[0]!.c999], ['y'.repeat(100), 'xxxxx'])
  })

  it('are read whatever their columns are called', async () => {
    await queryAt(url, 'INSERT INTO "__proto__" VALUES (7)', database)
    const sample = await probeTable(false, '__proto__')
    assert.deepEqual(Object.entries(sample.rows[0]!), [['__proto__', 7]])
  })
})

describe('types with invalid catalog entries', () => {
  it('do not cause an endless loop', async () => {
    const column = {
      tableId: '1',
      name: 'a',
      typeId: '2',
      modifier: -1,
      revision: '731',
      hasStoredDefault: false,
      isNotNull: false,
      isGenerated: false,
      mayRead: true,
    }
    const type = {
      id: '2',
      name: 'd',
      isBuiltIn: false,
      baseId: '2',
      baseModifier: -1,
      isNotNull: false,
      elementId: '0',
      delimiter: ',',
      labels: [],
    }
    const answers: object[][] = [[column], [type]]
    const session: PostgresSession = {
      query: async <Row>() => (answers.shift() ?? []) as Row[],
      queryTexts: () => assert.fail('nothing is read'),
      close: async () => undefined,
    }
    await assert.rejects(listColumns(session, ['1']), { failure: 'not postgres' })
  })
})
