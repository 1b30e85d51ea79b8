import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { insertOf, isPassing, kinds, never, openSinkWorld, statements } from '../../test/harness/sink-world.ts'
import { markerOf } from './table-delivery.ts'

for (const engineKind of kinds) {
  const { kind, hasTokens, hasExpression } = engineKind
  describe(`a sink on an engine ${kind}`, () => {
    const world = openSinkWorld(engineKind)
    const { newTable, open, withSink, ids, tablesBeside, isThroughView } = world

    const first = hasTokens ? statements.withTokens : isThroughView ? statements.throughView : statements.staged

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

    for (const statement of first) {
      for (const before of [true, false]) {
        it(`has a batch once when ${statement} was ${before ? 'lost' : 'done and not answered'}`, async () => {
          const table = await newTable()
          await withSink(table, async (sink) => {
            world.engine.cutNext({ matching: statement, before })
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
            world.engine.cutNext({ matching: isThroughView ? statements.throughView[3]! : statements.staged[3]! })
            // Keeps the staging tables, so that there is something to drop.
            world.engine.failNext({ matching: /^DROP TABLE/, code: 159, times: 2 })
            await assert.rejects(sink.insert(insertOf('a'), never), isPassing)
          })
          await withSink(table, async (sink) => {
            world.engine.cutNext({ matching: statement, before })
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
        world.engine.delayNext({ matching: statement, delayMs: 300 })
        const from = world.engine.queries.length
        const late = replaced.insert(insertOf('a'), never).catch((error: unknown) => error)
        while (!world.engine.queries.slice(from).some(({ query }) => statement.test(query))) await wait(1)
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
        const stored = world.paper.tables.get(`default.${table.table}`)!
        stored.rows = stored.rows.filter(({ id }) => id !== 2)
        await sink.insert(insertOf('a', { isRepeat: true }), never)
        assert.deepEqual((await ids(table)).toSorted(), [1, 1, 2, 3])
      })
    })

    it('rejects when the engine has lost the staged rows', { skip: !hasExpression }, async () => {
      const table = await newTable()
      await withSink(table, async (sink) => {
        for (const statement of [statements.staged[2]!, statements.staged[3]!]) {
          world.engine.delayNext({ matching: statement, delayMs: 1_000, after: statement === statements.staged[2] })
          const inserted = assert.rejects(sink.insert(insertOf('a'), never), isPassing)
          while (!world.engine.queries.at(-1)?.query.match(statement)) await new Promise(setImmediate)
          await wait(50)
          const staged = (await tablesBeside(table)).filter((name) => name.endsWith('_rows'))
          // Like after a restart.
          for (const name of staged) world.paper.tables.get(`default.${name}`)!.rows = []
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
        world.engine.delayNext({ matching: sent, delayMs: 500 })
        const inserted = assert.rejects(sink.insert(insertOf('a'), never), isPassing)
        while (!world.engine.queries.at(-1)?.query.match(sent)) await new Promise(setImmediate)
        const [view, ...others] = (await tablesBeside(table)).filter((name) => name.endsWith('_view'))
        assert.deepEqual(others, [])
        await world.engine.run(`DROP TABLE ${view}`)
        await inserted
        assert.deepEqual(await ids(table), [])
        await sink.insert(insertOf('a', { isRepeat: true }), never)
      })
      assert.deepEqual(await ids(table), [1, 1, 2, 3])
    })

    it('retries with Nullable fields after a null, and uses them from then on', { skip: !isThroughView }, async () => {
      const table = await newTable()
      const fillings = (): number =>
        world.engine.queries.filter(({ query }) => /^INSERT.*_rows`.* FORMAT/.test(query)).length
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
        (await world.engine.rows(table.table)).map(({ id, note, _penstock_batch: batch }) => ({ id, note, batch })),
        [
          { id: 4, note: '', batch: markerOf('a') },
          { id: 4, note: '', batch: markerOf('b') },
        ],
      )
    })
  })
}
