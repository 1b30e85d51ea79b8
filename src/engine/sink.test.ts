import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { type PaperEngine, startPaperEngine } from '../../test/fakes/paper-engine.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import { EngineError, type EngineTable, type Insert, type Sink } from './engine.ts'
import { openSink } from './sink.ts'
import { markerOf } from './table-delivery.ts'

const pipeId = '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
const never = new AbortController().signal
const settings = {
  engine_max_threads: 0,
  engine_max_insert_threads: 1,
  engine_max_download_threads: 4,
  engine_min_insert_block_size_bytes: 1_073_741_824,
  engine_parallel_distributed_insert_select: 2,
  engine_parallel_view_processing: false,
}
const columns = [
  { name: 'id', type: 'UInt64' },
  { name: 'day', type: 'Date' },
  { name: 'note', type: 'String' },
]
const lines = [1, 1, 2, 3].map((id) => `{"id":${id},"day":"2026-0${id}-01","note":"row ${id}"}\n`)
const body = Buffer.from(lines.join(''))

function insertOf(token: string, more: Partial<Insert> = {}): Insert {
  return {
    token,
    format: 'JSONEachRow',
    fields: columns,
    columns: columns.map(({ name }) => ({ column: name, field: name })),
    body: () => [body],
    isRepeat: false,
    settings,
    ...more,
  }
}

const isPassing = (error: unknown): boolean => error instanceof EngineError && error.kind === 'passing'

/** The statements of each kind of insert. */
const statements = {
  withTokens: [/^INSERT/],
  throughView: [
    /^SELECT name, type, default_kind, .* FROM system\.columns/,
    /^CREATE TABLE .*_rows` \(/,
    /^CREATE MATERIALIZED VIEW .*_view` TO/,
    /^INSERT INTO .*_rows` \/\* batch .* FORMAT/,
    /^SELECT count\(\) AS fences/,
    /^EXISTS TABLE .*_view`/,
  ],
  staged: [
    /^CREATE TABLE .*_rows` \(/,
    /^INSERT INTO .*_rows` .* SELECT 1/,
    /^INSERT INTO .*_rows` .* FORMAT/,
    new RegExp(`^INSERT INTO .* SELECT .* '${markerOf('a')}' FROM`),
    /^SELECT count\(\) AS fences/,
    /^SELECT count\(\) AS staged/,
  ],
  /** Additional statements of a repeated insert. */
  ofRepeat: [
    /^INSERT INTO .*_fence`/,
    /^SELECT name, .* FROM system\.tables/,
    /^DROP TABLE/,
    /^SELECT .* FROM system\.processes/,
    /^CREATE TABLE .*_typed` AS/,
    /^INSERT INTO .*_typed` /,
  ],
}

const kinds = [
  { kind: 'with tokens', hasTokens: true, hasExpression: false },
  { kind: 'without tokens', hasTokens: false, hasExpression: false },
  { kind: 'without tokens, for a table that computes a column,', hasTokens: false, hasExpression: true },
]

for (const { kind, hasTokens, hasExpression } of kinds) {
  describe(`a sink on an engine ${kind}`, () => {
    let engine: TestEngine
    /** The same engine as a PaperEngine. */
    let paper: PaperEngine
    const isThroughView = !hasTokens && !hasExpression
    let tables = 0
    let epochs = 0

    before(async () => {
      if (hasTokens) engine = await openEmbeddedEngine()
      else engine = paper = await startPaperEngine()
    })
    after(() => engine.close())

    async function newTable(more: Partial<EngineTable> = {}): Promise<EngineTable> {
      tables += 1
      if (hasExpression) {
        await await engine.run(
          `CREATE TABLE events_${tables} (id UInt64, day Date, note String, odd UInt8 DEFAULT modulo(id, 2), ` +
            '_penstock_batch String) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY id',
        )
      }
      const definition = { engine: { type: 'MergeTree' as const }, partitionBy: 'toYYYYMM(day)', sortingKey: ['id'] }
      return { database: engine.database, table: `events_${tables}`, columns, definition, ...more }
    }

    function open(table: EngineTable): Promise<Sink> {
      const { protocol, host, port, username, password } = engine
      const access = { protocol, host, port, username, password: new Secret(password) }
      epochs += 1
      return openSink(egress, access, table, { pipeId, workerIndex: 0, epoch: epochs }, { signal: never })
    }

    async function withSink(table: EngineTable, use: (sink: Sink) => Promise<unknown>): Promise<void> {
      const sink = await open(table)
      try {
        await use(sink)
      } finally {
        await sink.close()
      }
    }

    const ids = async ({ table }: EngineTable) => (await engine.rows(table)).map(({ id }) => id)
    const tablesBeside = async ({ table }: EngineTable) =>
      (await engine.listTables()).filter((name) => name.startsWith(`${table}_`))

    it('keeps a batch once, with rows that are alike, and another batch of the same rows beside it', async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        assert.deepEqual(sink.delivery, { delivery: 'exactly_once' })
        const { rows, sentBytes } = await sink.insert(insertOf('a'), never)
        // The engine does not report rows that go through a view.
        assert.equal(rows, isThroughView ? undefined : 4)
        assert.ok(sentBytes > 0)
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        assert.deepEqual(await ids(table), [1, 1, 2, 3])
        await sink.insert(insertOf('b'), never)
      })
      await withSink(table, (sink) => sink.insert(insertOf('b', { isRepeat: true }), never))
      assert.deepEqual((await ids(table)).toSorted(), [1, 1, 1, 1, 2, 2, 3, 3])
    })

    const first = hasTokens ? statements.withTokens : isThroughView ? statements.throughView : statements.staged
    for (const statement of first) {
      for (const before of [true, false]) {
        it(`has a batch once when ${statement} was ${before ? 'lost' : 'done and not answered'}`, async () => {
          const table = await newTable()
          await withSink(table, async (sink) => {
            engine.cutNext({ matching: statement, before })
            await assert.rejects(sink.insert(insertOf('a'), never), isPassing)
            await sink.insert(insertOf('a', { isRepeat: true }), never)
          })
          assert.deepEqual(await ids(table), [1, 1, 2, 3])
        })
      }
    }

    for (const statement of hasTokens ? [] : [...statements.staged, ...statements.ofRepeat]) {
      for (const before of [true, false]) {
        it(`has it once when ${statement} of the repetition was ${before ? 'lost' : 'done and not answered'}`, async () => {
          const table = await newTable()
          await withSink(table, async (sink) => {
            engine.cutNext({ matching: isThroughView ? statements.throughView[3]! : statements.staged[3]! })
            // Keeps the staging tables, so that there is something to drop.
            engine.failNext({ matching: /^DROP TABLE/, code: 159, times: 2 })
            await assert.rejects(sink.insert(insertOf('a'), never), isPassing)
          })
          await withSink(table, async (sink) => {
            engine.cutNext({ matching: statement, before })
            await sink.insert(insertOf('a', { isRepeat: true }), never).catch(() => undefined)
            await sink.insert(insertOf('a', { isRepeat: true }), never)
          })
          assert.deepEqual(await ids(table), [1, 1, 2, 3])
        })
      }
    }

    it('fences off a worker that was replaced, at whatever statement it paused', async () => {
      for (const statement of first) {
        const table = await newTable()
        const replaced = await open(table)
        engine.delayNext({ matching: statement, delayMs: 300 })
        const from = engine.queries.length
        const late = replaced.insert(insertOf('a'), never).catch((error: unknown) => error)
        while (!engine.queries.slice(from).some(({ query }) => statement.test(query))) await wait(1)
        await withSink(table, (sink) => sink.insert(insertOf('a', { isRepeat: true }), never))
        await late
        await replaced.close()
        assert.deepEqual(await ids(table), [1, 1, 2, 3], String(statement))
      }
    })

    it('completes a batch of which some partitions are there', { skip: hasTokens }, async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        await sink.insert(insertOf('a'), never)
        const stored = paper.tables.get(`default.${table.table}`)!
        stored.rows = stored.rows.filter(({ id }) => id !== 2)
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        assert.deepEqual((await ids(table)).toSorted(), [1, 1, 2, 3])
      })
    })

    it('rejects when the engine has lost the staged rows', { skip: !hasExpression }, async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        for (const statement of [statements.staged[2]!, statements.staged[3]!]) {
          engine.delayNext({ matching: statement, delayMs: 1_000, after: statement === statements.staged[2] })
          const inserted = assert.rejects(sink.insert(insertOf('a'), never), isPassing)
          while (!engine.queries.at(-1)?.query.match(statement)) await new Promise(setImmediate)
          await wait(50)
          const staged = (await tablesBeside(table)).filter((name) => name.endsWith('_rows'))
          // Like after a restart.
          for (const name of staged) paper.tables.get(`default.${name}`)!.rows = []
          await inserted
          assert.deepEqual(await ids(table), [])
        }
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        assert.deepEqual(await ids(table), [1, 1, 2, 3])
      })
    })

    it('rejects when the view was dropped before the rows were sent', { skip: !isThroughView }, async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        const sent = statements.throughView[3]!
        engine.delayNext({ matching: sent, delayMs: 500 })
        const inserted = assert.rejects(sink.insert(insertOf('a'), never), isPassing)
        while (!engine.queries.at(-1)?.query.match(sent)) await new Promise(setImmediate)
        const [view, ...others] = (await tablesBeside(table)).filter((name) => name.endsWith('_view'))
        assert.deepEqual(others, [])
        await engine.run(`DROP TABLE ${view}`)
        await inserted
        assert.deepEqual(await ids(table), [])
        await sink.insert(insertOf('a', { isRepeat: true }), never)
      })
      assert.deepEqual(await ids(table), [1, 1, 2, 3])
    })

    it('retries with Nullable fields after a null, and uses them from then on', { skip: !isThroughView }, async () => {
      const table = await newTable()
      const fillings = (): number => engine.queries.filter(({ query }) => /^INSERT.*_rows`.* FORMAT/.test(query)).length
      const withNull = { body: () => [Buffer.from('{"id":4,"day":"2026-04-01","note":null}')] }
      await withSink(table, async (sink) => {
        for (const [token, times] of [
          ['a', 2],
          ['b', 1],
        ] as const) {
          const from = fillings()
          await sink.insert(insertOf(token, withNull), never)
          assert.equal(fillings() - from, times)
        }
      })
      assert.deepEqual(
        (await engine.rows(table.table)).map(({ id, note, _penstock_batch: batch }) => ({ id, note, batch })),
        [
          { id: 4, note: '', batch: markerOf('a') },
          { id: 4, note: '', batch: markerOf('b') },
        ],
      )
    })

    it('uses a staging table when the table has views or expressions, or names are ambiguous', {
      skip: !isThroughView,
    }, async () => {
      const views = (): number => engine.queries.filter(({ query }) => query.startsWith('CREATE MATERIALIZED')).length
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
      await engine.run('CREATE TABLE seen (id UInt64) ENGINE = MergeTree ORDER BY id')
      for (const [statement, more] of attempts) {
        const table = await newTable()
        await withSink(table, async (sink) => {
          await engine.run(
            statement.replaceAll('TABLE_', `${table.table}_`).replace(/TABLE$|(?<=TABLE )TABLE/, table.table),
          )
          const from = views()
          await sink.insert(insertOf('a', more), never)
          assert.equal(views() - from, 0, statement)
        })
        assert.equal((await ids(table))[0], 1)
      }
      assert.equal((await engine.rows('seen')).length, 4)
    })

    it('stays with staging tables when the engine does not create views', { skip: !isThroughView }, async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        engine.failNext({ matching: /^CREATE MATERIALIZED VIEW/, code: 291 })
        const from = engine.queries.length
        await sink.insert(insertOf('a'), never)
        await sink.insert(insertOf('b'), never)
        const asked = engine.queries.slice(from).filter(({ query }) => query.startsWith('CREATE MATERIALIZED VIEW'))
        assert.equal(asked.length, 1)
      })
      assert.equal((await ids(table)).length, 8)
    })

    it('asks again for the tables when one is being dropped', { skip: hasTokens }, async () => {
      const table = await newTable()
      engine.failNext({ matching: /^SELECT name, toUnix.* FROM system\.tables/, code: 60, status: 404, times: 3 })
      await withSink(table, async (sink) => {
        engine.failNext({
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
      const rowsSent = (): boolean => engine.queries.slice(from).some(({ query }) => /^INSERT .* FORMAT/.test(query))
      const isReady = (name: string): boolean => name.endsWith(isThroughView ? '_view' : '_rows')
      let from = 0
      await withSink(table, async (sink) => {
        const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>()
        from = engine.queries.length
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
      engine.failNext({ matching: /system\.processes/, code: 497 })
      await withSink(table, async (sink) => {
        assert.ok(sink.delivery.delivery === 'at_least_once')
        assert.match(sink.delivery.reason, /GRANT SELECT ON system\.processes TO `penstock`/)
        const from = engine.queries.length
        await sink.insert(insertOf('a'), never)
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        assert.ok(engine.queries.slice(from).every(({ query }) => !query.includes('system.processes')))
      })
      assert.deepEqual(await ids(table), [1, 1, 2, 3])
    })

    it('retries drops that failed', { skip: hasTokens }, async () => {
      const table = await newTable()
      const staged = async () => (await tablesBeside(table)).filter((name) => name.endsWith('_rows'))
      const sink = await open(table)
      engine.failNext({ matching: /^DROP TABLE/, code: 202 })
      await sink.insert(insertOf('a'), never)
      await sink.insert(insertOf('b'), never)
      for (let round = 0; round < 500 && (await staged()).length > 0; round++) await wait(10)
      assert.deepEqual(await staged(), [])
      engine.failNext({ matching: /^DROP TABLE/, code: 202 })
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
      await engine.run(`CREATE TABLE ${old}_check_x (a UInt8) ENGINE = Memory`)
      await engine.run(`CREATE TABLE ${old}_x_y_rows (a UInt8) ENGINE = Memory`)
      await engine.run(`CREATE TABLE ${table.table}_penstock_0198a1b2c3d4_7_0_x_y_rows (a UInt8) ENGINE = Memory`)
      await withSink(table, async (sink) => {
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        await sink.tryOut(insertOf('a'), never)
      })
      assert.deepEqual((await tablesBeside(table)).toSorted(), [
        `${table.table}_penstock_0198a1b2c3d4_7_0_x_y_rows`,
        ...(hasTokens ? [] : [`${table.table}_penstock_fence`]),
      ])
    })

    it('distinguishes rejected rows from failures of the engine, and stores no rows that are tried out', async () => {
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
        engine.failNext({ matching: /^INSERT/, code: 241 })
        await assert.rejects(sink.tryOut(insertOf('a'), never), isPassing)
        await engine.run(`ALTER TABLE ${table.table} ADD COLUMN more UInt8`)
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
      const stored = (await engine.rows(table.table)).map(({ id, note }) => ({ id, note }))
      assert.deepEqual(stored, [
        { id: 7, note: 'x' },
        { id: 8, note: '2026-01-02' },
      ])
    })

    it('says so when the engine does not read a format', { skip: hasTokens }, async () => {
      await withSink(await newTable(), async (sink) => {
        const insert = insertOf('a', { format: 'Avro' })
        const expected = { kind: 'user', message: new RegExp(`127.0.0.1:${engine.port} does not read Avro`) }
        await assert.rejects(sink.insert(insert, never), expected)
        await assert.rejects(sink.tryOut(insert, never), expected)
      })
    })

    it('sends the settings of the pipe that the engine knows, and none that it does not', async () => {
      const table = await newTable()
      const from = engine.queries.length
      await withSink(table, async (sink) => {
        const own = { ...settings, engine_max_threads: 3, engine_min_insert_block_size_bytes: 5 }
        await sink.insert(insertOf('a', { settings: own }), never)
      })
      const sent = engine.queries.slice(from).find(({ query }) => /^INSERT.*FORMAT/.test(query))!.settings
      assert.equal(sent.max_threads, '3')
      assert.equal(sent.min_insert_block_size_bytes, '5')
      assert.equal(sent.parallel_view_processing, hasTokens ? '0' : undefined)
      assert.equal(sent.insert_deduplication_token, hasTokens ? 'a' : undefined)
    })
  })
}
