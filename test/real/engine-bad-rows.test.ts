// Rows rejected by real engines (ClickHouse 18.16 and current): stored, listed, replayed and expired.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openBadRows } from '../../src/engine/bad-rows.ts'
import { badRow, describeOnEngines, egress, never, pipeId } from './sink-world.ts'

describeOnEngines('bad rows', (world) => {
  it('stores bad rows once, byte for byte, and lists, replays and deletes them', async () => {
    const table = world.newTable()
    const target = { database: 'pipes', table: table.table }
    const badRows = await openBadRows(egress, world.accessBy(world.engine.port), target)
    assert.deepEqual(await badRows.list(pipeId, { limit: 10 }), [])
    assert.deepEqual(await badRows.load(pipeId, { limit: 10 }), [])
    assert.equal(await badRows.count(pipeId), 0)
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    const large = Buffer.alloc(5_000_000, 'ä\t\\N\n\0')
    const rows = [badRow('1', bytes, 1), badRow('2', large, 2), badRow('3', '', 3), badRow("4'\\", '{"a":"ü"}', 3)]
    await world.withSink(table, async (sink) => {
      await sink.keepBadRows(rows, never)
      await sink.keepBadRows(rows, never)
      await sink.keepBadRows(
        Array.from({ length: 60 }, (_, index) => badRow(`many ${100 + index}`, 'x', 100 + index)),
        never,
      )
    })
    assert.equal(await badRows.count(pipeId), 64)
    const listed = await badRows.list(pipeId, { limit: 100 })
    assert.deepEqual(
      listed.slice(-4).map(({ id }) => id),
      ["4'\\", '3', '2', '1'],
    )
    assert.equal(listed[0]!.id, 'many 159')
    assert.equal(listed.length, 64)
    const { raw: shownRaw, isCut, ...shown } = listed[62]!
    assert.equal([...shownRaw].length, 10_000)
    assert.ok(isCut && shownRaw.startsWith('ä\t\\N\n\0ä'))
    const { raw: _raw, meta: _meta, ...kept } = rows[1]!
    assert.deepEqual(shown, kept)
    assert.deepEqual(listed.at(-4)!.raw, '{"a":"ü"}')
    const loaded = await badRows.load(pipeId, { limit: 4 })
    assert.deepEqual(
      loaded.map((row) => ({ ...row, raw: Buffer.from(row.raw) })),
      rows,
    )
    await badRows.markReplayed(pipeId, ['1', "4'\\", 'nobody'])
    await badRows.markReplayed(pipeId, ['1'])
    await world.withSink(table, (sink) => sink.keepBadRows(rows.slice(0, 1), never))
    assert.equal(await badRows.count(pipeId), 62)
    assert.deepEqual(
      (await badRows.load(pipeId, { limit: 2 })).map(({ id }) => id),
      ['2', '3'],
    )
    assert.equal(await badRows.count('another'), 0)
    await badRows.close()
  })

  it('replays large bad rows in portions', async () => {
    const table = world.newTable()
    const badRows = await openBadRows(egress, world.accessBy(world.engine.port), {
      database: 'pipes',
      table: table.table,
    })
    const rows = [1, 2, 3].map((number) => badRow(`${number}`, Buffer.alloc(15_000_000, `${number}\n`), number))
    await world.withSink(table, (sink) => sink.keepBadRows(rows, never))
    const loaded = await badRows.load(pipeId, { limit: 10 })
    assert.deepEqual(
      loaded.map(({ id, raw }) => [id, rows[Number(id) - 1]!.raw.toString() === raw.toString()]),
      [
        ['1', true],
        ['2', true],
      ],
    )
    const [last] = await badRows.load(pipeId, { limit: 10, after: loaded[1]! })
    assert.equal(last?.id, '3')
    await badRows.close()
  })

  it('deletes bad rows after a week', { skip: !world.isOld }, async () => {
    const table = world.newTable()
    await world.withSink(table, async (sink) => {
      await sink.keepBadRows([badRow('old', 'x', -9 * 86_400_000), badRow('new', 'x')], never)
    })
    assert.equal(await world.engine.query(`SELECT id FROM pipes.${table.table}_penstock_errors`), 'new\n')
  })
})
