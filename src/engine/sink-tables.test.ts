// The tables that a sink uses: side tables, staging tables, views; rejected rows, fields and settings.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  body,
  columns,
  insertOf,
  isPassing,
  kinds,
  never,
  openSinkWorld,
  settings,
} from '../../test/harness/sink-world.ts'
import { EngineError, type Insert } from './engine.ts'

for (const engineKind of kinds) {
  const { kind, hasTokens } = engineKind
  describe(`a sink on an engine ${kind}`, () => {
    const world = openSinkWorld(engineKind)
    const { newTable, open, withSink, ids, tablesBeside, isThroughView } = world

    it('uses a staging table when the table has views or expressions, or names are ambiguous', {
      skip: !isThroughView,
    }, async () => {
      const views = (): number =>
        world.engine.queries.filter(({ query }) => query.startsWith('CREATE MATERIALIZED')).length
      const swapped = [
        { column: 'id', field: 'day' },
        { column: 'day', field: 'id' },
      ]
      const attempts: [string, Partial<Insert>][] = [
        ['CREATE MATERIALIZED VIEW TABLE_seen TO seen AS SELECT id FROM TABLE', {}],
        ['ALTER TABLE TABLE ADD COLUMN odd UInt8 DEFAULT modulo(id, 2)', {}],
        ['ALTER TABLE TABLE ADD COLUMN short LowCardinality(String)', {}],
        [
          'SELECT 1',
          {
            columns: [...insertOf('a').columns.slice(0, 2), { column: 'note', field: 'day' }],
          },
        ],
        [
          'SELECT 1',
          {
            fields: swapped.map(({ field }) => ({ name: field, type: field === 'id' ? 'Date' : 'UInt64' })),
            columns: swapped,
            body: () => [Buffer.from('{"id":"2026-01-01","day":1}')],
          },
        ],
      ]
      await world.engine.run('CREATE TABLE seen (id UInt64) ENGINE = MergeTree ORDER BY id')
      for (const [statement, more] of attempts) {
        const table = await newTable()
        await withSink(table, async (sink) => {
          await world.engine.run(
            statement.replaceAll('TABLE_', `${table.table}_`).replace(/TABLE$|(?<=TABLE )TABLE/, table.table),
          )
          const from = views()
          await sink.insert(insertOf('a', more), never)
          assert.equal(views() - from, 0, statement)
        })
        assert.equal((await ids(table))[0], 1)
      }
      assert.equal((await world.engine.rows('seen')).length, 4)
    })

    it('stays with staging tables when the engine does not create views', { skip: !isThroughView }, async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        world.engine.failNext({ matching: /^CREATE MATERIALIZED VIEW/, code: 291 })
        const from = world.engine.queries.length
        await sink.insert(insertOf('a'), never)
        await sink.insert(insertOf('b'), never)
        const asked = world.engine.queries
          .slice(from)
          .filter(({ query }) => query.startsWith('CREATE MATERIALIZED VIEW'))
        assert.equal(asked.length, 1)
      })
      assert.equal((await ids(table)).length, 8)
    })

    it('asks again for the tables when one is being dropped', { skip: hasTokens }, async () => {
      const table = await newTable()
      world.engine.failNext({ matching: /^SELECT name, toUnix.* FROM system\.tables/, code: 60, status: 404, times: 3 })
      await withSink(table, async (sink) => {
        world.engine.failNext({
          matching: /^SELECT name, type, default_kind, .* FROM system\.columns/,
          code: 60,
          status: 404,
          times: 3,
        })
        await sink.insert(insertOf('a'), never)
      })
      assert.deepEqual(await ids(table), [1, 1, 2, 3])
    })

    it('creates side tables before mayBegin resolves, and sends no rows before', async () => {
      const table = await newTable()
      const rowsSent = (): boolean =>
        world.engine.queries.slice(from).some(({ query }) => /^INSERT .* FORMAT/.test(query))
      const isReady = (name: string): boolean => name.endsWith(isThroughView ? '_view' : '_rows')
      let from = 0
      await withSink(table, async (sink) => {
        const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>()
        from = world.engine.queries.length
        const inserted = sink.insert(insertOf('a', { mayBegin: () => mayBegin }), never)
        while (!hasTokens && !(await tablesBeside(table)).some(isReady)) await wait(1)
        await wait(50)
        assert.equal(rowsSent(), false)
        begin()
        await inserted
        assert.equal(rowsSent(), true)
      })
      assert.deepEqual(await ids(table), [1, 1, 2, 3])
    })

    it('takes a batch without rows', async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        const { rows } = await sink.insert(insertOf('a', { body: () => [] }), never)
        assert.equal(rows, isThroughView ? undefined : 0)
        assert.equal((await sink.insert(insertOf('a', { body: () => [], isRepeat: true }), never)).rows, 0)
      })
      assert.deepEqual(await ids(table), [])
    })

    it('guarantees at least once where it cannot list running queries', { skip: hasTokens }, async () => {
      const table = await newTable()
      world.engine.failNext({ matching: /system\.processes/, code: 497 })
      await withSink(table, async (sink) => {
        assert.ok(sink.delivery.delivery === 'at_least_once')
        assert.match(sink.delivery.reason, /GRANT SELECT ON system\.processes TO `penstock`/)
        const from = world.engine.queries.length
        await sink.insert(insertOf('a'), never)
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        assert.ok(world.engine.queries.slice(from).every(({ query }) => !query.includes('system.processes')))
      })
      assert.deepEqual(await ids(table), [1, 1, 2, 3])
    })

    it('retries drops that failed', { skip: hasTokens }, async () => {
      const table = await newTable()
      const staged = async () => (await tablesBeside(table)).filter((name) => name.endsWith('_rows'))
      const sink = await open(table)
      world.engine.failNext({ matching: /^DROP TABLE/, code: 202 })
      await sink.insert(insertOf('a'), never)
      await sink.insert(insertOf('b'), never)
      for (let round = 0; round < 500 && (await staged()).length > 0; round++) await wait(10)
      assert.deepEqual(await staged(), [])
      world.engine.failNext({ matching: /^DROP TABLE/, code: 202 })
      await sink.insert(insertOf('c'), never)
      await sink.close()
      assert.deepEqual(await staged(), [])
    })

    it('leaves nothing of a body that breaks off', async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        const broken = function* () {
          yield body
          throw new Error('the source has gone')
        }
        const insert = insertOf('a', { body: () => Readable.from(broken(), { objectMode: false }) })
        await assert.rejects(sink.insert(insert, never))
        const abort = new AbortController()
        const endless = function* () {
          for (;;) {
            abort.abort()
            yield body
          }
        }
        await assert.rejects(sink.insert(insertOf('a', { body: endless }), abort.signal), isPassing)
      })
      assert.deepEqual(await ids(table), [])
    })

    it('leaves no table behind but the fence, and drops the tables that another sink left', async () => {
      const table = await newTable()
      const old = `${table.table}_penstock_0198a1b2c3d4_0_0`
      await world.engine.run(`CREATE TABLE ${old}_check_x (a UInt8) ENGINE = Memory`)
      await world.engine.run(`CREATE TABLE ${old}_x_y_rows (a UInt8) ENGINE = Memory`)
      await world.engine.run(`CREATE TABLE ${table.table}_penstock_0198a1b2c3d4_7_0_x_y_rows (a UInt8) ENGINE = Memory`)
      await withSink(table, async (sink) => {
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        await sink.tryOut(insertOf('a'), never)
      })
      assert.deepEqual((await tablesBeside(table)).toSorted(), [
        `${table.table}_penstock_0198a1b2c3d4_7_0_x_y_rows`,
        ...(hasTokens ? [] : [`${table.table}_penstock_fence`]),
      ])
    })

    it('distinguishes rejected rows from failures of the world.engine, and stores no rows that are tried out', async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        const bad = insertOf('a', { body: () => [Buffer.from('{"id":"many"}')] })
        assert.match((await sink.tryOut(bad, never)) ?? '', /Cannot parse/)
        await assert.rejects(sink.insert(bad, never), (error) => {
          assert.ok(error instanceof EngineError && error.kind === 'data')
          assert.doesNotMatch(error.message, /Cannot parse/)
          return true
        })
        assert.equal(await sink.tryOut(insertOf('a'), never), undefined)
        world.engine.failNext({ matching: /^INSERT/, code: 241 })
        await assert.rejects(sink.tryOut(insertOf('a'), never), isPassing)
        await world.engine.run(`ALTER TABLE ${table.table} ADD COLUMN more UInt8`)
        const more = { fields: [{ name: 'more', type: 'UInt8' }], columns: [{ column: 'more', field: 'more' }] }
        const insert = insertOf('a', { ...more, body: () => [Buffer.from('{"more":1}')] })
        assert.equal(await sink.tryOut(insert, never), undefined)
      })
      assert.deepEqual(await ids(table), [])
      assert.deepEqual(
        (await tablesBeside(table)).filter((name) => name.includes('check')),
        [],
      )
    })

    it('fills columns from other fields, and by position where there are no names', async () => {
      const table = await newTable()
      const fields = [
        { name: 'c', type: 'String' },
        { name: 'b', type: 'Date' },
        { name: 'a', type: 'UInt64' },
      ]
      const [id, day, note] = ['a', 'b', 'c'].map((field, index) => ({ column: columns[index]!.name, field }))
      await withSink(table, async (sink) => {
        const csv = { format: 'CSV' as const, delimiter: ';', fields, columns: [id!, day!, note!] }
        await sink.insert(insertOf('a', { ...csv, body: () => [Buffer.from('x;2026-01-01;7\n')] }), never)
        const twice = { fields, columns: [id!, day!, { column: 'note', field: 'b' }] }
        await sink.insert(insertOf('b', { ...twice, body: () => [Buffer.from('{"a":8,"b":"2026-01-02"}')] }), never)
      })
      const stored = (await world.engine.rows(table.table)).map(({ id, note }) => ({ id, note }))
      assert.deepEqual(stored, [
        { id: 7, note: 'x' },
        { id: 8, note: '2026-01-02' },
      ])
    })

    it('says so when the engine does not read a format', { skip: hasTokens }, async () => {
      await withSink(await newTable(), async (sink) => {
        const insert = insertOf('a', { format: 'Avro' })
        const expected = { kind: 'user', message: new RegExp(`127.0.0.1:${world.engine.port} does not read Avro`) }
        await assert.rejects(sink.insert(insert, never), expected)
        await assert.rejects(sink.tryOut(insert, never), expected)
      })
    })

    it('sends the settings of the pipe that the engine knows, and none that it does not', async () => {
      const table = await newTable()
      const from = world.engine.queries.length
      await withSink(table, async (sink) => {
        const own = { ...settings, engine_max_threads: 3, engine_min_insert_block_size_bytes: 5 }
        await sink.insert(insertOf('a', { settings: own }), never)
      })
      const sent = world.engine.queries.slice(from).find(({ query }) => /^INSERT.*FORMAT/.test(query))!.settings
      assert.equal(sent.max_threads, '3')
      assert.equal(sent.min_insert_block_size_bytes, '5')
      assert.equal(sent.parallel_view_processing, hasTokens ? '0' : undefined)
      assert.equal(sent.insert_deduplication_token, hasTokens ? 'a' : undefined)
    })
  })
}
