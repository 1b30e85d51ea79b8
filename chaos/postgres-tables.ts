// Replicated tables of the drills, each with one difficulty: TOAST values, changing keys, types that both sides print
// differently, rows that move between partitions, and an append-only target. Keys come from a small range so that changes meet
// existing rows; the seed alone decides every choice.
import { bool, type Column, date, float, integer, list, number, raw, text, timestamp, uuid } from './postgres-print.ts'
import type { Random } from './random.ts'

export interface SourceTable {
  /** Name in the source and in the target. */
  name: string
  engine: 'ReplacingMergeTree' | 'MergeTree'
  create: string[]
  /** The first columns are the key. */
  columns: Column[]
  keyColumns: number
  /** A few statements, each of which changes at most one row. */
  change(random: Random): string
  /** Changes many rows. */
  changeMany(random: Random): string
  /** False for an append-only MergeTree target, which ignores TRUNCATE. */
  mayTruncate: boolean
}

const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`
/** Large enough for TOAST storage, and incompressible. */
const large = (seed: string): string => `(SELECT string_agg(md5(${seed} || i), '') FROM generate_series(1, 280) i)`
const literal = (random: Random): string => String(random.below(1_000_000_000))
const difficult = ['', 'plain', 'a\tb', 'two\nlines', 'back\\slash', '\\N', 'quote \' and "', 'ü 漢字 🚰', '\r']
const words = (random: Random): string => quoted(`${random.pick(difficult)} ${random.below(1000)}`)
/** Guards a change of a key: a duplicate key would roll back the whole transaction, which should be rare. */
const ifFree = (table: string, condition: string): string =>
  `AND NOT EXISTS (SELECT 1 FROM ${table} taken WHERE ${condition})`
const orNull = (random: Random, value: string): string => (random.happens(0.2) ? 'NULL' : value)

/** TOAST values, and updates that leave them unchanged. */
const largeValues: SourceTable = {
  name: 'rows1',
  engine: 'ReplacingMergeTree',
  create: [
    'CREATE TABLE rows1 (id bigint PRIMARY KEY, counter int NOT NULL, body text NOT NULL, more text)',
    `INSERT INTO rows1 SELECT id, 0, ${large("id || 'body'")}, CASE WHEN id % 3 = 0 THEN ${large("id || 'more'")} END
     FROM generate_series(1, 600) id`,
  ],
  columns: [integer('id'), integer('counter'), text('body'), text('more', { isNullable: true })],
  keyColumns: 1,
  change(random) {
    const [id, otherId] = [random.between(1, 900), random.between(1, 900)]
    const where = `WHERE id = ${id}`
    return random.pick([
      () => `UPDATE rows1 SET counter = counter + 1 ${where}`,
      () => `UPDATE rows1 SET counter = counter + 1 WHERE id BETWEEN ${id} AND ${id + 10}`,
      () => `UPDATE rows1 SET body = ${large(quoted(literal(random)))} ${where}`,
      () => `UPDATE rows1 SET more = ${orNull(random, large(quoted(literal(random))))} ${where}`,
      () => `UPDATE rows1 SET body = ${words(random)} ${where}`,
      () => `UPDATE rows1 SET id = ${otherId} ${where} ${ifFree('rows1', `id = ${otherId}`)}`,
      () => `DELETE FROM rows1 ${where}`,
      () =>
        `INSERT INTO rows1 VALUES (${id}, 0, ${large(quoted(literal(random)))}, NULL)
         ON CONFLICT (id) DO UPDATE SET counter = rows1.counter + 100`,
    ])()
  },
  // More WAL than fits into one insert.
  changeMany: (random) =>
    `UPDATE rows1 SET counter = counter + 1000, body = ${large(`id || ${quoted(literal(random))}`)},
       more = CASE WHEN id % 2 = 0 THEN ${large(`id || ${quoted(literal(random))}`)} ELSE more END`,
  mayTruncate: true,
}

/** A key of two columns, both of which change. */
const twoKeys: SourceTable = {
  name: 'rows2',
  engine: 'ReplacingMergeTree',
  create: [
    `CREATE TABLE rows2 (one int, other text, amount int, isGood boolean NOT NULL, day date NOT NULL,
       PRIMARY KEY (one, other))`,
    `INSERT INTO rows2 SELECT id % 60, 'k' || id, id, id % 2 = 0, date '2020-01-01' + id % 2000
     FROM generate_series(1, 5000) id`,
  ],
  columns: [integer('one'), text('other'), integer('amount', { isNullable: true }), bool('isgood'), date('day')],
  keyColumns: 2,
  change(random) {
    const [one, other] = [random.below(60), quoted(`k${random.between(1, 200)}`)]
    const where = `WHERE one = ${one} AND other = ${other}`
    return random.pick([
      () =>
        `INSERT INTO rows2 VALUES (${one}, ${other}, ${orNull(random, literal(random))}, true, '2024-02-29')
         ON CONFLICT (one, other) DO UPDATE SET amount = EXCLUDED.amount, isGood = NOT rows2.isGood`,
      () => `UPDATE rows2 SET amount = ${orNull(random, literal(random))} WHERE one = ${one} AND other < 'k12'`,
      () => `UPDATE rows2 SET one = ${random.between(60, 90)} ${where}`,
      () => `UPDATE rows2 SET other = other || ${quoted(String(random.below(10)))} ${where}`,
      // Changes the key and changes it back.
      () =>
        `UPDATE rows2 SET one = one + 1000, amount = 1 ${where};
         UPDATE rows2 SET one = one - 1000, day = day + 1 WHERE one = ${one + 1000} AND other = ${other}`,
      () => `DELETE FROM rows2 ${where}`,
      () => `DELETE FROM rows2 WHERE one = ${one} AND length(other) > 5`,
    ])()
  },
  changeMany: (random) => `UPDATE rows2 SET amount = coalesce(amount, 0) + ${random.below(1000)}, day = day + 1`,
  mayTruncate: true,
}

/** Types that both sides print differently. */
const manyTypes: SourceTable = {
  name: 'rows3',
  engine: 'ReplacingMergeTree',
  create: [
    `CREATE TABLE rows3 (id uuid PRIMARY KEY, tags text[], numbers int[] NOT NULL, doc jsonb NOT NULL,
       at timestamptz NOT NULL, bytes bytea, amount numeric(20, 4) NOT NULL, title text)`,
    `INSERT INTO rows3 SELECT md5('c' || id)::uuid, ARRAY['a', 'b' || id], ARRAY[id, -id],
       jsonb_build_object('id', id, 'x', ARRAY[1.50, NULL]),
       timestamptz '2001-01-01 00:00:00.000001+00' + id * interval '1 hour',
       decode(md5('b' || id), 'hex'), id / 7.0, 'title ' || id
     FROM generate_series(1, 2000) id`,
  ],
  columns: [
    uuid('id'),
    list('tags'),
    list('numbers'),
    text('doc', { source: 'doc::text' }),
    timestamp('at'),
    raw('bytes', { isNullable: true }),
    number('amount', 10_000),
    text('title', { isNullable: true }),
  ],
  keyColumns: 1,
  change(random) {
    const id = (): string => `md5('c${random.between(1, 2500)}')::uuid`
    const [where, otherId] = [`WHERE id = ${id()}`, id()]
    const tags = `ARRAY[${[words(random), words(random)].slice(random.below(3)).join(', ')}]::text[]`
    const doc = `jsonb_build_object(${words(random)}, ${words(random)}, 'n', ${random.below(100)} / 8.0)`
    const amount = `${random.below(1_000_000_000)} / 10000.0 * ${random.pick([1, -1])}`
    // The last digit is not zero: only one of the engines prints trailing zeros.
    const at = `timestamptz '2030-06-30 23:59:5${random.below(10)}.00000${random.between(1, 9)}+0${random.below(10)}'`
    return random.pick([
      () =>
        `INSERT INTO rows3 VALUES (${id()}, ${orNull(random, tags)}, ARRAY[${literal(random)}], ${doc}, ${at},
           ${orNull(random, `decode(md5(${words(random)}), 'hex')`)}, ${amount}, ${orNull(random, words(random))})
         ON CONFLICT (id) DO UPDATE SET numbers = '{}', doc = EXCLUDED.doc, at = EXCLUDED.at`,
      () => `UPDATE rows3 SET tags = ${tags}, title = ${orNull(random, words(random))} ${where}`,
      () => `UPDATE rows3 SET doc = ${doc}, amount = ${amount}, bytes = '\\x00ff0a095c27' ${where}`,
      () => `UPDATE rows3 SET at = ${at} ${where}`,
      () => `UPDATE rows3 SET id = ${otherId} ${where} ${ifFree('rows3', `id = ${otherId}`)}`,
      () => `DELETE FROM rows3 ${where}`,
    ])()
  },
  changeMany: (random) => `UPDATE rows3 SET amount = -amount, title = ${words(random)}`,
  mayTruncate: true,
}

/** Append-only target: rows are never removed. */
const log: SourceTable = {
  name: 'rows4',
  engine: 'MergeTree',
  create: [
    'CREATE TABLE rows4 (id bigint PRIMARY KEY, amount int NOT NULL, note text NOT NULL)',
    "INSERT INTO rows4 SELECT id, id, 'note ' || id FROM generate_series(1, 5000) id",
  ],
  columns: [integer('id'), integer('amount'), text('note')],
  keyColumns: 1,
  change(random) {
    const [id, otherId] = [random.between(1, 6000), random.between(1, 6000)]
    return random.pick([
      () =>
        `INSERT INTO rows4 VALUES (${id}, ${literal(random)}, ${words(random)})
         ON CONFLICT (id) DO UPDATE SET amount = EXCLUDED.amount`,
      () => `UPDATE rows4 SET note = ${words(random)} WHERE id BETWEEN ${id} AND ${id + 5}`,
      () => `UPDATE rows4 SET id = ${otherId} WHERE id = ${id} ${ifFree('rows4', `id = ${otherId}`)}`,
      () => `DELETE FROM rows4 WHERE id = ${id}`,
    ])()
  },
  changeMany: (random) => `UPDATE rows4 SET amount = ${random.below(1000)}`,
  mayTruncate: false,
}

/** Rows move between partitions. */
const partitioned: SourceTable = {
  name: 'rows5',
  engine: 'ReplacingMergeTree',
  create: [
    `CREATE TABLE rows5 (id int, bucket int, amount double precision NOT NULL, word text, PRIMARY KEY (id, bucket))
     PARTITION BY RANGE (bucket)`,
    'CREATE TABLE rows5_low PARTITION OF rows5 FOR VALUES FROM (MINVALUE) TO (10)',
    'CREATE TABLE rows5_middle PARTITION OF rows5 FOR VALUES FROM (10) TO (20)',
    'CREATE TABLE rows5_rest PARTITION OF rows5 DEFAULT',
    "INSERT INTO rows5 SELECT id, id % 30, id / 4.0, 'w' || id FROM generate_series(1, 20000) id",
  ],
  columns: [integer('id'), integer('bucket'), float('amount'), text('word', { isNullable: true })],
  keyColumns: 2,
  change(random) {
    const where = `WHERE id = ${random.between(1, 25_000)}`
    return random.pick([
      () =>
        `INSERT INTO rows5 VALUES (${random.between(1, 25_000)}, ${random.below(30)}, ${random.below(1000) / 8}, ${words(random)})
         ON CONFLICT (id, bucket) DO UPDATE SET amount = EXCLUDED.amount`,
      () => `UPDATE rows5 SET bucket = ${random.below(30)} ${where}`,
      () => `UPDATE rows5 SET word = ${orNull(random, words(random))}, amount = amount + 0.25 ${where}`,
      () => `DELETE FROM rows5 ${where}`,
    ])()
  },
  changeMany: (random) =>
    `INSERT INTO rows5 SELECT id, id % 30, ${random.below(1000)}, 'many' FROM generate_series(1, 30000) id
     ON CONFLICT (id, bucket) DO UPDATE SET amount = rows5.amount + 0.5, word = ${words(random)}`,
  mayTruncate: true,
}

export const sourceTables: SourceTable[] = [largeValues, twoKeys, manyTypes, log, partitioned]

/** Added and removed in some drills; otherwise like the other tables. */
export const guest: SourceTable = {
  ...twoKeys,
  name: 'rows6',
  create: twoKeys.create.map((sql) => sql.replaceAll('rows2', 'rows6')),
  change: (random) => twoKeys.change(random).replaceAll('rows2', 'rows6'),
  changeMany: (random) => twoKeys.changeMany(random).replaceAll('rows2', 'rows6'),
}
