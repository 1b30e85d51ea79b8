import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { testedLibrary } from '../../test/harness/shared-engine.ts'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { EngineError, type Insert, type Sink } from './engine.ts'
import { openSink } from './sink.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
const never = new AbortController().signal
const columns = [
  { name: 'id', type: 'UInt64' },
  { name: 'day', type: 'Date' },
  { name: 'note', type: 'Nullable(String)' },
]

/** The WebAssembly library keeps files in memory, without hard links: a mutation that leaves a part unchanged fails. */
const needsMutations = {
  skip: testedLibrary() === 'wasm' && 'the WebAssembly library cannot lose some rows of a table',
}
const needsPolicies = {
  skip: testedLibrary() === 'wasm' && 'the user of the WebAssembly library may not list row policies',
}

/** Rows of two months. */
function linesOf(ids: number[], note = 'row'): string {
  return ids.map((id) => `${JSON.stringify({ id, day: `2026-0${1 + (id % 2)}-01`, note })}\n`).join('')
}

function insertOf(token: string, lines: string, more: Partial<Insert> = {}): Insert {
  return {
    token,
    format: 'JSONEachRow',
    fields: columns,
    columns: columns.map(({ name }) => ({ column: name, field: name })),
    body: () => [Buffer.from(lines)],
    isRepeat: false,
    settings: defaultSettings,
    ...more,
  }
}

const managed = 'MergeTree PARTITION BY toYYYYMM(day) ORDER BY id SETTINGS non_replicated_deduplication_window = 100'

describe('a token that was stored without its rows', () => {
  let engine: TestEngine
  let name = ''
  let tables = 0
  let epoch = 0

  before(async () => {
    engine = await openEmbeddedEngine()
  })
  after(() => engine.close())
  beforeEach(() => {
    name = `events_${++tables}`
  })

  async function create(definition: string, odd = ''): Promise<void> {
    await engine.run(`CREATE TABLE ${name} (id UInt64, day Date, note Nullable(String)${odd}) ENGINE = ${definition}`)
  }

  /** Inserts one after the other. */
  async function insert(...inserts: Insert[]): Promise<void> {
    await withSink(async (sink) => {
      for (const one of inserts) await sink.insert(one, never)
    })
  }

  async function withSink(use: (sink: Sink) => Promise<void>): Promise<void> {
    const { protocol, host, port, username, password } = engine
    const access = { protocol, host, port, username, password: new Secret(password) }
    const owner = { pipeId: '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', workerIndex: 0, epoch: ++epoch }
    const sink = await openSink(egress, access, { database: engine.database, table: name, columns }, owner, {
      signal: never,
    })
    try {
      await use(sink)
    } finally {
      await sink.close()
    }
  }

  /** Simulates an engine that died before it stored the rows: a mutation keeps the tokens. */
  const lose = (where: string) => engine.run(`ALTER TABLE ${name} DELETE WHERE ${where}`, { mutations_sync: '1' })
  const ids = async () => (await engine.rows(name)).map(({ id }) => Number(id))
  const again = (lines: string, more: Partial<Insert> = {}): Insert => insertOf('a', lines, { isRepeat: true, ...more })

  it('does not prevent a repeated batch, however often it is repeated', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1, 2, 3])))
    await lose('1')
    await insert(again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
    await insert(again(linesOf([1, 2, 3])), again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
    const left = (await engine.listTables()).filter((table) => table.startsWith(`${name}_`))
    assert.deepEqual(left, [])
  })

  it('is repaired in the partition that lacks its rows, and in no other', needsMutations, async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1, 2, 3])))
    await lose('modulo(id, 2) = 1')
    await insert(again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
  })

  it('is repaired also when the second token has lost its rows as well', needsMutations, async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1, 2, 3])))
    await lose('1')
    await insert(again(linesOf([1, 2, 3])))
    await lose('1')
    await insert(again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
  })

  for (const statement of [
    /^SELECT sorting_key/,
    /^SELECT name, type, default_kind, is_in_sorting_key/,
    /^SELECT count\(\) AS policies/,
    /^CREATE TABLE .*_typed` AS/,
    /^INSERT INTO .*_typed` .* FORMAT/,
    /^SELECT .* LIMIT \d+ BY/,
    /^SELECT DISTINCT .* IN \(/,
    /^INSERT INTO .* FROM .*_typed`/,
  ]) {
    for (const isLost of [true, false]) {
      it(`is repaired once when ${statement} was ${isLost ? 'lost' : 'done and not answered'}`, async () => {
        await create(managed)
        await insert(insertOf('a', linesOf([1, 2, 3])))
        await lose('1')
        engine.cutNext({ matching: statement, before: isLost })
        await assert.rejects(
          insert(again(linesOf([1, 2, 3]))),
          (error: unknown) => error instanceof EngineError && error.kind === 'passing',
        )
        await insert(again(linesOf([1, 2, 3])))
        assert.deepEqual(await ids(), [1, 2, 3])
      })
    }
  }

  it('is repaired once by two concurrent attempts', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1, 2, 3])))
    await lose('1')
    await withSink(async (sink) => {
      const repair = /^INSERT INTO .* FROM .*_typed`/
      engine.delayNext({ matching: repair, delayMs: 300 })
      const from = engine.queries.length
      const late = sink.insert(again(linesOf([1, 2, 3])), never)
      while (!engine.queries.slice(from).some(({ query }) => repair.test(query))) await new Promise(setImmediate)
      await sink.insert(again(linesOf([1, 2, 3])), never)
      assert.deepEqual(await ids(), [1, 2, 3])
      await late
    })
    assert.deepEqual(await ids(), [1, 2, 3])
  })

  it('is detected by most of the rows: some equal rows that were there before', needsMutations, async () => {
    await create(managed)
    await insert(insertOf('before', linesOf([2, 3])), insertOf('a', linesOf([2, 4, 6, 8, 3, 5, 7])))
    // Equal rows stay, whichever batch they belong to.
    await lose('id > 3')
    await insert(again(linesOf([2, 4, 6, 8, 3, 5, 7])))
    assert.deepEqual(await ids(), [2, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8])
  })

  it('is not assumed for a batch of which a few rows are gone', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([2, 4, 6, 8, 10])))
    await lose('id > 6')
    await insert(again(linesOf([2, 4, 6, 8, 10])))
    assert.deepEqual(await ids(), [2, 4, 6])
  })

  it('is detected by the identity columns, or not at all', async () => {
    await create(managed)
    const [earlier, later] = [linesOf([2, 4, 6], 'then'), linesOf([2, 4, 6], 'now')]
    await insert(insertOf('a', earlier), again(later, { identity: ['id'] }), again(later, { identity: 'none' }))
    assert.deepEqual(await ids(), [2, 4, 6])
    await lose('1')
    await insert(again(later, { identity: 'none' }))
    assert.deepEqual(await ids(), [])
    await insert(again(later, { identity: ['id'] }))
    assert.deepEqual(await ids(), [2, 4, 6])
  })

  for (const [definition, odd] of [
    ['MergeTree ORDER BY id', ''],
    ['MergeTree ORDER BY tuple()', ''],
    ['MergeTree ORDER BY (id, odd)', ', odd UInt64 DEFAULT length(note)'],
    ['MergeTree PARTITION BY (toYYYYMM(day), note) ORDER BY (day, id)', ''],
    ['ReplacingMergeTree(id) ORDER BY (id, day)', ''],
    ['ReplacingMergeTree(`id`, is_deleted) PARTITION BY toYYYYMM(day) ORDER BY (day, id)', ', is_deleted UInt8'],
  ] as const) {
    it(`is detected in a ${definition}`, async () => {
      await create(`${definition} SETTINGS non_replicated_deduplication_window = 100, allow_nullable_key = 1`, odd)
      const lines = linesOf([1, 2, 3])
      await insert(insertOf('a', lines), again(lines), again(lines))
      assert.deepEqual(await ids(), [1, 2, 3])
      await lose('1')
      await insert(again(lines))
      assert.deepEqual(await ids(), [1, 2, 3])
    })
  }

  it('is detected by the rows that a ReplacingMergeTree keeps of a batch', needsMutations, async () => {
    await create('ReplacingMergeTree(id) ORDER BY day SETTINGS non_replicated_deduplication_window = 100')
    const lines = linesOf(Array.from({ length: 200 }, (_, index) => 1 + index))
    await insert(insertOf('a', lines))
    // As after an insert.
    await lose('id < 199')
    await insert(again(lines))
    assert.deepEqual(await ids(), [199, 200])
  })

  it('is not detected by defaults that the engine inserts for NULL', async () => {
    await engine.run(
      `CREATE TABLE ${name} (id UInt64, day Date, note Nullable(String) DEFAULT 'made up') ENGINE = MergeTree ` +
        'ORDER BY (day, id) SETTINGS non_replicated_deduplication_window = 100',
    )
    await insert(insertOf('a', linesOf([1, 2, 3])))
    // As if the default had another value now.
    await engine.run(`ALTER TABLE ${name} UPDATE note = 'made up before' WHERE 1`, { mutations_sync: '1' })
    await insert(again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
  })

  it('is searched only for repeated batches, and in tables where it can exist', async () => {
    for (const [definition, isLookedFor] of [
      [managed, true],
      ['SummingMergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100', false],
      ['MergeTree ORDER BY id', false],
    ] as const) {
      name = `events_${++tables}`
      await create(definition)
      const looks = (): number => engine.queries.filter(({ query }) => query.startsWith('SELECT sorting_key')).length
      const from = looks()
      await insert(insertOf('a', linesOf([1])))
      assert.equal(looks(), from, definition)
      await insert(again(linesOf([1])))
      assert.equal(looks() - from, isLookedFor ? 1 : 0, definition)
    }
  })

  it('is trusted when rows cannot be read, and the pipe continues', async () => {
    await create(managed)
    const look = /^SELECT DISTINCT/
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    for (const trouble of [
      { matching: /^CREATE TABLE .*_typed`/, code: 497, status: 403 },
      { matching: look, code: 497, status: 403 },
      { matching: look, code: 158 },
      { matching: look, code: 159 },
      { matching: /^SELECT .* LIMIT \d+ BY/, code: 241 },
      { matching: /^INSERT INTO .*_typed` .* FORMAT/, code: 241 },
    ]) {
      engine.failNext(trouble)
      await insert(again(linesOf([1])))
      assert.deepEqual(await ids(), [])
    }
  })

  it('is not searched in a replicated table', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    // The embedded engine has no Keeper.
    engine.editNext({
      matching: /^SELECT engine, engine_full/,
      edit: (text) => text.replaceAll('"MergeTree', '"ReplicatedMergeTree'),
    })
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [])
  })

  it('is trusted where row policies may hide rows', needsPolicies, async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    const matching = /^SELECT count\(\) AS policies/
    // The embedded engine stores no policies.
    engine.editNext({ matching, edit: (text) => text.replace(/"policies":"?0"?/, '"policies":1') })
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [])
    const asked = engine.queries.filter(({ query }) => matching.test(query)).at(-1)!.query
    assert.ok(asked.includes(`WHERE database = '${engine.database}' AND table IN ('', '${name}')`), asked)
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [1])
  })

  it('is trusted when the source cannot be read a second time', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    let times = 0
    const body = (): Iterable<Buffer> => {
      times += 1
      if (times > 1) throw new Error('the file is gone')
      return [Buffer.from(linesOf([1]))]
    }
    await insert(again('', { body }))
    assert.deepEqual([times, await ids()], [2, []])
  })

  it('rejects when the engine rejects the repair', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    engine.failNext({ matching: /^INSERT INTO .* FROM .*_typed`/, code: 497, status: 403 })
    await assert.rejects(insert(again(linesOf([1]))), EngineError)
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [1])
  })

  it('rejects when the engine has lost the staged rows', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    engine.delayNext({ matching: /^INSERT INTO .*_typed` .* FORMAT/, delayMs: 300, after: true })
    const inserted = assert.rejects(
      insert(again(linesOf([1]))),
      (error: unknown) => error instanceof EngineError && error.kind === 'passing',
    )
    const findStaged = async () => (await engine.listTables()).find((table) => table.endsWith('_typed'))
    const isFilled = async (table = '') => table !== '' && (await engine.rows(table)).length > 0
    while (!(await isFilled(await findStaged()))) await wait(10)
    await engine.run(`TRUNCATE TABLE ${await findStaged()}`)
    await inserted
    assert.deepEqual(await ids(), [])
  })
})
