// Files are written by avsc, which shares no code with the decoder.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Schema } from 'avsc'
import fc from 'fast-check'
import { file, fileOfSchema, record, undecodable, whole } from '../../../test/harness/avro.ts'
import { Undecodable } from '../undecodable.ts'
import { decodeAvroFile, decodeAvroRecords } from './avro-rows.ts'

describe('Avro files', () => {
  const schema = record({ id: 'long', text: 'string' })
  const rows = Array.from({ length: 500 }, (_, id) => ({ id, text: `text ${id} ${'x'.repeat(id % 50)}` }))

  for (const codec of ['null', 'deflate', 'snappy', 'zstandard'] as const) {
    it(`are read with the codec ${codec}, up to the requested rows`, async () => {
      const bytes = await file(schema, rows, { codec, blockSize: 1_000 })
      assert.deepEqual(decodeAvroFile(whole(bytes), 10_000), {
        rows,
        fields: [
          { name: 'id', type: 'Int64', isOptional: false },
          { name: 'text', type: 'String', isOptional: false },
        ],
      })
      assert.deepEqual(decodeAvroFile(whole(bytes), 7).rows, rows.slice(0, 7))
    })

    it(`are read with the codec ${codec} when they are truncated anywhere`, async () => {
      const bytes = await file(schema, rows, { codec, blockSize: 1_000 })
      const headerBytes = (await file(schema, [], { codec })).length
      let most = 0
      for (let end = headerBytes; end < bytes.length; end += 97) {
        const read = decodeAvroFile({ bytes: bytes.subarray(0, end), isWhole: false }, 10_000).rows
        assert.deepEqual(read, rows.slice(0, read.length))
        assert.ok(read.length >= most)
        most = read.length
      }
      assert.ok(most > 400)
    })
  }

  it('return the rows of a truncated block if the codec allows', async () => {
    for (const codec of ['null', 'deflate', 'zstandard'] as const) {
      const noise = Array.from({ length: 2_000 }, (_, id) => ({
        id,
        text: Buffer.from(`${id ** 7}`).toString('base64'),
      }))
      const bytes = await file(schema, noise, { codec, blockSize: 10_000_000 })
      const cut = { bytes: bytes.subarray(0, bytes.length / 2), isWhole: false }
      // zstd returns nothing before one of its blocks is complete, which is larger than this.
      if (codec !== 'zstandard') assert.ok(decodeAvroFile(cut, 10_000).rows.length > 100, codec)
      assert.match(await undecodable(() => decodeAvroFile(whole(cut.bytes), 10_000)), /ends too early/)
    }
  })

  it('declare the types and have the values that the engine reads from files', async () => {
    const place = record({ city: 'string' }, 'Place')
    const time = { type: 'int', logicalType: 'time-millis' }
    const uuid = { type: 'fixed', name: 'U', size: 16, logicalType: 'uuid' }
    const tree = { type: 'record', name: 'Tree', fields: [{ name: 'child', type: ['null', 'Tree'] }] }
    const fields = {
      to: place,
      maybe: ['null', 'Place'],
      places: { type: 'array', items: ['null', 'Place'] },
      time,
      micros: ['null', { type: 'long', logicalType: 'time-micros' }],
      uuid,
      choice: ['null', 'string', 'long'],
      alike: ['int', 'long'],
      tree,
      trees: { type: 'array', items: 'Tree' },
    }
    const { fields: declared } = decodeAvroFile(whole(fileOfSchema(record(fields))), 10)
    assert.deepEqual(Object.fromEntries(declared!.map(({ name, type }) => [name, type])), {
      to: 'Tuple(city String)',
      maybe: 'Tuple(city String)',
      places: 'Array(Tuple(city String))',
      time: 'Int32',
      micros: 'Nullable(Int64)',
      uuid: 'String',
      choice: 'Variant(String, Int64)',
      alike: 'Nothing',
      tree: 'Nothing',
      trees: 'Array(Nothing)',
    })
    const row = Buffer.from([20, ...Buffer.alloc(16, 7)])
    const { rows } = decodeAvroFile(whole(fileOfSchema(record({ time, uuid }), row)), 10)
    assert.deepEqual(rows, [{ time: 10, uuid: new Uint8Array(16).fill(7) }])
  })

  it('declare no endless type', async () => {
    let type: unknown = 'int'
    for (let level = 0; level < 20; level++) {
      const inner = level === 0 ? type : `L${level - 1}`
      const fields = Array.from({ length: 10 }, (_, index) => ({ name: `f${index}`, type: index === 0 ? type : inner }))
      type = { type: 'record', name: `L${level}`, fields }
    }
    const { fields } = decodeAvroFile(whole(fileOfSchema(type as Schema)), 10)
    assert.ok(fields!.every(({ type }) => type === 'Nothing'))
  })

  it('declare their fields even without rows', async () => {
    const { rows: none, fields } = decodeAvroFile(whole(await file(schema, [])), 10)
    assert.deepEqual([none, fields!.length], [[], 2])
  })

  it('report their errors', async () => {
    const bytes = await file(schema, rows, { codec: 'deflate' })
    const reason = (changed: Uint8Array, isWhole = true) =>
      undecodable(() => decodeAvroFile({ bytes: changed, isWhole }, 10_000))
    assert.match(await reason(Buffer.from('PAR1....')), /^the object is not an Avro .*: it begins with "PAR1/)
    assert.match(await reason(new Uint8Array()), /it is empty/)
    assert.match(await reason(bytes.subarray(0, 30)), /header that cannot be read: it ends too early/)
    assert.match(await reason(bytes.subarray(0, 30), false), /longer than what is read/)
    const marker = Buffer.from(bytes)
    marker[marker.length - 1]! ^= 1
    assert.match(await reason(marker), /does not end where it says/)
    const packed = Buffer.from(bytes)
    packed.fill(0xff, packed.length - 200, packed.length - 100)
    assert.match(await reason(packed), /does not match|not deflate/)
    const other = Buffer.from(bytes.toString('latin1').replace('\u000edeflate', '\u000ebzipped'), 'latin1')
    assert.match(await reason(other), /compressed with "bzipped", which is not one of null, deflate/)
    const unnamed = Buffer.from(bytes.toString('latin1').replace('avro.schema', 'avro.schemb'), 'latin1')
    assert.match(await reason(unnamed), /has no schema/)
    const broken = Buffer.from(bytes.toString('latin1').replace('"string"', '"strong"'), 'latin1')
    assert.match(await reason(broken), /^the schema of the object uses the type "strong"/)
  })

  it('check the checksum of snappy', async () => {
    const bytes = await file(schema, rows.slice(0, 3), { codec: 'snappy' })
    bytes[bytes.length - 17]! ^= 1
    assert.match(await undecodable(() => decodeAvroFile(whole(bytes), 10)), /not snappy/)
  })

  it('do not unpack more than a sample may hold', async () => {
    const zeros = record({ bytes: 'bytes' })
    const refused = (bytes: Uint8Array) => undecodable(() => decodeAvroFile(whole(bytes), 10))
    for (const codec of ['deflate', 'zstandard'] as const) {
      const bytes = await file(zeros, [{ bytes: Buffer.alloc(65 * 1024 * 1024) }], { codec, blockSize: 2 ** 28 })
      assert.match(await refused(bytes), /more in its first row or block/)
    }
    const header = await file(zeros, [], { codec: 'snappy' })
    // One row in ten bytes of snappy, with a declared size of 4 GiB.
    const block = Buffer.from([2, 20, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0])
    const marker = header.subarray(-16)
    assert.match(await refused(Buffer.concat([header, block, marker])), /more in its first row or block/)
  })

  it('never crash, for any bytes', async () => {
    const bytes = await file(schema, rows.slice(0, 20), { codec: 'null' })
    const change = fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 5 }), fc.boolean(), (changes, isWhole) => {
        const changed = Buffer.from(bytes)
        for (const { at, byte } of changes) changed[at] = byte
        try {
          decodeAvroFile({ bytes: changed, isWhole }, 100)
        } catch (error) {
          assert.ok(error instanceof Undecodable, String((error as Error).stack))
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('records that are Avro files', () => {
  it('return all their rows', async () => {
    const one = await file(record({ id: 'int' }), [{ id: 1 }, { id: 2 }])
    const other = await file(record({ id: 'int', more: 'boolean' }), [{ id: 3, more: true }])
    assert.deepEqual(decodeAvroRecords([one, other]), {
      rows: [{ id: 1 }, { id: 2 }, { id: 3, more: true }],
      fields: [
        { name: 'id', type: 'Int32', isOptional: false },
        { name: 'more', type: 'Nullable(Bool)', isOptional: true },
      ],
    })
    assert.deepEqual(decodeAvroRecords([]), { rows: [], fields: [] })
  })

  it('are reported by number when they are invalid', async () => {
    const one = await file(record({ id: 'int' }), [{ id: 1 }])
    const reason = await undecodable(() => decodeAvroRecords([one, Buffer.from('{}')]))
    assert.equal(reason, 'record 2 is not an Avro object container file: it begins with "{}"')
    const cut = await undecodable(() => decodeAvroRecords([one.subarray(0, -1)]))
    assert.match(cut, /^row 1 of record 1 does not match its schema: it ends too early/)
  })

  it('return no more rows than a sample needs', async () => {
    const many = await file(
      record({ id: 'int' }),
      Array.from({ length: 900 }, (_, id) => ({ id })),
    )
    assert.equal(decodeAvroRecords([many, many, many]).rows.length, 1_000)
  })
})
