// PostgreSQL values in real engines (ClickHouse 18.16 and current): COPY and WAL must yield the same values, as documented at the
// head of src/runner/postgres/values.ts.
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { after, before, it } from 'node:test'
import type { EngineTable } from '../../src/engine/engine.ts'
import type { Rows } from '../../src/formats/encode/rows.ts'
import { defaultSettings } from '../../src/pipes/settings.ts'
import { makeChangeLines } from '../../src/runner/postgres/change-lines.ts'
import { lineRows, rewriteCopy, shapeOf } from '../../src/runner/postgres/line-rows.ts'
import type { ColumnValues } from '../../src/runner/postgres/scalar-values.ts'
import { columnValues, type EngineAbilities } from '../../src/runner/postgres/values.ts'
import { decodeMessage, makeScratch, type Relation, type WalVisitor } from '../../src/sources/postgres/pgoutput.ts'
import { type FoundColumn, listColumns } from '../../src/sources/postgres/postgres-columns.ts'
import { openSession } from '../../src/sources/postgres/postgres-connection.ts'
import { loopbackEgress } from '../sources/conformance.ts'
import { type EmbeddedPostgres, startEmbedded } from '../sources/postgres-embedded.ts'
import { linkTo } from '../sources/postgres-links.ts'
import { describeOnEngines, never, type SinkWorld } from './sink-world.ts'
import { type ValueCase, valueCases, valueTypes } from './value-cases.ts'

const today: EngineAbilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }
const ofBefore: EngineAbilities = { hasBool: false, hasDate32: false, hasDateTime64: false, mostDecimalDigits: 38 }

interface Column {
  name: string
  values: ColumnValues
}

let server: EmbeddedPostgres
let found: FoundColumn[]
/** Insert messages of all rows of the table. */
let messages: Buffer[]

/** Each row has one value of each type, as far as there are values; the last row has only NULL. */
const rowCount = Math.max(...valueCases.map(({ values }) => values.length)) + 1

before(async () => {
  server = await startEmbedded()
  const definitions = valueCases.map(({ type }, index) => `c${index} ${type}`).join(', ')
  await server.query(`${valueTypes}
    CREATE TABLE public.everything (id int PRIMARY KEY, ${definitions});
    CREATE PUBLICATION everything FOR TABLE public.everything`)
  await server.query(`SELECT pg_create_logical_replication_slot('everything', 'pgoutput')`)
  const rows = Array.from({ length: rowCount }, (_, row) => {
    return `(${[row, ...valueCases.map(({ values }) => values[row]?.literal ?? 'NULL')].join(', ')})`
  })
  // One by one: in a list, the first literal would decide the type of the others.
  for (const row of rows) await server.query(`INSERT INTO public.everything VALUES ${row}`)
  found = await findColumns()
  messages = await readLog()
})

after(() => server?.stop())

async function findColumns(): Promise<FoundColumn[]> {
  const { host, port, ca, superuser } = server
  const session = await openSession(
    { host, port, database: 'postgres', ...superuser },
    { organizationId: 'organization', caCertificates: ca, allowPlaintext: false, awsEndpoints: {} },
    { egress: loopbackEgress, signal: never, maxRecords: 1, begin: () => undefined },
  )
  try {
    const [[id] = []] = await session.queryTexts(`SELECT 'public.everything'::regclass::oid`)
    return (await listColumns(session, [String(id)])).get(String(id)) ?? []
  } finally {
    await session.close()
  }
}

async function readLog(): Promise<Buffer[]> {
  const link = await linkTo(server, { isReplication: true })
  try {
    const wal = await link.startReplication({ slot: 'everything', publication: 'everything', from: 0n })
    const read: Buffer[] = []
    let commits = 0
    while (commits < rowCount) {
      const { bytes, count, starts, ends } = await wal.read({ maxBytes: 1e6, waitMs: 30_000, signal: never })
      assert.ok(count > 0, 'the log ends too early')
      for (let index = 0; index < count; index++) {
        const message = Buffer.from(bytes.subarray(starts[index], ends[index]))
        if (message[0] === 'C'.charCodeAt(0)) commits++
        read.push(message)
      }
    }
    return read
  } finally {
    await link.close()
  }
}

async function copyRows(columns: Column[]): Promise<Rows> {
  const link = await linkTo(server)
  try {
    const expressions = columns.map(({ name, values }) => values.expression(`"${name}"`))
    const chunks: Buffer[] = []
    const text = `COPY (SELECT ${expressions.join(', ')}, 7, 0 FROM public.everything ORDER BY id) TO STDOUT`
    for await (const chunk of link.copyOut(text)) chunks.push(rewriteCopy(columns, chunk))
    return lineRows({ shape: shapeOf(columns), chunks, partition: 'everything', position: String })
  } finally {
    await link.close()
  }
}

function changeRows(columns: Column[]): Rows {
  const nothing = (): void => undefined
  let relation: Relation | undefined
  const scratch = makeScratch()
  const visitor: WalVisitor = {
    ...{ begin: nothing, commit: nothing, truncate: nothing, update: nothing, delete: nothing, insert: nothing },
    relation(told) {
      relation = told
    },
  }
  for (const message of messages) decodeMessage(message, 0, message.length, visitor, scratch)
  assert.ok(relation)
  const lines = makeChangeLines(relation, columns, { keyColumns: ['id'] })
  const inserts = {
    ...visitor,
    relation: nothing,
    insert: (_id: number, row: typeof scratch.after) => lines.insert(row, 7n),
  }
  for (const message of messages) decodeMessage(message, 0, message.length, inserts, scratch)
  assert.equal(lines.incomplete.length, 0)
  return lineRows({ shape: shapeOf(columns), ...lines.take(), partition: 'everything', position: String })
}

/** Stored values, by row and column. */
async function store(world: SinkWorld, columns: Column[], rows: Rows): Promise<string[][]> {
  const table: EngineTable = world.newTable({
    columns: rows.shape.fields,
    definition: { engine: { type: 'MergeTree' }, sortingKey: ['id'] },
  })
  assert.deepEqual(rows.undecodable, [])
  await world.withSink(table, async (sink) => {
    const insert = { ...rows.shape, token: 'all', body: () => rows.body(), isRepeat: false, settings: defaultSettings }
    await sink.insert(insert, never)
    await sink.insert({ ...insert, isRepeat: true }, never)
  })
  const selected = columns.map(({ name }, index) => (valueCases[index - 1]?.selected ?? '#').replace('#', name))
  const stored = await world.engine.query(
    `SELECT ${selected.join(', ')} FROM pipes.${table.table} ORDER BY id FORMAT TabSeparated`,
  )
  return stored
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t'))
}

/** Default of a column that is not Nullable. */
function defaultOf(type: string, stored: string): string {
  if (type.startsWith('Array(')) return '[]'
  if (type === 'String') return ''
  if (type === 'Bool') return 'false'
  if (type === 'Date32') return '1970-01-01'
  if (type.startsWith('DateTime64')) return '1970-01-01 00:00:00.000000'
  if (type === 'UUID') return '00000000-0000-0000-0000-000000000000'
  // An engine prints a Decimal with all decimals, or with none.
  return type.startsWith('Decimal') && Number(stored) === 0 ? stored : '0'
}

function expectedOf({ values }: ValueCase, row: number, isOld: boolean): string {
  const value = values[row]
  if (!value) return '\\N'
  return (isOld ? value.expectedBefore : undefined) ?? value.expected ?? ''
}

describeOnEngines('values of PostgreSQL', (world) => {
  const storeBoth = async (allowNullableColumns: boolean): Promise<{ columns: Column[]; stored: string[][] }> => {
    const abilities = world.isOld ? ofBefore : today
    const columns = found.map(({ name, type, isNotNull }) => {
      const column = { name, type, isNotNull, isKey: name === 'id' }
      return { name, values: columnValues(column, { allowNullableColumns, abilities }) }
    })
    const copied = await store(world, columns, await copyRows(columns))
    const changed = await store(world, columns, changeRows(columns))
    assert.equal(copied.length, rowCount)
    for (const [row, fields] of copied.entries()) {
      for (const [index, field] of fields.entries()) {
        assert.equal(changed[row]![index], field, `${valueCases[index - 1]?.type}, row ${row}`)
      }
    }
    return { columns, stored: copied }
  }

  it('are the same from COPY and WAL, and NULL where they are NULL', async () => {
    const { columns, stored } = await storeBoth(true)
    for (const [index, one] of valueCases.entries()) {
      for (let row = 0; row < rowCount; row++) {
        const isArray = columns[index + 1]!.values.type.startsWith('Array(')
        const expected = one.values[row] || !isArray ? expectedOf(one, row, world.isOld) : '[]'
        assert.equal(stored[row]![index + 1], expected, `${one.type} ${one.values[row]?.literal.slice(0, 50)}`)
      }
    }
  })

  it('are the default in columns that are not Nullable', async () => {
    const { columns, stored } = await storeBoth(false)
    for (const [index, { type, values }] of valueCases.entries()) {
      const field = stored[values.length]![index + 1]!
      assert.equal(field, defaultOf(columns[index + 1]!.values.type, field), type)
    }
    const lists = valueCases.findIndex(({ type }) => type === 'integer[]')
    assert.equal(stored[0]![lists + 1], '[1,0,-3]')
  })

  it('are rejected row by row where the engine does not support the array', async () => {
    const type = {
      name: '_int4',
      isBuiltIn: true,
      modifier: -1,
      elements: { name: 'int4', isBuiltIn: true, modifier: -1 },
    }
    const column = { name: 'list', type, isNotNull: false, isKey: false }
    const options = { allowNullableColumns: true, abilities: world.isOld ? ofBefore : today }
    const columns = [{ name: 'list', values: columnValues(column, options) }]
    const chunk = rewriteCopy(columns, Buffer.from('{1}\t7\t0\n{{1},{2}}\t7\t0\n[0:1]={1,2}\t7\t0\n'))
    const rows = lineRows({ shape: shapeOf(columns), chunks: [chunk], partition: 'p', position: String })
    const table = world.newTable({ columns: rows.shape.fields, definition: { engine: { type: 'MergeTree' } } })
    await world.withSink(table, async (sink) => {
      const tryOut = (some: Rows): Promise<string | undefined> =>
        sink.tryOut(
          { ...some.shape, token: 'one', body: () => some.body(), isRepeat: false, settings: defaultSettings },
          never,
        )
      assert.equal(await tryOut(rows.only(0, 1)), undefined)
      assert.ok(await tryOut(rows.only(1, 2)))
      assert.ok(await tryOut(rows.only(2, 3)))
    })
  })
})
