// Creation and migration of tables and the engine client, against real engines: ClickHouse 18.16 and current.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Capabilities, loadCapabilities } from '../../src/engine/capabilities.ts'
import { type EngineClient, openEngineClient } from '../../src/engine/client.ts'
import { EngineError, type EngineTable } from '../../src/engine/engine.ts'
import { makeTableReady, type ReadyTable } from '../../src/engine/tables.ts'
import { Egress } from '../../src/lib/egress.ts'
import { Secret } from '../../src/lib/secret.ts'
import { startModernEngine } from './servers/chdb.ts'
import { startClickHouse } from './servers/clickhouse.ts'
import type { EngineServer, EngineUser } from './servers/engine.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
const oddName = "it's `odd` \\ \n \0 ü ; -- /* DROP TABLE x */"

const table = (name: string, more: Partial<EngineTable> = {}): EngineTable => ({
  database: 'table_tests',
  table: name,
  columns: [
    { name: 'id', type: 'UInt64' },
    { name: 'at', type: 'DateTime' },
    { name: 'column of its own', type: 'Nullable(String)' },
  ],
  definition: {
    engine: { type: 'MergeTree' },
    partitionBy: 'toYYYYMM(at)',
    primaryKey: 'id',
    sortingKey: ['id', 'at'],
  },
  ...more,
})

const typesOfAll = [
  'UInt8',
  'Int64',
  'Float32',
  'FixedString(7)',
  'Decimal(9,2)',
  'Decimal64(4)',
  'UUID',
  'Date',
  "DateTime('Europe/Berlin')",
  "Enum('a', 'it\\'s', 'c' = 100)",
  "Enum16('a' = -1000, 'b' = 1000)",
  'Array(Array(Nullable(String)))',
  'LowCardinality(Nullable(String))',
  'Tuple(UInt8, Array(String))',
  'Nested(a UInt8, `b c` String)',
  'AggregateFunction(quantiles(0.5, 0.9), Float64)',
]
const typesOfToday = [
  'Bool',
  'Int256',
  'BFloat16',
  'Date32',
  'DateTime64',
  "DateTime64(6,'UTC')",
  'Time64(3)',
  'IPv4',
  'LowCardinality(UInt8)',
  'Decimal(76, 10)',
  'Map(LowCardinality(String), Array(Nullable(UInt64)))',
  'Tuple(a UInt8, `b c` Tuple(d String))',
  'Variant(UInt64, Array(String))',
  'Dynamic(max_types=5)',
  'JSON',
  "JSON(max_dynamic_paths=10, SKIP c.d, SKIP REGEXP 'x.*', a.b UInt32)",
  'SimpleAggregateFunction(sum, UInt64)',
  'AggregateFunction(sumMap, Array(String), Array(UInt64))',
  'Point',
  'MultiPolygon',
  'varchar',
  'bigint',
]

for (const start of [startClickHouse, startModernEngine]) {
  const isOld = start === startClickHouse
  describe(`tables of ${isOld ? 'ClickHouse 18.16' : 'current ClickHouse'}`, () => {
    let server: EngineServer
    let client: EngineClient
    let capabilities: Capabilities
    const closing: (() => void)[] = []

    const open = ({ username, password }: EngineUser): EngineClient => {
      const { host, port } = server
      const opened = openEngineClient(egress, {
        protocol: 'http',
        host,
        port,
        username,
        password: new Secret(password),
      })
      closing.push(() => opened.close())
      return opened
    }
    const makeReady = (wanted: EngineTable): Promise<ReadyTable> => makeTableReady(client, capabilities, wanted)

    async function failureOf(work: Promise<unknown>): Promise<EngineError> {
      const error = await work.then(
        () => assert.fail('it should have failed'),
        (failure: unknown) => failure,
      )
      assert.ok(error instanceof EngineError, String(error))
      return error
    }

    before(async () => {
      server = await start()
      client = open(server.user)
      capabilities = await loadCapabilities(client)
      // In the default database of chDB, table names may be file names.
      await client.query('CREATE DATABASE table_tests')
    })
    after(async () => {
      for (const close of closing) close()
      await server.stop()
    })

    it('detects the features of the engine', () => {
      const { hasTokens, canInput, hasTtl, canDropSync, hasFormat, hasSetting, defaultTokenWindow } = capabilities
      assert.deepEqual(
        [hasTokens, canInput, hasTtl, canDropSync],
        isOld ? [false, false, false, false] : [true, true, true, true],
      )
      assert.deepEqual([hasFormat('Parquet'), hasFormat('JSONEachRow')], [!isOld, true])
      assert.deepEqual([hasSetting('async_insert'), hasSetting('max_insert_block_size')], [!isOld, true])
      assert.equal(defaultTokenWindow, isOld ? undefined : 0)
    })

    it('creates tables, leaves them unchanged, and extends them', async () => {
      const made = await makeReady(table(oddName))
      assert.equal(made.partitionKey, 'toYYYYMM(at)')
      assert.deepEqual([made.keepsTokens, made.hasMarker, made.delivery.delivery], [!isOld, isOld, 'exactly_once'])
      assert.equal(made.isNew, true)
      assert.deepEqual(await makeReady(table(oddName)), { ...made, isNew: false })
      const columns = [{ name: oddName, type: 'Array(String)' }, ...table('x').columns]
      const grown = await makeReady(table(oddName, { columns }))
      assert.deepEqual(grown.columns, [...made.columns, { name: oddName, type: 'Array(String)' }])
    })

    it('enables deduplication on an existing table', async () => {
      await client.query('CREATE TABLE table_tests.before (id UInt64, at DateTime) ENGINE = MergeTree ORDER BY id')
      const unmanaged: EngineTable = {
        database: 'table_tests',
        table: 'before',
        columns: table('x').columns.slice(0, 2),
      }
      const { delivery } = await makeReady(unmanaged)
      const [, statement = ''] = /; run (.*) and start/.exec('reason' in delivery ? delivery.reason : '') ?? []
      assert.match(statement, /^ALTER TABLE/)
      await client.query(statement)
      assert.equal((await makeReady(unmanaged)).delivery.delivery, 'exactly_once')
      await client.query('CREATE TABLE table_tests.taken (id UInt64, at DateTime) ENGINE = MergeTree ORDER BY id')
      assert.equal((await makeReady(table('taken'))).delivery.delivery, 'exactly_once')
    })

    it('recognizes every column type that it has created', async () => {
      for (const [index, type] of [...typesOfAll, ...(isOld ? [] : typesOfToday)].entries()) {
        const wanted = table(`type${index}`, {
          columns: [
            { name: 'id', type: 'UInt8' },
            { name: 'value', type },
          ],
        })
        const definition = { engine: { type: 'MergeTree' as const }, sortingKey: ['id'] }
        await makeReady({ ...wanted, definition })
        await makeReady({ ...wanted, definition })
      }
    })

    it('supports every table engine and every kind of key', async () => {
      const columns = table('x').columns
      for (const [index, definition] of (
        [
          { engine: { type: 'ReplacingMergeTree', versionColumnId: 'at' }, sortingKey: ['id'] },
          { engine: { type: 'ReplacingMergeTree' }, primaryKey: 'id' },
          { engine: { type: 'SummingMergeTree', columnIds: ['id'] }, sortingKey: ['at'] },
          { engine: { type: 'SummingMergeTree' }, sortingKey: ['at'] },
          { engine: { type: 'Null' } },
          { engine: { type: 'MergeTree' } },
          { engine: { type: 'MergeTree' }, primaryKey: '(id, toDate(at))', partitionBy: '(toYYYYMM(at), id % 2)' },
          { engine: { type: 'MergeTree' }, primaryKey: 'id, at', partitionBy: "toDate(at, 'UTC')" },
          {
            engine: { type: 'MergeTree' },
            primaryKey: 'intDiv(id, -2 - -3) * (id + 1)',
            partitionBy: 'toStartOfHour(at + INTERVAL 1 hour)',
          },
          { engine: { type: 'MergeTree' }, primaryKey: '-id', partitionBy: 'tuple()' },
        ] satisfies EngineTable['definition'][]
      ).entries()) {
        const made = { ...table(`engine${index}`), columns, definition }
        await makeReady(made)
        const where = `database = '${made.database}' AND name = '${made.table}'`
        const found = await client.query(`SELECT engine FROM system.tables WHERE ${where} FORMAT TabSeparated`)
        assert.equal(found, `${definition.engine.type}\n`)
      }
    })

    it('supports concurrent workers', async () => {
      await Promise.all(Array.from({ length: 8 }, () => makeReady(table('race'))))
      const columns = [...table('x').columns, { name: 'more', type: 'String' }, { name: 'still more', type: 'UInt8' }]
      await Promise.all(Array.from({ length: 8 }, () => makeReady(table('race', { columns }))))
    })

    it('supports two thousand columns with long names', async () => {
      const columns = Array.from({ length: 2_000 }, (_, index) => ({
        name: `column_${index}_${'x'.repeat(180)}`,
        type: 'String',
      }))
      const wanted = table('wide', { columns, definition: { engine: { type: 'MergeTree' } } })
      const { columns: there } = await makeReady(wanted)
      assert.equal(there.filter(({ name }) => name !== '_penstock_batch').length, 2_000)
      const names = columns.map(({ name }) => `\`${name}\``).join(', ')
      // As the first row it could be skipped as leading white space; the chDB front end does that.
      const empty = `${'\t'.repeat(1_999)}\n`
      // An engine keeps buffers of a megabyte per column.
      const settings = { max_memory_usage: 10_000_000_000 }
      await client.send(
        `INSERT INTO table_tests.wide (${names}) FORMAT TabSeparated`,
        [Buffer.from(`${isOld ? empty : ''}${'x\t'.repeat(1_999)}y\n${isOld ? '' : empty}`)],
        { settings },
      )
      const row = { [columns[0]!.name]: 'ü', [columns[1_999]!.name]: 'z' }
      await client.send(
        `INSERT INTO table_tests.wide (${names}) FORMAT JSONEachRow`,
        [Buffer.from(JSON.stringify(row))],
        {
          settings,
        },
      )
      const [first, last] = [columns[0]!.name, columns[1_999]!.name]
      const answer = await client.query(
        `SELECT \`${first}\`, \`${last}\` FROM table_tests.wide ORDER BY \`${last}\` FORMAT TabSeparated`,
      )
      assert.equal(answer, '\t\nx\ty\nü\tz\n')
    })

    it('stores nothing of an interrupted body', async () => {
      await client.query('CREATE TABLE cut (id UInt64) ENGINE = MergeTree ORDER BY id')
      const stop = new AbortController()
      function* body(): Generator<Buffer> {
        for (let chunk = 0; chunk < 40; chunk++) {
          yield Buffer.from(Array.from({ length: 10_000 }, (_, id) => `{"id":${chunk * 10_000 + id}}\n`).join(''))
          // Immediately: a little later, the whole body may have been sent.
          if (chunk === 30) stop.abort()
        }
      }
      const sent = client.send('INSERT INTO cut FORMAT JSONEachRow', body(), { signal: stop.signal })
      assert.equal((await failureOf(sent)).kind, 'passing')
      function* broken(): Generator<Buffer> {
        yield* body()
        throw new Error('the source broke off')
      }
      await assert.rejects(client.send('INSERT INTO cut FORMAT JSONEachRow', broken()), /the source broke off/)
      await wait(500)
      assert.equal(await client.query('SELECT count() FROM cut FORMAT TabSeparated'), '0\n')
    })

    it('classifies errors of the engine', async () => {
      await client.query('CREATE TABLE blame (id UInt64) ENGINE = MergeTree ORDER BY id')
      const insert = 'INSERT INTO blame (id) FORMAT JSONEachRow'
      const row = [Buffer.from('{"id":"not a number"}\n')]
      const cases: [() => Promise<unknown>, EngineError['kind'], RegExp][] = [
        [() => client.send(insert, row), 'data', /error (?:27|6)\)$/],
        [() => client.send(insert.replace('blame', 'nothing'), row), 'user', /has no such table; .* 60\)$/],
        [() => client.send(insert.replace('(id)', '(xx)'), row), 'user', /does not find a column .* 16\)$/],
        [() => client.query('SELECT 1', { settings: { no_such_setting: 1 } }), 'user', /error 115\)$/],
        [() => client.query('SELEC 1'), 'user', /error 62\)$/],
        [
          () => client.query('SELECT sum(number) FROM numbers(10000000000)', { settings: { max_execution_time: 1 } }),
          'passing',
          /error 159\)$/,
        ],
        [
          () =>
            client.query('SELECT groupArray(number) FROM numbers(100000000)', {
              settings: { max_memory_usage: 10_000_000 },
            }),
          'passing',
          /error 241\)$/,
        ],
        [() => client.query('SELECT throwIf(number = 3000000) FROM numbers(4000000)'), 'user', /error 395\)$/],
        [() => client.query('SELECT sleep(2)', { timeoutMs: 300 }), 'passing', /did not answer in time$/],
        [
          () => open({ ...server.user, password: 'wrong' }).query('SELECT 1'),
          'user',
          /refused the user name or the password/,
        ],
        [() => open(server.reader).send(insert, row), 'user', /error (?:164|497)\)$/],
        [() => open(server.powerless).query('SELECT * FROM default.blame'), 'user', /error (?:291|497)\)$/],
      ]
      for (const [work, kind, message] of cases) {
        const failure = await failureOf(work())
        assert.equal(failure.kind, kind, failure.message)
        assert.match(failure.message, message)
      }
    })

    it('refuses unknown types and databases with a readable message', async () => {
      const missing = await failureOf(makeReady(table('x', { database: 'nowhere' })))
      assert.match(missing.message, /has no database `nowhere`; run CREATE DATABASE `nowhere` there/)
      const other = await failureOf(makeReady(table('race', { columns: [{ name: 'id', type: 'String' }] })))
      assert.match(other.message, /has the type UInt64 in the engine and String in the pipe/)
      if (!isOld) return
      const young = await failureOf(makeReady(table('young', { columns: [{ name: 'id', type: 'Bool' }] })))
      assert.deepEqual(
        [young.kind, /has no type Bool, which the column "id"/.test(young.message)],
        ['user', true],
        young.message,
      )
    })
  })
}
