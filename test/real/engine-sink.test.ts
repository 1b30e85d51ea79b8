// Batches into real engines (ClickHouse 18.16 and current): each is stored once, whatever fails on the way.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { EngineTable, Sink } from '../../src/engine/engine.ts'
import { EngineError } from '../../src/engine/engine.ts'
import { describeOnEngines, insertOf, linesOf, never } from './sink-world.ts'

describeOnEngines('the sink', (world) => {
  it('is exactly once on a table that Penstock manages', async () => {
    await world.withSink(world.newTable(), async (sink) =>
      assert.deepEqual(sink.delivery, { delivery: 'exactly_once' }),
    )
  })

  it('stores a repeated batch once, and identical rows as often as they occur', async () => {
    const table = world.newTable()
    await world.withSink(table, async (sink) => {
      const body = linesOf(1000)
      const { rows, sentBytes } = await sink.insert(insertOf('a', body), never)
      // The engine does not report the rows of an insert through a view.
      assert.equal(rows, world.isOld ? undefined : 1000)
      assert.ok(sentBytes > 0)
      for (let times = 0; times < 3; times++) await sink.insert(insertOf('a', body, { isRepeat: true }), never)
      assert.equal(await world.count(table), 1000)
      await sink.insert(insertOf('b', body), never)
      assert.equal(await world.count(table), 2000)
      await sink.insert(insertOf('b', body, { isRepeat: true }), never)
    })
    await world.withSink(table, (sink) =>
      sink.insert(insertOf('b', linesOf(1000), { isRepeat: true }), never).then(() => undefined),
    )
    assert.equal(await world.count(table), 2000)
    assert.equal(
      await world.engine.query(
        `SELECT countIf(c != 4) FROM (SELECT id, count() AS c FROM pipes.${table.table} GROUP BY id)`,
      ),
      '0\n',
    )
  })

  for (const [partitions, some] of [
    ['PARTITION BY toYYYYMM(day)', '202602'],
    ['PARTITION BY (odd, toYYYYMM(day))', '(1, 202602)'],
    ['PARTITION BY note', "'row 1'"],
  ] as const) {
    it(`completes a batch of which some partitions are stored, ${partitions}`, async () => {
      const table = await world.newMarkedTable(`${partitions} ORDER BY id`)
      const body = linesOf(60)
      await world.withSink(table, async (sink) => {
        assert.deepEqual(sink.delivery, { delivery: 'exactly_once' })
        await sink.insert(insertOf('a', body), never)
        await world.engine.query(`ALTER TABLE pipes.${table.table} DROP PARTITION ${some}`)
        assert.ok((await world.count(table)) < 60)
        await sink.insert(insertOf('a', body, { isRepeat: true }), never)
        assert.equal(await world.count(table), 60)
      })
    })
  }

  it('repeats a batch without an answer, and it is stored once', async () => {
    const marked = await world.newMarkedTable('ORDER BY id')
    const attempts: [EngineTable, string][] = [
      [world.newTable(), 'FORMAT JSONEachRow'],
      [marked, 'FORMAT JSONEachRow'],
      [marked, 'SELECT'],
    ]
    for (const [table, statement] of attempts) {
      const there = await world.count(table).catch(() => 0)
      const use = async (sink: Sink): Promise<void> => {
        world.proxy.loseAnswer(statement)
        const failed = sink.insert(insertOf(statement, linesOf(500)), never)
        await assert.rejects(failed, (error) => error instanceof EngineError && error.kind === 'passing')
        await sink.insert(insertOf(statement, linesOf(500), { isRepeat: true }), never)
      }
      await world.withSink(table, use, world.proxy.port)
      assert.equal(await world.count(table), there + 500)
    }
  })

  it('stores nothing of an interrupted or aborted body', async () => {
    const table = world.newTable()
    await world.withSink(
      table,
      async (sink) => {
        const body = linesOf(200_000)
        for (const cutAfter of [2_000, 50_000, 300_000]) {
          world.proxy.cutAfter(cutAfter)
          await assert.rejects(sink.insert(insertOf('cut', body), never), EngineError)
        }
        const abort = new AbortController()
        const slow = async function* () {
          yield body
          abort.abort()
          await once(abort.signal, 'abort').catch(() => undefined)
          await wait(20)
          yield body
        }
        const given = insertOf('given up', body, { body: () => Readable.from(slow(), { objectMode: false }) })
        abort.signal.addEventListener('abort', () => undefined)
        await assert.rejects(sink.insert(given, abort.signal))
        assert.equal(await world.count(table), 0)
        await sink.insert(insertOf('cut', body, { isRepeat: true }), never)
      },
      world.proxy.port,
    )
    assert.equal(await world.count(table), 200_000)
  })

  it('stores a batch once after the engine was killed in the middle of it', { timeout: 600_000 }, async () => {
    const table = world.newTable()
    const body = linesOf(400_000)
    for (const [index, delayMs] of [30, 120, 300, 600, 1000].entries()) {
      const token = `killed ${index}`
      await world.withSink(table, async (sink) => {
        const inserted = sink.insert(insertOf(token, body), never).catch(() => undefined)
        await wait(delayMs)
        await world.engine.kill()
        await inserted
      })
      await world.engine.restart()
      await world.withSink(table, async (sink) => {
        await sink.insert(insertOf(token, body, { isRepeat: true }), never)
      })
      assert.equal(await world.count(table), 400_000 * (index + 1), `after ${delayMs} ms`)
    }
  })

  it('fences a worker that lost its lease, wherever it was paused', async () => {
    const attempts: [EngineTable, string][] = [
      [world.newTable(), 'FORMAT JSONEachRow'],
      [await world.newMarkedTable('ORDER BY id'), 'POST /'],
      [await world.newMarkedTable('ORDER BY id'), 'FORMAT JSONEachRow'],
      [await world.newMarkedTable('PARTITION BY day ORDER BY id'), '_penstock_batch'],
    ]
    for (const [table, point] of attempts) {
      const zombie = await world.open(table, world.proxy.port)
      const { held, release } = world.proxy.hold(point)
      const late = zombie.insert(insertOf('a', linesOf(300)), never).catch((error) => error)
      await held
      await world.withSink(table, async (sink) => {
        await sink.insert(insertOf('a', linesOf(300), { isRepeat: true }), never)
        assert.equal(await world.count(table), 300, point)
        release()
        const outcome = await late
        if (!table.definition) assert.ok(outcome instanceof EngineError, point)
        assert.equal(await world.count(table), 300, point)
      })
      await zombie.close()
    }
  })

  it('waits for a running insert of its predecessor', async () => {
    const table = await world.newMarkedTable('ORDER BY note')
    const body = linesOf(1_000_000)
    const zombie = await world.open(table, world.proxy.port)
    const { held, release } = world.proxy.hold('_penstock_batch')
    const late = zombie.insert(insertOf('a', body), never).catch(() => undefined)
    await held
    release()
    await wait(30)
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', body, { isRepeat: true }), never)
    })
    await late
    await zombie.close()
    assert.equal(await world.count(table), 1_000_000)
  })

  it('waits for an aborted insert that is still being written', async () => {
    const definition =
      '(id UInt64, day Date, note String, slow UInt8 DEFAULT sleepEachRow(0.6), _penstock_batch String)'
    const body = Buffer.from([1, 2, 3, 4].map((id) => `{"id":${id},"day":"2026-01-01","note":"x"}\n`).join(''))
    /** Undefined when the insert ended before it was seen, which can happen on a busy machine. */
    const giveUpOne = async (): Promise<{ table: EngineTable; sink: Sink } | undefined> => {
      const { definition: _definition, ...table } = world.newTable()
      await world.engine.query(`CREATE TABLE pipes.${table.table} ${definition} ENGINE = MergeTree ORDER BY id`)
      const sink = await world.open(table)
      const giveUp = new AbortController()
      let outcome: unknown
      const given = sink.insert(insertOf('a', body), giveUp.signal).then(
        () => {
          outcome = 'inserted'
        },
        (error: unknown) => {
          outcome = error
        },
      )
      const running = `SELECT count() FROM system.processes WHERE query LIKE '%pipes_._${table.table}_ %SELECT%'`
      const isRunning = async (): Promise<boolean> =>
        (await world.engine.query(`${running} AND query NOT LIKE 'SELECT%'`)) !== '0\n'
      while (outcome === undefined && !(await isRunning())) await wait(10)
      giveUp.abort()
      await given
      if (outcome !== 'inserted') {
        assert.ok(outcome instanceof EngineError, String(outcome))
        return { table, sink }
      }
      await sink.close()
      return undefined
    }
    for (const isTakenOver of [false, true]) {
      let one: Awaited<ReturnType<typeof giveUpOne>>
      for (let tries = 0; !one && tries < 5; tries++) one = await giveUpOne()
      assert.ok(one, 'the insert ended each time before it was given up')
      const { table, sink } = one
      // The engine has removed the staging table from its list, or is about to.
      await wait(200)
      const repeat = insertOf('a', body, { isRepeat: true })
      if (isTakenOver) await world.withSink(table, (other) => other.insert(repeat, never))
      else await sink.insert(repeat, never)
      await sink.close()
      await wait(3_000)
      assert.equal(await world.count(table), 4)
    }
  })

  it('does not treat a batch as stored that the engine has lost', async () => {
    const table = await world.newMarkedTable('PARTITION BY day ORDER BY id')
    await world.withSink(
      table,
      async (sink) => {
        const { held, release } = world.proxy.hold('_penstock_batch')
        const inserted = assert.rejects(sink.insert(insertOf('a', linesOf(60)), never), EngineError)
        await held
        const [staged, ...others] = await world.listTables(`${table.table}%_rows`)
        assert.deepEqual(others, [])
        // As after a restart.
        await world.engine.query(`TRUNCATE TABLE pipes.${staged}`)
        release()
        await inserted
        assert.equal(await world.count(table), 0)
        const outcome = await sink.insert(insertOf('a', linesOf(60), { isRepeat: true }), never)
        assert.equal(outcome.rows, 60)
        assert.equal(await world.count(table), 60)
      },
      world.proxy.port,
    )
  })

  it('leaves no table behind, and removes leftovers of others', async () => {
    const table = world.newTable()
    await world.engine.query(
      `CREATE TABLE pipes.${table.table}_penstock_0198a1b2c3d4_0_0_check (a UInt8) ENGINE = Memory`,
    )
    await world.engine.query(
      `CREATE TABLE pipes.${table.table}_penstock_0198a1b2c3d4_0_0_x_y_rows (a UInt8) ENGINE = Memory`,
    )
    await world.engine.query(
      `CREATE TABLE pipes.${table.table}_penstock_0198a1b2c3d4_3_0_x_y_rows (a UInt8) ENGINE = Memory`,
    )
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', linesOf(10)), never)
      await sink.insert(insertOf('a', linesOf(10), { isRepeat: true }), never)
      assert.equal(await sink.tryOut(insertOf('b', linesOf(10)), never), undefined)
    })
    const fence = world.isOld ? [`${table.table}_penstock_fence`] : []
    // Tables of another pipe or worker are kept.
    const other = `${table.table}_penstock_0198a1b2c3d4_3_0_x_y_rows`
    assert.deepEqual(await world.listTables(`${table.table}%`), [table.table, other, ...fence].toSorted())
  })

  it('reports whether the engine accepts rows, and stores none', async () => {
    const table = world.newTable()
    await world.withSink(table, async (sink) => {
      assert.equal(await sink.tryOut(insertOf('a', linesOf(10)), never), undefined)
      const bad = Buffer.from('{"id":"many"}\n')
      assert.match((await sink.tryOut(insertOf('a', bad), never)) ?? '', /Cannot parse/)
      await assert.rejects(
        sink.insert(insertOf('a', bad), never),
        (error) => error instanceof EngineError && error.kind === 'data' && !error.message.includes('Cannot parse'),
      )
      await world.engine.query(`ALTER TABLE pipes.${table.table} ADD COLUMN more UInt8`)
      const more = {
        fields: [{ name: 'more', type: 'UInt8' }],
        columns: [{ column: 'more', field: 'more' }],
      }
      assert.equal(await sink.tryOut(insertOf('a', Buffer.from('{"more":1}'), more), never), undefined)
      assert.match((await sink.tryOut(insertOf('a', Buffer.from('{"more":"x"}'), more), never)) ?? '', /Cannot parse/)
    })
    assert.equal(await world.count(table), 0)
    assert.deepEqual(await world.listTables(`${table.table}%check`), [])
  })
})
