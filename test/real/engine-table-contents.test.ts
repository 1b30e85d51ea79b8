// Sizes and newest rows of tables, read from real engines.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openEngineClient } from '../../src/engine/client.ts'
import { listTableSizes, type NewestRows, readNewestRows } from '../../src/engine/table-contents.ts'
import { describeOnEngines, egress, never } from './sink-world.ts'

describeOnEngines('table contents', (world) => {
  async function newest(table: string, limit = 100): Promise<NewestRows | undefined> {
    const client = openEngineClient(egress, world.accessBy(world.engine.port))
    try {
      return await readNewestRows(client, { database: 'pipes', table }, { limit, timeoutMs: 5_000 }, never)
    } finally {
      client.close()
    }
  }
  async function create(table: string, columns: string, engine: string): Promise<void> {
    await world.engine.query(`CREATE TABLE pipes.${table} (${columns}) ENGINE = ${engine}`)
  }

  it('returns the rows that were written last, in every type as text', async () => {
    await create(
      'typed',
      "id UInt64, note Nullable(String), amount Decimal(38, 10), at DateTime('UTC'), tags Array(String), state AggregateFunction(sum, UInt64)",
      'MergeTree PARTITION BY id % 2 ORDER BY id',
    )
    for (const id of [1, 2, 3]) {
      await world.engine.query(
        `INSERT INTO pipes.typed (id, note, amount, at, tags) SELECT toUInt64(18446744073709551600 + ${id}), ` +
          `${id === 2 ? 'NULL' : "'a\\tb'"}, CAST('1234567890123456789.0123456789' AS Decimal(38, 10)), ` +
          "toDateTime(86400, 'UTC'), ['x', 'it\\'s']",
      )
    }
    const read = await newest('typed', 2)
    assert.deepEqual(
      read?.columns.map(({ name }) => name),
      ['id', 'note', 'amount', 'at', 'tags'],
    )
    const rest = ['1234567890123456789.0123456789', '1970-01-02 00:00:00', "['x','it\\'s']"]
    assert.deepEqual(read.rows, [
      ['18446744073709551603', 'a\tb', ...rest],
      ['18446744073709551602', null, ...rest],
    ])
    assert.equal(read.isCut, false)
  })

  it('returns the highest versions of a ReplacingMergeTree first', async () => {
    await create('versions', 'id UInt64, `my version` UInt64', 'ReplacingMergeTree(`my version`) ORDER BY id')
    await world.engine.query('INSERT INTO pipes.versions SELECT number, 1000 - number FROM system.numbers LIMIT 1000')
    assert.deepEqual((await newest('versions', 2))?.rows, [
      ['0', '1000'],
      ['1', '999'],
    ])
  })

  it('returns the newest versions of the rows of a copy, without deleted ones', async () => {
    const columns = 'a UInt64, `my key` String, _penstock_version UInt64, _penstock_deleted UInt8'
    await create('copied', columns, 'ReplacingMergeTree(_penstock_version) ORDER BY (a, `my key`)')
    for (const rows of ["(1, 'x', 5, 0), (2, 'x', 5, 0)", "(1, 'x', 6, 1), (2, 'x', 7, 0), (1, 'y', 8, 0)"])
      await world.engine.query(`INSERT INTO pipes.copied VALUES ${rows}`)
    assert.deepEqual((await newest('copied'))?.rows, [
      ['1', 'y', '8', '0'],
      ['2', 'x', '7', '0'],
    ])
  })

  it('shortens long values, and keeps an answer below its limit', async () => {
    await create('long', 'id UInt64, text String', 'MergeTree ORDER BY tuple()')
    await world.engine.query(
      "INSERT INTO pipes.long SELECT number, toString(arrayStringConcat(arrayMap(x -> 'ü', range(100000)))) FROM system.numbers LIMIT 20",
    )
    const read = await newest('long')
    assert.deepEqual([read?.rows.length, read?.isCut], [20, true])
    for (const [, text] of read!.rows) assert.match(text!, /^ü{2600,2700}$/)
  })

  it('reads empty tables, views and tables of other engines, and finds no table that does not exist', async () => {
    await create('empty', 'id UInt64', 'MergeTree ORDER BY id')
    await create('memory', 'id UInt64', 'Memory')
    await world.engine.query('INSERT INTO pipes.memory VALUES (7)')
    await world.engine.query('CREATE VIEW pipes.above AS SELECT id + 1 AS next FROM pipes.memory')
    assert.deepEqual((await newest('empty'))?.rows, [])
    assert.deepEqual((await newest('memory'))?.rows, [['7']])
    assert.deepEqual((await newest('above'))?.rows, [['8']])
    assert.equal(await newest('absent'), undefined)
  })

  it('lists tables with their sizes', async () => {
    await create('sized', 'id UInt64', 'MergeTree ORDER BY id')
    await world.engine.query('INSERT INTO pipes.sized SELECT number FROM system.numbers LIMIT 1234')
    const client = openEngineClient(egress, world.accessBy(world.engine.port))
    const all = await listTableSizes(client, { limit: 1000 }, never)
    const some = { database: 'pipes', tables: ['above', 'sized', 'empty', 'absent'], limit: 10 }
    const listed = await listTableSizes(client, some, never)
    client.close()
    assert.ok(all.some(({ table }) => table === 'sized') && all.every(({ database }) => database !== 'system'))
    assert.deepEqual(
      listed.map(({ table, engine, rows }) => [table, engine, rows]),
      [
        ['above', 'View', null],
        ['empty', 'MergeTree', 0],
        ['sized', 'MergeTree', 1234],
      ],
    )
    assert.ok(listed[2]!.bytes! > 0)
  })
})
