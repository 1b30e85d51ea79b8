import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { decoding, objectOf, reasonOf, root, three, type WriteOptions, write } from '../../../test/harness/parquet.ts'
import { Undecodable } from '../undecodable.ts'
import { sampleBudgetOf } from './parquet-cut.ts'
import { firstRows } from './parquet-decode.ts'
import { decodeParquet } from './parquet-rows.ts'

describe('a Parquet object', () => {
  it('declares the types of its columns, and has values with all digits', async () => {
    const bytes = write(
      [
        { name: 'small', data: [-1, 0, 127] },
        { name: 'unsigned', data: [2n ** 64n - 1n, 0n, 5n] },
        { name: 'large', data: [2n ** 60n, null, 3n] },
        { name: 'float', data: [0.5, 1, 2] },
        { name: 'double', data: [0.1, 1, 2] },
        { name: 'flag', data: [true, false, true] },
        { name: 'text', data: ['ä', null, ''] },
        { name: 'raw', data: three.map((byte) => Uint8Array.of(0xff, byte)) },
        { name: 'day', data: three.map((day) => new Date(Date.UTC(2024, 0, day))) },
        { name: 'millis', data: three.map((second) => new Date(Date.UTC(2024, 0, 1, 0, 0, second))) },
        { name: 'micros', data: [1704164645123456n, -1n, 0n] },
        { name: 'nanos', data: [1704164645123456789n, 0n, 1n] },
        { name: 'price', data: [12.34, -0.05, 0] },
        { name: 'id', data: three.map((digit) => `0b8b3c1e-7a0e-4c6e-9b1a-3f1f3f1f3f1${digit}`) },
        { name: 'time', data: [1, 2, 3] },
      ],
      {
        schema: [
          root(15),
          { name: 'small', type: 'INT32', converted_type: 'INT_8', repetition_type: 'REQUIRED' },
          { name: 'unsigned', type: 'INT64', converted_type: 'UINT_64', repetition_type: 'REQUIRED' },
          { name: 'large', type: 'INT64', repetition_type: 'OPTIONAL' },
          { name: 'float', type: 'FLOAT', repetition_type: 'REQUIRED' },
          { name: 'double', type: 'DOUBLE', repetition_type: 'REQUIRED' },
          { name: 'flag', type: 'BOOLEAN', repetition_type: 'REQUIRED' },
          { name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
          { name: 'raw', type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' },
          { name: 'day', type: 'INT32', converted_type: 'DATE', repetition_type: 'REQUIRED' },
          { name: 'millis', type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'REQUIRED' },
          { name: 'micros', type: 'INT64', logical_type: timestamp('MICROS'), repetition_type: 'REQUIRED' },
          { name: 'nanos', type: 'INT64', logical_type: timestamp('NANOS'), repetition_type: 'REQUIRED' },
          {
            name: 'price',
            type: 'INT32',
            converted_type: 'DECIMAL',
            precision: 9,
            scale: 2,
            repetition_type: 'REQUIRED',
          },
          {
            name: 'id',
            type: 'FIXED_LEN_BYTE_ARRAY',
            type_length: 16,
            logical_type: { type: 'UUID' },
            repetition_type: 'REQUIRED',
          },
          { name: 'time', type: 'INT32', converted_type: 'TIME_MILLIS', repetition_type: 'REQUIRED' },
        ],
      },
    )
    const { rows, fields } = await decodeParquet(objectOf(bytes), { ...decoding, maxRows: 100 })
    assert.deepEqual(
      fields?.map(({ name, type, isOptional }) => `${name} ${type}${isOptional ? '?' : ''}`),
      [
        'small Int8',
        'unsigned UInt64',
        'large Nullable(Int64)?',
        'float Float32',
        'double Float64',
        'flag Bool',
        'text Nullable(String)?',
        'raw String',
        'day Date32',
        "millis DateTime64(3, 'UTC')",
        "micros DateTime64(6, 'UTC')",
        "nanos DateTime64(9, 'UTC')",
        'price Decimal(9, 2)',
        'id UUID',
        'time Int32',
      ],
    )
    assert.equal(rows.length, 3)
    assert.deepEqual(rows[0], {
      small: -1,
      unsigned: 18446744073709551615n,
      large: 2n ** 60n,
      float: 0.5,
      double: 0.1,
      flag: true,
      text: 'ä',
      raw: Uint8Array.of(0xff, 1),
      day: '2024-01-01',
      millis: '2024-01-01T00:00:01.000Z',
      micros: '2024-01-02T03:04:05.123456Z',
      nanos: '2024-01-02T03:04:05.123456789Z',
      price: '12.34',
      id: '0b8b3c1e-7a0e-4c6e-9b1a-3f1f3f1f3f11',
      time: 1,
    })
    const { large, text, micros, price } = rows[1]!
    assert.deepEqual([large, text, micros, price], [null, null, '1969-12-31T23:59:59.999999Z', '-0.05'])
  })

  it('has lists, maps and structs', async () => {
    const bytes = write(
      [
        { name: 'list', data: [[1, null], [], [3]] },
        { name: 'map', data: [{ a: 1 }, {}, { b: 2, c: 3 }] },
        { name: 'struct', data: three.map((x) => ({ x, 'y z': { deep: `t${x}` } })) },
      ],
      {
        schema: [
          root(3),
          { name: 'list', converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
          { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
          { name: 'element', type: 'INT32', repetition_type: 'OPTIONAL' },
          { name: 'map', converted_type: 'MAP', repetition_type: 'REQUIRED', num_children: 1 },
          { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
          { name: 'key', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
          { name: 'value', type: 'INT32', repetition_type: 'REQUIRED' },
          { name: 'struct', repetition_type: 'REQUIRED', num_children: 2 },
          { name: 'x', type: 'INT32', repetition_type: 'REQUIRED' },
          { name: 'y z', repetition_type: 'REQUIRED', num_children: 1 },
          { name: 'deep', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
        ],
      },
    )
    const { rows, fields } = await firstRows(objectOf(bytes), 'none', 100)
    assert.deepEqual(
      fields?.map(({ type }) => type),
      ['Array(Nullable(Int32))', 'Map(String, Int32)', 'Tuple(x Int32, `y z` Tuple(deep Nullable(String)))'],
    )
    assert.deepEqual(rows, [
      { list: [1, null], map: { a: 1 }, struct: { x: 1, 'y z': { deep: 't1' } } },
      { list: [], map: {}, struct: { x: 2, 'y z': { deep: 't2' } } },
      { list: [3], map: { b: 2, c: 3 }, struct: { x: 3, 'y z': { deep: 't3' } } },
    ])
  })

  it('is read in parts: the footer, and the first pages of each column', async () => {
    const count = 100_000
    const data = Array.from({ length: count }, (_, index) => `${index}-${'x'.repeat(40)}`)
    const schema = [
      root(2),
      { name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
      { name: 'list', converted_type: 'LIST', repetition_type: 'REQUIRED', num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { name: 'element', type: 'INT32', repetition_type: 'REQUIRED' },
    ] as const satisfies WriteOptions['schema']
    const lists = Array.from({ length: count }, (_, index) => [index, index + 1])
    const bytes = write(
      [
        { name: 'text', data },
        { name: 'list', data: lists },
      ],
      { rowGroupSize: count, pageSize: 50_000, codec: 'UNCOMPRESSED', schema },
    )
    assert.ok(bytes.length > 4_000_000, `${bytes.length} bytes`)
    const object = objectOf(bytes)
    const { rows } = await firstRows(object, 'auto', 100)
    assert.ok(object.readBytes < 1_000_000, `${object.readBytes} bytes were read`)
    assert.equal(rows.length, 100)
    assert.deepEqual(rows[99], { text: data[99], list: [99, 100] })
  })

  it('is read over several row groups', async () => {
    const data = Array.from({ length: 100 }, (_, index) => index)
    const bytes = write([{ name: 'a', data, type: 'INT32' }], { rowGroupSize: 10 })
    const { rows } = await firstRows(objectOf(bytes), 'auto', 25)
    assert.deepEqual(
      rows.map(({ a }) => a),
      data.slice(0, 25),
    )
  })

  it('without rows has its fields', async () => {
    const bytes = write([{ name: 'a', data: [], type: 'INT32' }])
    const { rows, fields } = await firstRows(objectOf(bytes), 'auto', 10)
    assert.deepEqual([rows, fields], [[], [{ name: 'a', type: 'Nullable(Int32)', isOptional: true }]])
  })

  it('may be compressed as a whole when it is small', async () => {
    const bare = write([{ name: 'a', data: three, type: 'INT32' }])
    for (const compression of ['gzip', 'auto'] as const) {
      const { rows } = await firstRows(objectOf(gzipSync(bare), 'a.parquet.gz'), compression, 10)
      assert.equal(rows.length, 3)
    }
    const large = { ...objectOf(gzipSync(bare)), sizeBytes: 65 * 1024 * 1024 }
    assert.match(await reasonOf(firstRows(large, 'gzip', 10)), /larger than 64 MiB .* Parquet compresses itself/)
    const bomb = objectOf(gzipSync(Buffer.alloc(65 * 1024 * 1024)))
    assert.match(await reasonOf(firstRows(bomb, 'gzip', 10)), /larger than 64 MiB/)
    assert.match(await reasonOf(firstRows(objectOf(bare), 'gzip', 10)), /^compression is gzip, but .* bare Parquet/)
  })

  it('that is not Parquet is rejected', async () => {
    const bare = write([{ name: 'a', data: three, type: 'INT32' }])
    for (const [bytes, reason] of [
      [Buffer.from('id,name\n'), 'the object is not Parquet: it begins with "id,name\\u{a}"'],
      [Buffer.alloc(0), 'the object is not Parquet: it is empty'],
      [Buffer.from('PAR1'), 'the object does not end as Parquet does, with PAR1'],
      [bare.subarray(0, -10), 'the object does not end as Parquet does, with PAR1'],
      [Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(100), Buffer.from('PARE')]), 'the Parquet object is encrypted'],
      [
        Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(100, 0xff), Buffer.from('PAR1')]),
        'the footer of the Parquet object cannot be read',
      ],
    ] as const) {
      assert.equal(await reasonOf(decodeParquet(objectOf(bytes), { ...decoding, maxRows: 10 })), reason)
    }
  })

  it('that cannot be read fails with the error of the store', async () => {
    const failure = new Error('no connection')
    const object = { ...objectOf(Buffer.from('PAR1')), read: async () => Promise.reject(failure) }
    await assert.rejects(decodeParquet(object, { ...decoding, maxRows: 10 }), (error) => error === failure)
  })
})

describe('a Parquet object that holds too much', () => {
  const sizeOf = (value: unknown): number => JSON.stringify(value).length

  it('has long texts, bytes and lists truncated', async () => {
    const leaves = [
      { name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
      { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' },
      { name: 'list', converted_type: 'LIST', repetition_type: 'REQUIRED', num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { name: 'element', type: 'INT32', repetition_type: 'REQUIRED' },
    ] as const
    const text = `${'x'.repeat(16 * 1024 - 1)}\u{1f600}${'x'.repeat(1000)}`
    const bytes = write(
      [
        { name: 'text', data: [text] },
        { name: 'bytes', data: [new Uint8Array(20_000).fill(0xff)] },
        { name: 'list', data: [Array.from({ length: 3000 }, (_, index) => index)] },
      ],
      { schema: [root(3), ...leaves] },
    )
    const { rows } = await decodeParquet(objectOf(bytes), { ...decoding, maxRows: 10 })
    const row = rows[0] as { text: string; bytes: Uint8Array; list: number[] }
    assert.equal(row.text, 'x'.repeat(16 * 1024 - 1))
    assert.equal(row.bytes.length, 16 * 1024)
    assert.equal(row.list.length, 1000)
    assert.equal(row.list[999], 999)
  })

  it('has fewer rows, because each repeats a value that the object stores once', async () => {
    const text = 'x'.repeat(16 * 1024)
    const data = Array.from({ length: 100 }, () => text)
    const names = Array.from({ length: 40 }, (_, index) => `c${index}`)
    const bytes = write(
      names.map((name) => ({ name, data, type: 'STRING' })),
      { codec: 'SNAPPY' },
    )
    const { rows, fields } = await decodeParquet(objectOf(bytes), { ...decoding, maxRows: 100 })
    assert.equal(fields?.length, 40)
    assert.ok(rows.length > 10 && rows.length < 100, `${rows.length}`)
    assert.ok(sizeOf(rows) < 17 * 1024 * 1024)
  })

  it('has fewer rows when the names of its columns are long', async () => {
    const name = 'x'.repeat(1024 * 1024)
    const bytes = write([{ name, data: Array.from({ length: 100 }, () => 1), type: 'INT32' }])
    assert.equal((await firstRows(objectOf(bytes), 'auto', 100)).rows.length, 14)
  })

  it('is rejected when its first row or schema exceeds the budget', async () => {
    const map = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}`.repeat(1_000_000), 1]))
    const schema = [
      root(1),
      { name: 'm', num_children: 1, converted_type: 'MAP', repetition_type: 'OPTIONAL' },
      { name: 'key_value', num_children: 2, repetition_type: 'REPEATED' },
      { name: 'key', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
      { name: 'value', type: 'INT32', repetition_type: 'OPTIONAL' },
    ] as const
    const ofMap = write([{ name: 'm', data: [map] }], { schema: [...schema] })
    assert.equal(
      await reasonOf(firstRows(objectOf(ofMap), 'auto', 10)),
      'the first row of the Parquet object is more than a sample may hold',
    )
    assert.throws(
      () => sampleBudgetOf([{ name: 'x'.repeat(17 * 1024 * 1024), type: 'Int8', isOptional: false }]),
      new Undecodable('the schema of the Parquet object is more than a sample may hold'),
    )
  })
})

function timestamp(unit: 'MICROS' | 'NANOS') {
  return { type: 'TIMESTAMP', isAdjustedToUTC: true, unit } as const
}
