import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import { type Capabilities, loadCapabilities } from './capabilities.ts'
import { type EngineClient, openEngineClient } from './client.ts'
import { EngineError, type EngineTable } from './engine.ts'
import { makeTableReady, type ReadyTable } from './tables.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })

for (const hasTokens of [true, false]) {
  describe(`makeTableReady on an engine ${hasTokens ? 'that knows inserts by tokens' : 'without tokens'}`, () => {
    let engine: TestEngine
    let client: EngineClient
    let capabilities: Capabilities

    before(async () => {
      engine = await (hasTokens ? openEmbeddedEngine() : startPaperEngine())
      const { host, port, username, password } = engine
      client = openEngineClient(egress, { protocol: 'http', host, port, username, password: new Secret(password) })
      capabilities = await loadCapabilities(client)
    })
    after(async () => {
      client.close()
      await engine.close()
    })

    const managed = (table: string, more: Partial<EngineTable> = {}): EngineTable => ({
      database: engine.database,
      table,
      columns: [
        { name: 'id', type: 'UInt64' },
        { name: 'at', type: 'DateTime' },
        { name: "it's `odd`", type: 'Nullable(String)' },
      ],
      definition: {
        engine: { type: 'MergeTree' },
        partitionBy: 'toYYYYMM(at)',
        primaryKey: 'id',
        sortingKey: ['id', 'at'],
      },
      ...more,
    })

    const unmanaged = (table: string, ...names: string[]): EngineTable => ({
      database: engine.database,
      table,
      columns: names.map((name) => ({ name, type: 'String' })),
    })

    const makeReady = (table: EngineTable): Promise<ReadyTable> => makeTableReady(client, capabilities, table)
    async function definitionOf(table: string): Promise<Record<string, string>> {
      const columns = 'partition_key, sorting_key, primary_key, engine_full'
      const where = `database = '${engine.database}' AND name = '${table}'`
      return JSON.parse(await engine.run(`SELECT ${columns} FROM system.tables WHERE ${where} FORMAT JSONEachRow`))
    }
    const statements = (begin: RegExp) => engine.queries.map(({ query }) => query).filter((query) => begin.test(query))

    const inDefault = (text: string): string => text.replaceAll(engine.database, 'default')

    async function refusal(table: EngineTable): Promise<string> {
      const error = await makeReady(table).then(
        () => assert.fail('it should have been refused'),
        (failure: unknown) => failure,
      )
      assert.ok(error instanceof EngineError, String(error))
      assert.equal(error.kind, 'user')
      return inDefault(error.message)
    }

    it('loads the capabilities of the engine', () => {
      const { hasSetting, hasFormat, canInput, canDropSync, hasTtl } = capabilities
      assert.deepEqual(
        [canInput, canDropSync, hasTtl, capabilities.hasTokens],
        [hasTokens, hasTokens, hasTokens, hasTokens],
      )
      assert.equal(hasSetting('async_insert'), hasTokens)
      assert.equal(hasFormat('Parquet'), hasTokens)
      assert.ok(hasSetting('max_insert_block_size') && !hasSetting('no_such_setting') && hasFormat('JSONEachRow'))
    })

    it('creates a table with a deduplication window or a marker column', async () => {
      const ready = await makeReady(managed('made'))
      const marker = hasTokens ? [] : [{ name: '_penstock_batch', type: 'String' }]
      assert.deepEqual(ready, {
        database: engine.database,
        table: 'made',
        columns: [...managed('made').columns, ...marker],
        partitionKey: ready.partitionKey,
        keepsTokens: hasTokens,
        areTokensFirst: hasTokens,
        hasMarker: !hasTokens,
        delivery: { delivery: 'exactly_once' },
        isNew: true,
      })
      const made = await definitionOf('made')
      assert.deepEqual(
        [made.partition_key, made.sorting_key, made.primary_key],
        hasTokens ? ['toYYYYMM(at)', 'id, at', 'id'] : ['toYYYYMM(`at`)', '(`id`, `at`)', '`id`'],
      )
      assert.equal(made.engine_full!.includes('non_replicated_deduplication_window = 10000'), hasTokens)
    })

    it('does not change a table that matches', async () => {
      await makeReady(managed('same'))
      const before = statements(/^(?:ALTER|CREATE)/).length
      const { isNew } = await makeReady(managed('same'))
      assert.equal(isNew, false)
      assert.equal(statements(/^(?:ALTER|CREATE)/).length, before)
    })

    it('makes the other engines with their columns', async () => {
      const columns = managed('x').columns
      const full = async (table: string, definition: EngineTable['definition']): Promise<string> => {
        await makeReady({ ...managed(table), columns, ...(definition ? { definition } : {}) })
        return (await definitionOf(table)).engine_full!.replace(/ SETTINGS .*/, '')
      }
      const replacing = { type: 'ReplacingMergeTree', versionColumnId: 'at' } as const
      const summing = { type: 'SummingMergeTree' as const, columnIds: ['id', 'at'] }
      const plain = { type: 'MergeTree' } as const
      assert.deepEqual(
        [
          await full('r', { engine: replacing, sortingKey: ['id'] }),
          await full('s', { engine: summing }),
          await full('k', { engine: plain, primaryKey: 'id, at' }),
        ],
        hasTokens
          ? [
              'ReplacingMergeTree(at) ORDER BY id',
              'SummingMergeTree((id, at)) ORDER BY tuple()',
              'MergeTree ORDER BY tuple(id, at)',
            ]
          : [
              'ReplacingMergeTree(`at`) ORDER BY `id`',
              'SummingMergeTree((`id`, `at`)) ORDER BY tuple()',
              'MergeTree() ORDER BY tuple(`id`, `at`)',
            ],
      )
      assert.equal((await full('n', { engine: { type: 'Null' }, sortingKey: ['id'] })).replaceAll('`', ''), 'Null')
    })

    it('adds columns that are missing, and drops none', async () => {
      await makeReady(managed('grown'))
      const columns = [{ name: 'more', type: 'Array(String)' }, ...managed('grown').columns.slice(0, 1)]
      const ready = await makeReady(managed('grown', { columns }))
      assert.deepEqual(
        ready.columns.map(({ name }) => name),
        ['id', 'at', "it's `odd`", ...(hasTokens ? [] : ['_penstock_batch']), 'more'],
      )
      assert.ok(statements(/^ALTER/).every((text) => text.includes('IF NOT EXISTS') === hasTokens))
    })

    it('adds a deduplication window or a marker column to an existing managed table', async () => {
      await engine.run('CREATE TABLE old (id UInt64, at DateTime) ENGINE = MergeTree ORDER BY id')
      const ready = await makeReady(managed('old', { columns: managed('old').columns.slice(0, 2) }))
      assert.deepEqual(
        [ready.keepsTokens, ready.hasMarker, ready.delivery.delivery],
        [hasTokens, !hasTokens, 'exactly_once'],
      )
    })

    it('refuses a column of another type, and says what to run', async () => {
      await makeReady(managed('typed'))
      const columns = [{ name: 'id', type: 'Nullable(String)' }]
      assert.equal(
        await refusal(managed('typed', { columns })),
        'the column "id" of the table `default`.`typed` has the type UInt64 in the engine and Nullable(String) in the pipe; ' +
          'change the pipe, or run ALTER TABLE `default`.`typed` MODIFY COLUMN `id` Nullable(String)',
      )
    })

    it('does not suggest converting a column to a type that cannot hold its values', async () => {
      await makeReady(managed('narrowed'))
      const aside = hasTokens
        ? 'ALTER TABLE `default`.`narrowed` RENAME COLUMN `id` TO `id_before`'
        : 'RENAME TABLE `default`.`narrowed` TO `default`.`narrowed_before`'
      const refused = await refusal(managed('narrowed', { columns: [{ name: 'id', type: 'UInt32' }] }))
      assert.ok(refused.endsWith(`change the pipe, or run ${aside}`), refused)
    })

    it('refuses types, expressions and databases that are not there', async () => {
      assert.match(
        await refusal(managed('a', { columns: [{ name: 'x', type: 'String; DROP' }] })),
        /type "String; DROP" of the column "x"/,
      )
      const definition = { engine: { type: 'MergeTree' as const }, partitionBy: '(SELECT 1)' }
      assert.match(await refusal(managed('a', { definition })), /^the partitionBy "\(SELECT 1\)"/)
      assert.match(
        await refusal(managed('a', { database: 'nowhere' })),
        /^the engine at 127\.0\.0\.1:\d+ has no database `nowhere`; run CREATE DATABASE `nowhere` there, or create the pipe /,
      )
      assert.ok(!(await engine.listTables()).includes('a'))
    })

    // Current ClickHouse has all types that Penstock knows.
    it('names the column whose type the engine does not have', { skip: hasTokens }, async () => {
      // For a new column, and for a new table.
      await makeReady(managed('extended'))
      for (const [table, text] of [
        ['extended', /^ALTER TABLE/],
        ['created', /^CREATE TABLE/],
      ] as const) {
        const columns = [...managed(table).columns, { name: 'where', type: 'Array(Point)' }]
        engine.failNext({ matching: text, code: 50 })
        const refused = (await refusal(managed(table, { columns }))).replace(/127\.0\.0\.1:\d+/, 'there')
        assert.equal(
          refused,
          `the engine at there has no type Point, which the column "where" of the table \`default\`.\`${table}\` needs; ` +
            'create the pipe again with another type, or use a newer engine',
        )
      }
    })

    it('works for concurrent workers', async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => makeReady(managed('race'))))
      assert.equal(all.length, 6)
      const columns = [...managed('race').columns, { name: 'more', type: 'String' }]
      const grown = await Promise.all(Array.from({ length: 6 }, () => makeReady(managed('race', { columns }))))
      assert.ok(grown.every((ready) => ready.columns.filter(({ name }) => name === 'more').length === 1))
    })

    it('requires that a table of the user exists, with all columns', async () => {
      assert.match(await refusal(unmanaged('missing', 'id')), /has no table `default`.`missing`/)
      await engine.run('CREATE TABLE theirs (id UInt64, at DateTime) ENGINE = MergeTree ORDER BY id')
      assert.equal(
        await refusal(unmanaged('theirs', 'id', 'x', 'y')),
        'the table `default`.`theirs` has no column "x", "y" that a pipe could fill; ' +
          'remove it from the pipe, or run ALTER TABLE `default`.`theirs` ADD COLUMN `x` String',
      )
      const before = engine.queries.length
      await makeReady(unmanaged('theirs', 'at'))
      assert.ok(engine.queries.slice(before).every(({ query }) => query.startsWith('SELECT')))
    })

    it('returns the delivery guarantee of a table of the user, and the statement that improves it', async () => {
      await engine.run('CREATE TABLE plain (id String) ENGINE = MergeTree ORDER BY id')
      const statement = hasTokens
        ? 'ALTER TABLE `default`.`plain` MODIFY SETTING non_replicated_deduplication_window = 10000'
        : 'ALTER TABLE `default`.`plain` ADD COLUMN _penstock_batch String'
      const { delivery } = await makeReady(unmanaged('plain', 'id'))
      assert.ok(delivery.delivery === 'at_least_once')
      assert.deepEqual(
        inDefault(delivery.reason),
        `the table keeps no trace of the inserts that it has; run ${statement} and start the pipe again`,
      )
      await engine.run(statement.replace('`default`.', ''))
      assert.deepEqual((await makeReady(unmanaged('plain', 'id'))).delivery, { delivery: 'exactly_once' })
      const deliveryWith = async (table: string, text: string): Promise<string> => {
        await engine.run(`CREATE TABLE ${table} (id String, v UInt64, _penstock_batch String) ENGINE = ${text}`)
        return (await makeReady(unmanaged(table, 'id'))).delivery.delivery
      }
      assert.equal(await deliveryWith('e1', 'Null'), 'at_least_once')
      assert.equal(await deliveryWith('e2', 'Memory'), 'at_least_once')
      assert.equal(await deliveryWith('e3', 'MergeTree ORDER BY id'), 'exactly_once')
      assert.equal(await deliveryWith('e4', 'ReplacingMergeTree(v) ORDER BY id'), 'exactly_once')
      assert.equal(await deliveryWith('e5', 'ReplacingMergeTree ORDER BY id'), 'at_least_once')
      assert.equal(await deliveryWith('e6', 'SummingMergeTree ORDER BY id'), 'at_least_once')
      // The embedded engine has no Keeper.
      if (!hasTokens) assert.equal(await deliveryWith('e7', 'ReplicatedMergeTree ORDER BY id'), 'exactly_once')
    })
  })
}
