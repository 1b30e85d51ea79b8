// Cost of rows that the engine rejects: a few statements per batch, whatever their number.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { makeRandom, type Random } from '../../chaos/random.ts'
import type { EngineColumn, Insert } from '../../src/engine/engine.ts'
import type { ObjectFormat } from '../../src/formats/decode/decoding.ts'
import type { EncoderParts } from '../../src/formats/encode/encoder.ts'
import { makeObjectEncoder } from '../../src/formats/encode/object-encoder.ts'
import type { Rows } from '../../src/formats/encode/rows.ts'
import { findSkipped } from '../../src/runner/skipped-rows.ts'
import { openFilePipe } from '../damaged-files/file-pipe.ts'
import { MemoryFiles } from '../damaged-files/memory-files.ts'
import { describeOnEngines, insertOf as insertWith, never, shape } from './sink-world.ts'

const rowCount = 20_000
const columns = [
  { name: 'id', type: 'UInt32' },
  { name: 'name', type: 'String' },
]
const formats = ['JSONEachRow', 'CSV', 'TabSeparated'] as const
/** Rows with the invalid value of each format, and newlines where supported. */
const lineOf = {
  JSONEachRow: (id: number | string) => `{"id":${JSON.stringify(id)},\r\n "name":"name ${id}"}`,
  CSV: (id: number | string) => `${id},"name\n ${id}"`,
  TabSeparated: (id: number | string) => `${id}\tname ${id}`,
}

const oldTypes = [
  'UInt8',
  'Int64',
  'Nullable(Int32)',
  'Float64',
  'String',
  'FixedString(4)',
  'Date',
  'DateTime',
  'UUID',
]
/** An old engine accepts any text for a UUID. */
const newTypes = [
  'UUID',
  'Decimal(9, 2)',
  'DateTime64(3)',
  'Array(Int32)',
  'Array(String)',
  'LowCardinality(String)',
  'Bool',
  'IPv4',
  'Map(String, Int32)',
  "Enum8('a' = 1, 'b' = 2)",
]
const values = ['', '1', '-1', '300', '1.5', 'text', 'a', 'b', '2026-01-31', '2026-01-31 12:00:00', '[1,2]', "['x']"]
const moreValues = [
  '{}',
  'true',
  '127.0.0.1',
  '99999999999999999999',
  '61f0c404-5cb3-11e7-907b-a6006ad3dba0',
  'two\nlines',
  'a,b',
]

function rowText(format: ObjectFormat, columns: EngineColumn[], random: Random): string {
  const cells = columns.map(() => random.pick([...values, ...values, ...moreValues]))
  const some = random.happens(0.1) ? cells.slice(1) : cells
  if (format === 'CSV')
    return some.map((cell) => (/[\n,]/.test(cell) || random.happens(0.3) ? `"${cell}"` : cell)).join(',')
  if (format === 'TabSeparated') return some.map((cell) => cell.replaceAll('\n', '\\n')).join('\t')
  const members = some.map((cell, index): [string, unknown] => [columns[index]!.name, jsonOf(cell, random)])
  return JSON.stringify(Object.fromEntries(members), undefined, random.pick([0, 0, 1]))
}

function jsonOf(cell: string, random: Random): unknown {
  if (random.happens(0.1)) return null
  const isPlain = /^(?:-?\d{1,9}(?:\.\d+)?|\[[\d,]*\]|\{\}|true)$/.test(cell)
  return isPlain && random.happens(0.7) ? JSON.parse(cell) : cell
}

function partsOf(format: ObjectFormat, columns: EngineColumn[]): EncoderParts {
  return {
    kind: 'objectStorage',
    source: { format, compression: 'auto' },
    destination: { columns },
    fieldMappings: [],
    openRegistry: () => undefined,
  }
}

async function rowsOfText(parts: EncoderParts, text: string): Promise<Rows> {
  const object = { key: 'files/1', sizeBytes: text.length, open: async () => Readable.from([Buffer.from(text)]) }
  const encoder = makeObjectEncoder(parts)
  return encoder.piece(object, { partition: 'objects', beginByte: 0, endByte: null, signal: never })
}

/** Undefined if the engine cannot report skipped rows. */
async function foundIn(
  rows: Rows,
  search: Parameters<typeof findSkipped>[2],
): Promise<{ found: number[] | undefined }> {
  const skipped = findSkipped(rows, [], search)
  const found: number[] = []
  let step = await skipped.next()
  for (; !step.done; step = await skipped.next()) found.push(...step.value.map(({ index }) => index))
  return { found: step.value ? found : undefined }
}

describeOnEngines('rejected rows', (world) => {
  /** One statement per thousand stored rows, and those that find the bad rows. On old engines, an insert takes several. */
  const mostStatements = world.isOld ? 30 : 10
  let tables = 0

  /** `spoil` makes about one row per thousand, the one with id 7, a bad row. */
  async function load(
    format: (typeof formats)[number],
    badCount: number,
    {
      spoil = (id: number): number | string => `no ${id}`,
      isExplained = "reason LIKE '%is not a number%of type UInt32%'",
      constraint = '',
    } = {},
  ): Promise<{ statements: number; ms: number }> {
    const table = `skipped_${++tables}`
    if (constraint !== '') {
      await world.engine.query(
        `CREATE TABLE pipes.${table} (id UInt32, name String, \`odd, name\` UInt64 MATERIALIZED id * 2, ` +
          `CONSTRAINT \`the \\\`first\\\`, of them\` CHECK id != 4000000000, CONSTRAINT small ${constraint}, INDEX i id TYPE minmax) ` +
          'ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000',
      )
    }
    const files = new MemoryFiles()
    const isBad = (id: number): boolean => badCount > 0 && id % (rowCount / badCount) === 7
    const lines = Array.from({ length: rowCount }, (_, id) => lineOf[format](isBad(id) ? spoil(id) : id))
    files.put('files/1', Buffer.from(`${lines.join('\n')}\n`))
    const engine = { access: world.accessBy(world.engine.port), query: (sql: string) => world.engine.query(sql) }
    const pipe = openFilePipe(engine, { table, format, columns, files })
    const begunMs = performance.now()
    assert.deepEqual(await pipe.newWorker().run(), { end: 'completed' })
    const ms = performance.now() - begunMs
    const answer = await engine.query(`SELECT count(), sum(id), countIf(name = '') FROM pipes.${table}`)
    const good = Array.from({ length: rowCount }, (_, id) => id).filter((id) => !isBad(id))
    const sum = good.reduce((total, id) => total + id, 0)
    assert.equal(answer, `${good.length}\t${sum}\t0\n`)
    const { rowsRefused, rowsWritten } = pipe.store.counters
    assert.deepEqual([rowsRefused, rowsWritten], [badCount, good.length])
    if (badCount > 0) {
      const kept = `SELECT count(), countIf(${isExplained}) FROM pipes.${table}_penstock_errors`
      assert.equal(await engine.query(kept), `${badCount}\t${badCount}\n`)
    }
    const statements = await world.engine.listQueries(table)
    return { statements: statements.length, ms }
  }

  it('are the same that the engine rejects one by one, whatever their types', async () => {
    const seed = Number(process.env.PENSTOCK_DRILL_SEED ?? 7)
    const random = makeRandom(seed)
    const typed = world.isOld ? oldTypes : [...oldTypes, ...newTypes]
    for (const format of formats) {
      const columns = random
        .shuffle(typed)
        .slice(0, 4)
        .map((type, index) => ({ name: `c${index}`, type }))
      const table = world.newTable({ columns, definition: { engine: { type: 'MergeTree' }, sortingKey: [] } })
      const texts = Array.from({ length: 40 }, () => rowText(format, columns, random))
      const rows = await rowsOfText(partsOf(format, columns), `${texts.join('\n')}\n`)
      await world.withSink(table, async (sink) => {
        const insertOf = (sent: Rows, token: string): Insert =>
          insertWith(token, Buffer.alloc(0), { ...sent.shape, body: () => sent.body() })
        const tryOut = (part: Rows) => sink.tryOut(insertOf(part, 'one'), never)
        const search = { sink, tryOut, token: 'all', settings: shape.settings, signal: never }
        const { found } = await foundIn(rows, search)
        const rejected: number[] = []
        for (let index = 0; index < rows.count; index++) {
          if ((await tryOut(rows.only(index, index + 1))) !== undefined) rejected.push(index)
        }
        const what = `seed ${seed}, ${format}, ${columns.map(({ type }) => type)}`
        const wrong = found?.filter((index) => !rejected.includes(index)).map((index) => texts[index])
        assert.deepEqual(wrong, [], what)
        if (!world.isOld) assert.deepEqual(found, rejected, what)
      })
    }
  })

  for (const format of formats) {
    it(`are found in a few statements, in ${format}`, async (test) => {
      const none = await load(format, 0)
      for (const badCount of [100, 2_000]) {
        const some = await load(format, badCount)
        const extra = some.statements - none.statements
        test.diagnostic(
          `${badCount} of ${rowCount} rejected: ${extra} more statements than ${none.statements}, ` +
            `${Math.round(some.ms)} ms in place of ${Math.round(none.ms)} ms`,
        )
        assert.ok(extra <= mostStatements, `${extra} more statements`)
      }
    })
  }

  it('that violate a constraint are found in a few statements', { skip: world.isOld }, async (test) => {
    for (const format of formats) {
      for (const badCount of [100, 2_000]) {
        const { statements, ms } = await load(format, badCount, {
          spoil: (id) => id + 3_000_000_000,
          isExplained: "reason LIKE 'it violates the constraint small: (`odd, name` < 1000000) OR (name = %'",
          constraint: "CHECK (`odd, name` < 1000000) OR (name = ',\n')",
        })
        test.diagnostic(`${badCount} of ${rowCount} in ${format}: ${statements} statements, ${Math.round(ms)} ms`)
        assert.ok(statements <= 60, `${statements} statements`)
      }
    }
  })

  for (const format of ['CSV', 'JSONEachRow'] as const) {
    it(`are found in the largest batch, in ${format}`, async (test) => {
      // An old engine skips no row whose last field has an error.
      const columns = [
        { name: 'id', type: 'UInt32' },
        { name: 'n', type: 'UInt8' },
      ]
      const table = world.newTable({ columns, definition: { engine: { type: 'MergeTree' }, sortingKey: [] } })
      const count = 500_000
      const bad = 412_345
      const texts = Array.from({ length: count }, (_, id) => (format === 'CSV' ? `${id},1` : `{"id":${id}}`))
      texts[bad] = format === 'CSV' ? 'x,1' : '{"id":"no"}'
      const rows = await rowsOfText(partsOf(format, columns), `${texts.join('\n')}\n`)
      assert.equal(rows.count, count)
      await world.withSink(table, async (sink) => {
        const tryOut = (): never => assert.fail('asked for single rows')
        const begunMs = performance.now()
        const search = { sink, tryOut, token: 'largest', settings: shape.settings, signal: never }
        assert.deepEqual(await foundIn(rows, search), { found: [bad] })
        test.diagnostic(`${Math.round(performance.now() - begunMs)} ms`)
      })
      const statements = await world.engine.listQueries(table.table)
      // Each part has an insert, and a query for old engines and for the part with the bad row.
      assert.ok(statements.length <= 70, `${statements.length} statements`)
    })
  }
})
