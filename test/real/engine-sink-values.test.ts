// Values and insert settings of batches in real engines (ClickHouse 18.16 and current).
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { it } from 'node:test'
import avro from 'avsc'
import { parquetWriteBuffer } from 'hyparquet-writer'
import type { Insert } from '../../src/engine/engine.ts'
import { EngineError } from '../../src/engine/engine.ts'
import { quoteName } from '../../src/engine/names.ts'
import { defaultSettings } from '../../src/pipes/settings.ts'
import { badRow, columns, describeOnEngines, insertOf, linesOf, never, shape } from './sink-world.ts'

describeOnEngines('what is inserted', (world) => {
  it('stores an insert as one block, whatever the pipe says of the size of blocks', async () => {
    const table = world.newTable({ definition: { engine: { type: 'MergeTree' }, sortingKey: ['id'] } })
    const settings = { ...defaultSettings, engine_min_insert_block_size_bytes: 1000, engine_max_insert_threads: 4 }
    const body = linesOf(1_200_000)
    const mapped = {
      fields: [...columns, { name: 'other', type: 'String' }],
      columns: shape.columns.map(({ column, field }) => ({ column, field: column === 'note' ? 'day' : field })),
    }
    await world.withSink(table, async (sink) => {
      const merges = world.isOld ? 'MERGES' : `MERGES pipes.${table.table}`
      await world.engine.query(`SYSTEM STOP ${merges}`)
      await sink.insert(insertOf('a', body, { settings }), never)
      assert.equal(await world.countParts(table), 1)
      await sink.insert(insertOf('b', body, { settings, ...mapped }), never)
      assert.equal(await world.countParts(table), 2)
      await world.engine.query(`SYSTEM START ${merges}`)
    })
    assert.equal(await world.count(table), 2_400_000)
  })

  it('accepts values that the sample check accepts: null, missing or unknown fields, various date formats', async () => {
    const types = ['UInt8', 'Int64', 'Float64', 'String', 'Date', 'DateTime', "Enum8('a' = 1)", 'Array(UInt8)']
    const wide = [...types, 'Nullable(String)', 'Nullable(DateTime)', 'Decimal(9, 2)', 'UUID'].map((type, index) => ({
      name: `c${index}`,
      type,
    }))
    const table = world.newTable({ columns: wide, definition: { engine: { type: 'MergeTree' } } })
    const insert = {
      fields: wide,
      columns: wide.map((column) => ({ column: column.name, field: column.name })),
    }
    const lines = [
      {
        c0: true,
        c1: '-5',
        c2: '1.5',
        c3: 'x',
        c4: '2026-01-01',
        c5: '2026-01-01T10:00:00.123Z',
        c6: 'a',
        c7: [1, 2],
      },
      { c0: null, c1: null, c2: null, c3: null, c4: null, c5: null, c8: null, c9: null, c10: null, c11: null },
      { unknown: { deep: 1 }, c5: '2026-01-01 10:00:00', c9: '2026-01-01T12:00:00+02:00', c10: 1.25 },
      {},
    ]
    await world.withSink(table, async (sink) => {
      const body = Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'))
      await sink.insert(insertOf('a', body, insert), never)
    })
    const stored = await world.engine.query(
      `SELECT c0, c1, c2, c3, toString(c4), toUnixTimestamp(c5), c6, c7, c8, toUnixTimestamp(c9), toString(c10) FROM pipes.${table.table} ORDER BY c0, c5, c9 FORMAT TabSeparated`,
    )
    const empty = '0\t0\t0\t\t1970-01-01\t0\ta\t[]\t\\N\t\\N\t0'
    assert.deepEqual(
      stored
        .replaceAll(/0000-00-00/g, '1970-01-01')
        .replaceAll(/\t0\.00\n/g, '\t0\n')
        .trim()
        .split('\n'),
      [
        empty,
        empty,
        '0\t0\t0\t\t1970-01-01\t1767261600\ta\t[]\t\\N\t1767261600\t1.25',
        '1\t-5\t1.5\tx\t2026-01-01\t1767261600\ta\t[1,2]\t\\N\t\\N\t0',
      ],
    )
  })

  it('reads an empty text of a delimited format as the default', async () => {
    const types = ['UInt64', 'String', 'Date', "DateTime('Europe/Berlin')", 'Nullable(DateTime)', 'Nullable(Date)']
    const wide = types.map((type, index) => ({ name: `c${index}`, type }))
    const table = world.newTable({ columns: wide, definition: { engine: { type: 'MergeTree' } } })
    const insert = { fields: wide, columns: wide.map(({ name: column }) => ({ column, field: column })) }
    const csv = '1,,,,,\n 2, x ,2026-01-01,2026-01-01T10:00:00Z,2026-01-01 11:00:00,2026-01-02\n,,,,,\n'
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('csv', Buffer.from(csv), { ...insert, format: 'CSV' }), never)
      const tsv = Buffer.from('3\t\t\t\t\t\n4\t\\N\t\\N\t\\N\t\\N\t\\N\n')
      await sink.insert(insertOf('tsv', tsv, { ...insert, format: 'TabSeparated' }), never)
      for (const wrong of ['5,,,yesterday,,\n', '5,,tomorrow,,,\n', 'x,,,,,\n']) {
        const refused = await sink.tryOut(insertOf('bad', Buffer.from(wrong), { ...insert, format: 'CSV' }), never)
        assert.match(refused ?? '', /Cannot (?:parse|read)/, wrong)
      }
    })
    const stored = await world.engine.query(
      'SELECT c0, c1, toUInt32(toUInt16(c2)), toUnixTimestamp(c3), isNull(c4), isNull(c5) ' +
        `FROM pipes.${table.table} ORDER BY c0 FORMAT TabSeparated`,
    )
    const berlin = '2\tx\t20454\t1767261600\t0\t0'
    const empty = (id: number): string => `${id}\t\t0\t0\t1\t1`
    assert.deepEqual(stored.trim().split('\n'), [empty(0), empty(1), berlin, empty(3), empty(4)])
  })

  it('fills columns from other fields, and by position where there are no names', async () => {
    const table = world.newTable()
    const fields = ['a', 'b', 'c'].map((field, index) => ({ name: field, type: columns[index]!.type }))
    const map = { column: 'note', field: 'a' }
    await world.withSink(table, async (sink) => {
      const csv = { format: 'CSV' as const, delimiter: ';', fields: [fields[2]!, fields[1]!, fields[0]!] }
      const straight = [
        { column: 'id', field: 'a' },
        { column: 'day', field: 'b' },
        { column: 'note', field: 'c' },
      ]
      await sink.insert(insertOf('csv', Buffer.from('"x;y";2026-01-02;7\n'), { ...csv, columns: straight }), never)
      await sink.insert(
        insertOf('twice', Buffer.from('{"a":8,"b":"2026-01-02"}'), {
          fields,
          columns: [straight[0]!, straight[1]!, map],
        }),
        never,
      )
      const tsv = { format: 'TabSeparated' as const, fields, columns: straight }
      await sink.insert(insertOf('tsv', Buffer.from('9\t2026-01-02\tone\\ttwo\n'), tsv), never)
    })
    assert.equal(
      await world.engine.query(
        `SELECT id, toString(day), note FROM pipes.${table.table} ORDER BY id FORMAT TabSeparated`,
      ),
      '7\t2026-01-02\tx;y\n8\t2026-01-02\t8\n9\t2026-01-02\tone\\ttwo\n',
    )
  })

  it('supports all kinds of names', async () => {
    // The HTTP interface of chDB does not support quotes within quoted names.
    const odd = world.isOld ? 'we`ird \'na\\me" ünï' : 'we ird \'na\\me" ünï'
    const [column, field] = world.isOld ? ["co`l'\\umn", 'fi`e"ld'] : ["co l'\\umn", 'fi e"ld']
    const table = world.newTable({
      table: odd,
      columns: [{ name: column, type: 'UInt64' }],
      definition: { engine: { type: 'MergeTree' } },
    })
    const insert = {
      fields: [{ name: field, type: 'UInt64' }],
      columns: [{ column, field }],
    }
    const body = Buffer.from([1, 2].map((value) => JSON.stringify({ [field]: value })).join('\n'))
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', body, insert), never)
      await sink.insert(insertOf('a', body, { ...insert, isRepeat: true }), never)
      assert.equal(await sink.tryOut(insertOf('b', body, insert), never), undefined)
      await sink.keepBadRows([badRow('1', 'raw')], never)
    })
    assert.equal(await world.engine.query(`SELECT count() FROM pipes.${quoteName(odd)}`), '2\n')
  })

  it('reports a format that the engine does not support', { skip: !world.isOld }, async () => {
    await world.withSink(world.newTable(), async (sink) => {
      const insert = insertOf('a', Buffer.from('PAR1'), { format: 'Parquet' })
      for (const work of [sink.insert(insert, never), sink.tryOut(insert, never)]) {
        await assert.rejects(work, (error) => {
          assert.ok(error instanceof EngineError && error.kind === 'user')
          assert.match(error.message, /does not read Parquet/)
          return true
        })
      }
    })
  })

  it('reads Parquet and Avro, each file once and as one block', { skip: world.isOld }, async () => {
    const numbers = Array.from({ length: 300_000 }, (_, index) => index)
    const parquet = Buffer.from(
      parquetWriteBuffer({
        columnData: [
          { name: 'id', data: numbers, type: 'INT32' },
          {
            name: 'text',
            data: numbers.map((number) => (number % 3 === 0 ? null : `row ${number}`)),
            type: 'STRING',
          },
        ],
        rowGroupSize: 20_000,
      }),
    )
    const encoder = new avro.streams.BlockEncoder({
      type: 'record',
      name: 'event',
      fields: [
        { name: 'id', type: 'long' },
        { name: 'text', type: ['null', 'string'] },
      ],
    })
    const whole = buffer(encoder)
    for (const id of numbers) encoder.write({ id, text: id % 3 === 0 ? null : `row ${id}` })
    encoder.end()
    const fields = [
      { name: 'id', type: 'UInt64' },
      { name: 'text', type: 'String' },
    ]
    const attempts: [Insert['format'], Buffer, Insert['columns'], number][] = []
    for (const [format, body] of [['Parquet', parquet] as const, ['Avro', await whole] as const]) {
      attempts.push([format, body, [{ column: 'id', field: 'id' }], 300_000])
      attempts.push([
        format,
        body,
        [
          { column: 'id', field: 'id' },
          { column: 'note', field: 'text' },
        ],
        200_000,
      ])
    }
    for (const [format, body, mapped, expected] of attempts) {
      const table = world.newTable({ definition: { engine: { type: 'MergeTree' }, sortingKey: ['id'] } })
      const settings = { ...defaultSettings, engine_min_insert_block_size_bytes: 1, engine_max_insert_threads: 4 }
      const insert = insertOf(format, body, { format, fields, columns: mapped, settings })
      await world.withSink(table, async (sink) => {
        await sink.insert(insert, never)
        await sink.insert({ ...insert, isRepeat: true }, never)
        assert.equal(await world.countParts(table), 1)
        const cut = insertOf('cut', body.subarray(0, body.length / 2), { format, fields, columns: mapped })
        await assert.rejects(sink.insert(cut, never), (error) => error instanceof EngineError && error.kind === 'data')
      })
      assert.equal(await world.count(table), 300_000, format)
      const filter = mapped.length === 1 ? "note = ''" : "note = concat('row ', toString(id))"
      assert.equal(
        Number(await world.engine.query(`SELECT count() FROM pipes.${table.table} WHERE ${filter}`)),
        expected,
      )
    }
  })

  it('uses the settings of the pipe that the engine supports', async () => {
    const table = world.newTable()
    const settings = {
      ...defaultSettings,
      engine_max_threads: 3,
      engine_max_insert_threads: 2,
      engine_max_download_threads: 7,
      engine_min_insert_block_size_bytes: 123_456_789,
      engine_parallel_distributed_insert_select: 1,
      engine_parallel_view_processing: true,
    }
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', linesOf(10), { settings }), never)
    })
    const logged = (await world.engine.listQueries(table.table)).filter(({ query }) =>
      /^INSERT.* FORMAT JSONEachRow/s.test(query),
    )
    const [first] = logged
    assert.ok(first)
    const expected = world.isOld
      ? { max_threads: '3', min_insert_block_size_bytes: '123456789' }
      : {
          max_threads: '3',
          max_insert_threads: '2',
          max_download_threads: '7',
          min_insert_block_size_bytes: '123456789',
          parallel_distributed_insert_select: '1',
          parallel_view_processing: '1',
          insert_deduplication_token: 'a',
        }
    for (const [setting, value] of Object.entries(expected)) assert.equal(first.settings[setting], value, setting)
  })
})
