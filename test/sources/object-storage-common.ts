// Conformance suite for probes of object sources, for all stores.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ObjectStorageSource } from '../../src/source-shapes/object-storage-source.ts'
import type { ReadableSource } from '../../src/sources/source.ts'
import { probe, probeFails, strictEgress } from './conformance.ts'
import { asText, sampleObjects } from './object-samples.ts'

/** A store, and sources that read from it. */
export interface ObjectWorld {
  /** Returns its name. */
  createBucket(): Promise<string>
  put(bucket: string, key: string, bytes: Uint8Array): Promise<void>
  makeSource(bucket: string, pattern: string, more?: Partial<ObjectStorageSource>): ReadableSource
  /** The field with the pattern. */
  patternField: 'url' | 'path'
  secrets: string[]
}

export const line = (id: number): Uint8Array => Buffer.from(`{"id":${id}}\n`)

export async function filled(world: ObjectWorld, keys: string[]): Promise<string> {
  const bucket = await world.createBucket()
  const left = keys.entries()
  const fill = async (): Promise<void> => {
    for (const [index, key] of left) await world.put(bucket, key, line(index))
  }
  await Promise.all(Array.from({ length: 16 }, fill))
  return bucket
}

export async function idsOf(source: ReadableSource): Promise<unknown[]> {
  const { samples } = await probe(source)
  return samples[0]!.rows.map(({ id }) => id)
}

export function probesObjects(world: () => ObjectWorld): void {
  it('reads every format and every compression', async () => {
    const { createBucket, put, makeSource } = world()
    const bucket = await createBucket()
    for (const { key, bytes, rows, ...how } of await sampleObjects()) {
      await put(bucket, key, bytes)
      const { samples, steps } = await probe(makeSource(bucket, key, how))
      assert.deepEqual(asText(samples[0]!.rows), rows, key)
      assert.deepEqual(
        samples[0]!.fields.map(({ name }) => name),
        Object.keys(rows[0]!),
        key,
      )
      assert.deepEqual(steps.slice(-3), ['describe', 'read', 'decode'])
    }
  })

  it('reads the objects that match the pattern', async () => {
    const keys = ['2024/01/a.json', '2024/01/b.json', '2024/02/a.json', '2025/01/deep/a.json', 'other.json']
    const bucket = await filled(world(), keys)
    const of = (pattern: string) => idsOf(world().makeSource(bucket, pattern))
    assert.deepEqual(await of('2024/01/b.json'), [1])
    assert.deepEqual(await of('2024/01/*.json'), [0, 1])
    assert.deepEqual(await of('2024/0?/a.json'), [0, 2])
    assert.deepEqual(await of('2025/**.json'), [3])
    assert.deepEqual(await of('{other,2024/02/a}.json'), [2, 4])
    assert.deepEqual(await of('2024/{01..02}/a.json'), [0, 2])
    assert.deepEqual(await of('2025/'), [3])
  })

  it('finds keys with any characters', async () => {
    const keys = ['a b+c.json', 'é/😀 &<>"\'.json', 'per%cent/100%25.json', 'plain,=;@$!()~.json']
    const bucket = await filled(world(), keys)
    for (const [index, key] of keys.entries()) {
      const isUrl = world().patternField === 'url'
      const pattern = isUrl ? key.split('/').map(encodeURIComponent).join('/') : key
      assert.deepEqual(await idsOf(world().makeSource(bucket, pattern)), [index], key)
    }
    assert.equal((await idsOf(world().makeSource(bucket, '**'))).length, 3)
  })

  it('reads at most maxRecords rows, of at most three objects', async () => {
    const bucket = await filled(world(), ['1', '2', '3', '4'])
    await world().put(bucket, 'many', Buffer.from('{"id":7}\n'.repeat(50)))
    const few = await probe(world().makeSource(bucket, 'many'), { maxRecords: 10 })
    assert.equal(few.samples[0]!.rows.length, 10)
    assert.deepEqual(await idsOf(world().makeSource(bucket, '?')), [0, 1, 2])
  })

  it('skips empty objects and folders, and is empty without others', async () => {
    const bucket = await filled(world(), ['data/full'])
    await world().put(bucket, 'data/empty', new Uint8Array())
    assert.deepEqual(await idsOf(world().makeSource(bucket, 'data/*')), [0])
    const { samples, steps } = await probe(world().makeSource(bucket, 'data/empty'))
    assert.deepEqual(samples, [{ rows: [], fields: [] }])
    assert.ok(steps.includes('describe'))
  })

  it('reports that no object matches, unless the source is continuous', async () => {
    const { makeSource, patternField, secrets } = world()
    const bucket = await filled(world(), ['a.json'])
    const expected = { step: 'describe', code: 'not_found', field: patternField } as const
    const failure = await probeFails(makeSource(bucket, 'b*.csv'), expected, { secrets })
    assert.match(failure.reason, /b\*\.csv/)
    await probeFails(makeSource(bucket, 'b.csv'), expected, { secrets })
    const { samples } = await probe(makeSource(bucket, 'b*.csv', { isContinuous: true }))
    assert.deepEqual(samples, [{ rows: [], fields: [] }])
  })

  it('names the object with another format or compression', async () => {
    const { makeSource, secrets } = world()
    const bucket = await filled(world(), [])
    await world().put(bucket, 'page.html', Buffer.from('<html></html>'))
    const undecodable = { step: 'decode', code: 'undecodable' } as const
    const ofFormat = { ...undecodable, field: 'format' }
    const failure = await probeFails(makeSource(bucket, 'page.html'), ofFormat, { secrets })
    assert.match(failure.reason, /page\.html/)
    await probeFails(makeSource(bucket, 'page.html', { format: 'Parquet' }), ofFormat, { secrets })
    const ofCompression = { ...undecodable, field: 'compression' }
    await probeFails(makeSource(bucket, 'page.html', { compression: 'gzip' }), ofCompression, { secrets })
  })

  it('does not wait, and does not connect to denied addresses', async () => {
    const { makeSource, secrets } = world()
    const bucket = await filled(world(), ['a.json'])
    await probe(makeSource(bucket, '*.json'))
    // A real server may share the machine with other tests.
    const durations = [Infinity]
    for (let run = 0; run < 10 && Math.min(...durations) >= 300; run++)
      durations.push((await probe(makeSource(bucket, '*.json'))).durationMs)
    assert.ok(Math.min(...durations) < 300, `${durations}`)
    const denied = { step: 'connect', code: 'address_denied' } as const
    await probeFails(makeSource(bucket, '*.json'), denied, { secrets, egress: strictEgress })
    const connectOptions = { egress: strictEgress, signal: AbortSignal.timeout(5_000) }
    const opening = makeSource(bucket, '*.json').open({}, connectOptions)
    await assert.rejects(opening, { name: 'ProbeFailure', code: 'address_denied' })
  })
}
