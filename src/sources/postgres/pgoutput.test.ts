// pgoutput messages, built by hand and from a real server.
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeAll, openWalReader, type WalReader, walMessages } from '../../../test/sources/wal.ts'
import { type PostgresServer, startPostgres } from '../../embedded-postgres/postgres-server.ts'
import { decodeMessage, makeScratch, type Relation, UndecodableWal, type WalVisitor } from './pgoutput.ts'

const relation: Relation = {
  id: 4_000_000_000,
  schema: 'shop',
  table: 'größe',
  identity: 'default',
  columns: [
    { name: 'id', isKey: true, typeId: 23, modifier: -1 },
    { name: 'note', isKey: false, typeId: 25, modifier: 68 },
  ],
}
const { id } = relation

describe('messages of pgoutput', () => {
  it('are decoded one after the other', () => {
    const messages = [
      walMessages.begin(0x16_b374_d848n, 1_000_500n),
      walMessages.relation(relation),
      walMessages.insert(id, ['1', 'naïve\t']),
      walMessages.update(id, ['2', undefined], { is: 'K', values: ['1', null] }),
      walMessages.update(id, ['2', null]),
      walMessages.update(id, ['2', ''], { is: 'O', values: ['2', 'old'] }),
      walMessages.delete(id, 'K', ['2', null]),
      walMessages.delete(id, 'O', ['2', 'x']),
      walMessages.truncate([id, 5]),
      walMessages.commit(0x16_b374_d848n, 0x16_b374_d900n),
    ]
    assert.deepEqual(decodeAll(messages), [
      ['begin', 0x16_b374_d848n, Date.UTC(2000, 0, 1) + 1000],
      ['relation', relation],
      ['insert', id, ['1', 'naïve\t']],
      ['update', id, ['2', undefined], ['1', null], 'key'],
      ['update', id, ['2', null], undefined, undefined],
      ['update', id, ['2', ''], ['2', 'old'], 'row'],
      ['delete', id, ['2', null], 'key'],
      ['delete', id, ['2', 'x'], 'row'],
      ['truncate', [id, 5]],
      ['commit', 0x16_b374_d848n, 0x16_b374_d900n],
    ])
  })

  it('without rows are skipped', () => {
    assert.deepEqual(
      decodeAll([Buffer.from('O\0\0\0\0\0\0\0\x01other\0'), Buffer.from('Y\0\0\0\x01public\0mood\0')]),
      [],
    )
  })

  it('are errors when their kind is unknown', () => {
    const one = walMessages.insert(id, ['1'])
    const changed = (at: number, letter: string): Buffer => {
      const bytes = Buffer.from(one)
      bytes[at] = letter.charCodeAt(0)
      return bytes
    }
    const badRelation = walMessages.relation({ ...relation, identity: 'x' as 'full' })
    const unknown = [changed(0, 'M'), changed(5, 'O'), changed(8, 'b'), badRelation, Buffer.alloc(0)]
    for (const message of unknown) assert.throws(() => decodeAll([message]), UndecodableWal)
  })

  it('are errors when they are too short or too long', () => {
    const messages = [
      walMessages.begin(1n, 2n),
      walMessages.commit(1n, 2n),
      walMessages.relation(relation),
      walMessages.insert(id, ['1', null, 'abc']),
      walMessages.update(id, ['1', undefined], { is: 'O', values: ['2', 'abc'] }),
      walMessages.delete(id, 'K', ['2', null]),
      walMessages.truncate([1, 2]),
    ]
    for (const message of messages) {
      for (let length = 0; length < message.length; length++) {
        assert.throws(() => decodeAll([message.subarray(0, length)]), UndecodableWal, `${message[0]} cut at ${length}`)
      }
      assert.throws(() => decodeAll([Buffer.concat([message, Buffer.from('n')])]), UndecodableWal)
    }
  })

  it('give either rows or an error, whatever their bytes are', () => {
    const nothing = (): void => undefined
    const visitor: WalVisitor = {
      ...{ begin: nothing, commit: nothing, relation: nothing, truncate: nothing },
      insert: (_id, { count, ends }) => assert.ok(Array.from(ends.subarray(0, count)).every((end) => end <= 4_000)),
      ...{ update: nothing, delete: nothing },
    }
    const scratch = makeScratch()
    const letters = fc.constantFrom(...'BCRIUDTOY').map((letter) => Buffer.from(letter))
    fc.assert(
      fc.property(letters, fc.uint8Array({ maxLength: 60 }), (letter, bytes) => {
        const message = Buffer.concat([letter, bytes])
        try {
          decodeMessage(message, 0, message.length, visitor, scratch)
        } catch (error) {
          assert.ok(error instanceof UndecodableWal, String(error))
        }
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('messages of a real server', () => {
  let server: PostgresServer
  let reader: WalReader

  before(async () => {
    server = await startPostgres({ settings: { wal_level: 'logical' } })
    const setUp = await openWalReader(server.url, { slot: 'first', publication: 'none' })
    await setUp.query(`
      CREATE TABLE public.plain (id int PRIMARY KEY, note text, large text);
      ALTER TABLE public.plain ALTER large SET STORAGE EXTERNAL;
      CREATE TABLE public.whole (id int, note varchar(20), large text);
      ALTER TABLE public.whole ALTER large SET STORAGE EXTERNAL;
      ALTER TABLE public.whole REPLICA IDENTITY FULL;
      CREATE TABLE public.by_index (id int NOT NULL, note text);
      CREATE UNIQUE INDEX by_id ON public.by_index (id);
      ALTER TABLE public.by_index REPLICA IDENTITY USING INDEX by_id;
      CREATE TYPE public.mood AS ENUM ('happy');
      CREATE TABLE public.moods (id int PRIMARY KEY, mood public.mood);
      CREATE PUBLICATION everything FOR ALL TABLES`)
    await setUp.close()
    reader = await openWalReader(server.url, { slot: 'second', publication: 'everything' })
  })

  after(async () => {
    await reader?.close()
    await server?.stop()
  })

  const changes = async (sql: string): Promise<unknown[][]> => {
    await reader.query(sql)
    const calls = decodeAll(await reader.read())
    assert.deepEqual([calls[0]?.[0], calls.at(-1)?.[0]], ['begin', 'commit'])
    return calls.slice(1, -1).map(([kind, relationId, ...rest]) => {
      return kind === 'relation' ? [kind, { ...(relationId as Relation), id: 0 }] : [kind, ...rest]
    })
  }

  const relationOf = (call: unknown[] | undefined): Relation => {
    assert.equal(call?.[0], 'relation')
    return call?.[1] as Relation
  }

  it('describe a table, and rows by their key', async () => {
    assert.deepEqual(await changes(`INSERT INTO public.plain VALUES (1, 'a', NULL)`), [
      [
        'relation',
        {
          id: 0,
          schema: 'public',
          table: 'plain',
          identity: 'default',
          columns: [
            { name: 'id', isKey: true, typeId: 23, modifier: -1 },
            { name: 'note', isKey: false, typeId: 25, modifier: -1 },
            { name: 'large', isKey: false, typeId: 25, modifier: -1 },
          ],
        },
      ],
      ['insert', ['1', 'a', null]],
    ])
    await changes('DELETE FROM public.plain')
    // The relation is sent once per connection, and each read is a new one.
    const [again, ...rest] = await changes(`BEGIN;
      INSERT INTO public.plain VALUES (1, 'a', repeat('x', 5000));
      UPDATE public.plain SET note = 'b';
      UPDATE public.plain SET id = 2;
      DELETE FROM public.plain; COMMIT`)
    assert.equal(relationOf(again).table, 'plain')
    assert.deepEqual(rest, [
      ['insert', ['1', 'a', 'x'.repeat(5_000)]],
      ['update', ['1', 'b', undefined], undefined, undefined],
      ['update', ['2', 'b', undefined], ['1', null, null], 'key'],
      ['delete', ['2', null, null], 'key'],
    ])
  })

  it('have the whole old row where that is the replica identity', async () => {
    const large = 'x'.repeat(5_000)
    const [relationCall, ...rest] = await changes(`BEGIN;
      INSERT INTO public.whole VALUES (1, 'a', repeat('x', 5000));
      UPDATE public.whole SET note = 'b';
      DELETE FROM public.whole; COMMIT`)
    assert.equal(relationOf(relationCall).identity, 'full')
    assert.equal(relationOf(relationCall).columns[1]?.modifier, 24)
    assert.deepEqual(rest, [
      ['insert', ['1', 'a', large]],
      ['update', ['1', 'b', undefined], ['1', 'a', large], 'row'],
      ['delete', ['1', 'b', large], 'row'],
    ])
  })

  it('describe an index, types, and truncated tables', async () => {
    const [byIndex] = await changes(`INSERT INTO public.by_index VALUES (1, 'a')`)
    assert.equal(relationOf(byIndex).identity, 'index')
    const moods = await changes(`INSERT INTO public.moods VALUES (1, 'happy')`)
    assert.deepEqual(moods.at(-1), ['insert', ['1', 'happy']])
    await reader.query('TRUNCATE public.plain, public.moods')
    const truncated = decodeAll(await reader.read()).find(([kind]) => kind === 'truncate')
    assert.ok(truncated)
    assert.equal((truncated[1] as number[]).length, 2)
  })

  it('have the commit time of a transaction', async () => {
    const [{ at }] = (await reader.query(`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at`)).rows
    await reader.query(`INSERT INTO public.plain VALUES (7)`)
    const calls = decodeAll(await reader.read())
    const [begin, commit] = [calls[0]!, calls.at(-1)!]
    assert.ok(Math.abs((begin[2] as number) - Number(at)) < 10_000)
    assert.equal(begin[1], commit[1])
    assert.ok((commit[2] as bigint) > (commit[1] as bigint))
  })
})
