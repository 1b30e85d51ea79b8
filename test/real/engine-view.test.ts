// Batches through a view into ClickHouse of Debian: each is stored once, in one block, with the same values as without a view,
// and none counts as inserted while the view is missing.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EngineError, type EngineTable, type Insert, type Sink } from '../../src/engine/engine.ts'
import { markerOf } from '../../src/engine/table-delivery.ts'
import { insertOf, linesOf, never, SinkWorld } from './sink-world.ts'

const isPassing = (error: unknown): boolean => error instanceof EngineError && error.kind === 'passing'

describe('a batch through a view', () => {
  const world = new SinkWorld(true)
  before(() => world.start())
  after(() => world.stop())

  const query = (text: string): Promise<string> => world.engine.query(text)

  /** Holds the statement with the rows at the proxy while `duringHold` runs. */
  async function whileHeld(
    table: EngineTable,
    duringHold: (held: { sink: Sink; inserted: Promise<unknown>; release(): void }) => Promise<void>,
    signal = never,
  ): Promise<void> {
    const sink = await world.open(table, world.proxy.port)
    const { held, release } = world.proxy.hold('/* batch')
    const inserted = sink.insert(insertOf('a', linesOf(300)), signal).then(
      () => 'inserted',
      (error: unknown) => error,
    )
    await held
    await duringHold({ sink, inserted, release })
    release()
    await inserted
    await sink.close()
  }

  async function sentInto(table: EngineTable, what: 'rows' | 'view'): Promise<string> {
    const [found, ...others] = await world.listTables(`${table.table}%_${what}`)
    assert.ok(found !== undefined && others.length === 0)
    return `pipes.${found}`
  }

  it('is one part per partition with its token as marker, and leaves no other table', async () => {
    const table = world.newTable()
    await world.withSink(table, async (sink) => {
      const { rows, sentBytes } = await sink.insert(insertOf('a', linesOf(300_000)), never)
      assert.equal(rows, undefined)
      assert.ok(sentBytes > 0)
      assert.equal(await world.countParts(table), 3)
    })
    assert.equal(
      await query(`SELECT count(), uniqExact(id), uniqExact(_penstock_batch) FROM pipes.${table.table}`),
      '300000\t150000\t1\n',
    )
    assert.deepEqual(await world.listTables(`${table.table}_%`), [`${table.table}_penstock_fence`])
    const staged = await world.engine.listQueries(`${table.table}_penstock`)
    assert.ok(staged.some(({ query: text }) => text.startsWith('CREATE MATERIALIZED VIEW')))
    assert.ok(staged.every(({ query: text }) => !text.includes('ENGINE = Memory')))
  })

  it('is fenced by an entry written after its view was created', async () => {
    const table = world.newTable()
    await whileHeld(table, async ({ inserted, release }) => {
      await query(`INSERT INTO pipes.${table.table}_penstock_fence (token, epoch, at) SELECT 'a', 1000000, now()`)
      release()
      assert.match(String(await inserted), /another worker has taken over/)
    })
    assert.equal(await world.count(table), 0)
  })

  it('does not count as inserted when its view was removed', async () => {
    const table = world.newTable()
    await whileHeld(table, async ({ sink, inserted, release }) => {
      await query(`DROP TABLE ${await sentInto(table, 'view')}`)
      release()
      assert.ok(isPassing(await inserted))
      assert.equal(await world.count(table), 0)
      await sink.insert(insertOf('a', linesOf(300), { isRepeat: true }), never)
    })
    assert.equal(await world.count(table), 300)
  })

  it('uses its view after a restart of the engine, and is recognized', async () => {
    const table = world.newTable()
    await whileHeld(table, async ({ sink }) => {
      await world.engine.restart()
      await world.engine.query(
        `INSERT INTO ${await sentInto(table, 'rows')} FORMAT JSONEachRow`,
        linesOf(300) as Buffer<ArrayBuffer>,
      )
      assert.equal(await world.count(table), 300)
      await sink.insert(insertOf('a', linesOf(300), { isRepeat: true }), never)
    })
    assert.equal(await world.count(table), 300)
  })

  it('does not arrive late after it was aborted and repeated', async () => {
    const table = world.newTable()
    const giveUp = new AbortController()
    await whileHeld(
      table,
      async ({ sink, inserted }) => {
        giveUp.abort()
        assert.ok(isPassing(await inserted))
        await sink.insert(insertOf('a', linesOf(300), { isRepeat: true }), never)
        assert.equal(await world.count(table), 300)
      },
      giveUp.signal,
    )
    assert.equal(await world.count(table), 300)
  })

  it('fails when a successor has cleaned up, and is not lost', async () => {
    const table = world.newTable()
    await whileHeld(table, async ({ inserted, release }) => {
      await world.withSink(table, async (sink) => {
        assert.deepEqual(await world.listTables(`${table.table}%_rows`), [])
        assert.deepEqual(await world.listTables(`${table.table}%_view`), [])
        release()
        assert.ok(isPassing(await inserted))
        assert.equal(await world.count(table), 0)
        await sink.insert(insertOf('a', linesOf(300), { isRepeat: true }), never)
      })
    })
    assert.equal(await world.count(table), 300)
  })

  it('is stored once, wherever its worker was paused when it lost its lease', async () => {
    const points = ['FROM system.columns', '_rows` (', 'MATERIALIZED VIEW', '/* batch', 'AS fences', 'EXISTS TABLE']
    for (const point of points) {
      const table = world.newTable()
      const zombie = await world.open(table, world.proxy.port)
      const { held, release } = world.proxy.hold(point)
      const late = zombie.insert(insertOf('a', linesOf(300)), never).catch((error: unknown) => error)
      await held
      await world.withSink(table, async (sink) => {
        await sink.insert(insertOf('a', linesOf(300), { isRepeat: true }), never)
        assert.equal(await world.count(table), 300, point)
        release()
        assert.ok(isPassing(await late), point)
        assert.equal(await world.count(table), 300, point)
      })
      await zombie.close()
    }
  })

  it('is waited for by a repeated insert', async () => {
    const body = linesOf(1_000_000)
    /** Whether the insert was running when it was repeated: on a busy machine it may have ended before it was seen. */
    const repeatOne = async (): Promise<boolean> => {
      const { definition, ...rest } = world.newTable()
      const table: EngineTable = { ...rest, definition: { ...definition!, sortingKey: ['note'] } }
      const zombie = await world.open(table)
      let hasEnded = false
      const late = zombie
        .insert(insertOf('a', body), never)
        .catch((error: unknown) => error)
        .finally(() => {
          hasEnded = true
        })
      const running = "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO%/* batch%'"
      while (!hasEnded && (await query(running)) === '0\n');
      const wasUnderWay = !hasEnded
      await world.withSink(table, (sink) => sink.insert(insertOf('a', body, { isRepeat: true }), never))
      await late
      await zombie.close()
      assert.equal(await world.count(table), 1_000_000)
      return wasUnderWay
    }
    let wasUnderWay = false
    for (let tries = 0; !wasUnderWay && tries < 5; tries++) wasUnderWay = await repeatOne()
    assert.ok(wasUnderWay, 'it ended each time before it was repeated')
  })

  const kinds = [
    ['u8', 'UInt8', 7],
    ['i64', 'Int64', -7],
    ['f32', 'Float32', 1.5],
    ['f64', 'Float64', 2.5],
    ['d', 'Decimal(9, 2)', 1.25],
    ['s', 'String', 'text'],
    ['fs', 'FixedString(3)', 'abc'],
    ['day', 'Date', '2026-01-02'],
    ['at', 'DateTime', '2026-01-02T03:04:05Z'],
    ['zoned', "DateTime('Europe/Berlin')", '2026-01-02 03:04:05'],
    ['u', 'UUID', '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'],
    ['e', "Enum8('a' = 1, 'b' = 2)", 'b'],
    ['n', 'Nullable(UInt8)', 3],
    ['ns', 'Nullable(String)', 'x'],
    ['l', 'Array(String)', ['x', 'y']],
  ] as const

  it('has the same values as without a view, with and without nulls', async () => {
    const columns = [{ name: 'id', type: 'UInt64' }, ...kinds.map(([name, type]) => ({ name, type }))]
    const definition = { engine: { type: 'MergeTree' as const }, sortingKey: ['id'] }
    const whole = Object.fromEntries(kinds.map(([name, , value]) => [name, value]))
    const bodies = [
      [{ id: 1, ...whole }, { id: 2 }],
      ...kinds.map(([name]) => [
        { id: 1, ...whole },
        { id: 2, ...whole, [name]: null },
      ]),
    ]
    const shape = { fields: columns, columns: columns.map(({ name }) => ({ column: name, field: name })) }
    for (const [index, rows] of bodies.entries()) {
      const body = Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'))
      const found: string[] = []
      for (const isRepeat of [false, true]) {
        const table = world.newTable({ columns, definition })
        let verdict: string | undefined
        await world.withSink(table, async (sink) => {
          verdict = await sink.tryOut(insertOf('t', body, shape), never)
          const inserted = sink.insert(insertOf('a', body, { ...shape, isRepeat }), never)
          if (verdict === undefined) await inserted
          else await assert.rejects(inserted, (error) => error instanceof EngineError && error.kind === 'data')
        })
        found.push(await query(`SELECT * FROM pipes.${table.table} ORDER BY id`))
        assert.equal(found.at(-1) === '', verdict !== undefined, `body ${index}`)
      }
      assert.equal(found[0], found[1], `body ${index}`)
    }
  })

  it('is sent once without nulls, and with nulls in the same columns as before', async () => {
    const sent = async (table: EngineTable): Promise<number> =>
      (await world.engine.listQueries(`${table.table}_penstock`)).filter(({ query: text }) =>
        /^INSERT .* FORMAT JSONEachRow/.test(text),
      ).length
    const table = world.newTable()
    const withNull = Buffer.from('{"id":1,"day":"2026-01-01","note":null}')
    const nullNumber = Buffer.from('{"id":null,"day":"2026-01-01","note":"x"}')
    const batches: [string, Buffer, number][] = [
      ['a', linesOf(10), 1],
      ['b', nullNumber, 2],
      ['c', withNull, 4],
      ['d', withNull, 5],
    ]
    await world.withSink(table, async (sink) => {
      for (const [token, body, total] of batches) {
        await sink.insert(insertOf(token, body), never)
        assert.equal(await sent(table), total, token)
      }
      await assert.rejects(
        sink.insert(insertOf('e', Buffer.from('{"id":1,"day":"2026-01-01"}\n{"id":"many"}')), never),
        (error) => error instanceof EngineError && error.kind === 'data',
      )
    })
    assert.equal(
      await query(`SELECT id, note FROM pipes.${table.table} WHERE note NOT LIKE 'row%' ORDER BY id, note`),
      '0\tx\n1\t\n1\t\n',
    )
    assert.equal(await world.count(table), 13)
  })

  it('supports delimited formats, and maps columns by name, type and default', async () => {
    const { definition: _definition, ...table } = world.newTable()
    await query(
      `CREATE TABLE pipes.${table.table} (id UInt32, day Nullable(Date), note String, more Array(UInt8), ` +
        '_penstock_batch String) ENGINE = MergeTree ORDER BY id',
    )
    const csv: Partial<Insert> = {
      format: 'CSV',
      fields: ['c', 'b', 'a'].map((name, index) => ({ name, type: ['UInt16', 'Date', 'String'][index]! })),
      columns: [
        { column: 'note', field: 'c' },
        { column: 'day', field: 'b' },
        { column: 'id', field: 'a' },
      ],
    }
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', Buffer.from('7,2026-01-01,1\n8,,2\n'), csv), never)
      await sink.insert(insertOf('b', Buffer.from('{"id":3,"note":"x"}')), never)
    })
    const [a, b] = [markerOf('a'), markerOf('b')]
    assert.equal(
      await query(`SELECT * FROM pipes.${table.table} ORDER BY id`),
      `1\t2026-01-01\t7\t[]\t${a}\n2\t\\N\t8\t[]\t${a}\n3\t\\N\tx\t[]\t${b}\n`,
    )
    const made = (await world.engine.listQueries(`${table.table}_penstock`)).filter(({ query: text }) =>
      text.startsWith('CREATE MATERIALIZED VIEW'),
    )
    assert.equal(made.length, 2)
  })

  it('reaches the views of the table, and fills computed columns, also newer ones', async () => {
    const table = world.newTable()
    const seen = `pipes.${table.table}_seen`
    await query(`CREATE TABLE ${seen} (id UInt64) ENGINE = MergeTree ORDER BY id`)
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', linesOf(10)), never)
      await query(`ALTER TABLE pipes.${table.table} ADD COLUMN plain UInt8`)
      await sink.insert(insertOf('b', linesOf(10)), never)
      await query(`ALTER TABLE pipes.${table.table} ADD COLUMN next UInt64 DEFAULT id + 1`)
      await sink.insert(insertOf('c', linesOf(10)), never)
      await query(`CREATE MATERIALIZED VIEW ${seen}_view TO ${seen} AS SELECT id FROM pipes.${table.table}`)
      await sink.insert(insertOf('d', linesOf(10)), never)
    })
    assert.equal(await query(`SELECT count() FROM ${seen}`), '10\n')
    assert.equal(await query(`SELECT count(), countIf(next = id + 1) FROM pipes.${table.table}`), '40\t40\n')
  })
})
