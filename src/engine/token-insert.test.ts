import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openEmbeddedEngine } from '../../test/embedded-engine.ts'
import type { TestEngine } from '../../test/engine-front.ts'
import { testedLibrary } from '../../test/shared-engine.ts'
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

/** Its files are in memory, without hard links: a mutation fails that leaves a part of the table as it is. */
const needsMutations = {
  skip: testedLibrary() === 'wasm' && 'the WebAssembly library cannot lose some rows of a table',
}
const needsPolicies = {
  skip: testedLibrary() === 'wasm' && 'the user of the WebAssembly library may not list row policies',
}

/** Of two months. */
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

describe('a token that was written down without its rows', () => {
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

  /** One after the other. */
  async function insert(...inserts: Insert[]): Promise<void> {
    await withSink(async (sink) => {
      for (const one of inserts) await sink.insert(one, never)
    })
  }

  async function withSink(use: (sink: Sink) => Promise<void>): Promise<void> {
    const { protocol, host, port, username, password } = engine
    const access = { protocol, host, port, username, password: new Secret(password) }
    const place = { pipeId: '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', slot: 0, epoch: ++epoch }
    const sink = await openSink(egress, access, { database: engine.database, table: name, columns }, place, {
      signal: never,
    })
    try {
      await use(sink)
    } finally {
      await sink.close()
    }
  }

  /** As when an engine has died before it had the rows: a mutation leaves the tokens. */
  const lose = (where: string) => engine.run(`ALTER TABLE ${name} DELETE WHERE ${where}`, { mutations_sync: '1' })
  const ids = async () => (await engine.rows(name)).map(({ id }) => Number(id))
  const again = (lines: string, more: Partial<Insert> = {}): Insert => insertOf('a', lines, { isRepeat: true, ...more })

  it('does not keep the batch out when it is repeated, however often', async () => {
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

  it('is made good in the partition that lacks its rows, and in no other', needsMutations, async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1, 2, 3])))
    await lose('modulo(id, 2) = 1')
    await insert(again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
  })

  it('is made good also when the second token has lost its rows as well', needsMutations, async () => {
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
      it(`is made good once when ${statement} was ${isLost ? 'lost' : 'done and not answered'}`, async () => {
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

  it('is made good once when two attempts do so at the same time', async () => {
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

  it('is told by most of the rows: some are like others that were there before', needsMutations, async () => {
    await create(managed)
    await insert(insertOf('before', linesOf([2, 3])), insertOf('a', linesOf([2, 4, 6, 8, 3, 5, 7])))
    // Those that are alike stay, whichever batch they are of.
    await lose('id > 3')
    await insert(again(linesOf([2, 4, 6, 8, 3, 5, 7])))
    assert.deepEqual(await ids(), [2, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8])
  })

  it('is not seen in a batch of which a few rows are gone', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([2, 4, 6, 8, 10])))
    await lose('id > 6')
    await insert(again(linesOf([2, 4, 6, 8, 10])))
    assert.deepEqual(await ids(), [2, 4, 6])
  })

  it('is told by the columns that a row is known by, or not at all', async () => {
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
    it(`is told in a ${definition}`, async () => {
      await create(`${definition} SETTINGS non_replicated_deduplication_window = 100, allow_nullable_key = 1`, odd)
      const lines = linesOf([1, 2, 3])
      await insert(insertOf('a', lines), again(lines), again(lines))
      assert.deepEqual(await ids(), [1, 2, 3])
      await lose('1')
      await insert(again(lines))
      assert.deepEqual(await ids(), [1, 2, 3])
    })
  }

  it('is told by what a ReplacingMergeTree leaves of a batch', needsMutations, async () => {
    await create('ReplacingMergeTree(id) ORDER BY day SETTINGS non_replicated_deduplication_window = 100')
    const lines = linesOf(Array.from({ length: 200 }, (_, index) => 1 + index))
    await insert(insertOf('a', lines))
    // As it leaves an insert.
    await lose('id < 199')
    await insert(again(lines))
    assert.deepEqual(await ids(), [199, 200])
  })

  it('is not told by what the engine puts in place of a NULL', async () => {
    await engine.run(
      `CREATE TABLE ${name} (id UInt64, day Date, note Nullable(String) DEFAULT 'made up') ENGINE = MergeTree ` +
        'ORDER BY (day, id) SETTINGS non_replicated_deduplication_window = 100',
    )
    await insert(insertOf('a', linesOf([1, 2, 3])))
    // As if another were made up now.
    await engine.run(`ALTER TABLE ${name} UPDATE note = 'made up before' WHERE 1`, { mutations_sync: '1' })
    await insert(again(linesOf([1, 2, 3])))
    assert.deepEqual(await ids(), [1, 2, 3])
  })

  it('is looked for only when a batch is repeated, and where such a thing can be', async () => {
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

  it('is believed by who may not look, or cannot, and the pipe goes on', async () => {
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

  it('is not looked for in a replicated table', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    // Which the embedded engine cannot have without a Keeper.
    engine.editNext({
      matching: /^SELECT engine, engine_full/,
      edit: (text) => text.replaceAll('"MergeTree', '"ReplicatedMergeTree'),
    })
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [])
  })

  it('is believed where policies may hide rows', needsPolicies, async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    const matching = /^SELECT count\(\) AS policies/
    // The embedded engine stores none.
    engine.editNext({ matching, edit: (text) => text.replace(/"policies":"?0"?/, '"policies":1') })
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [])
    const asked = engine.queries.filter(({ query }) => matching.test(query)).at(-1)!.query
    assert.ok(asked.includes(`WHERE database = '${engine.database}' AND table IN ('', '${name}')`), asked)
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [1])
  })

  it('is believed when the source cannot be read a second time', async () => {
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

  it('does not let a batch pass that the engine refuses when it is made good', async () => {
    await create(managed)
    await insert(insertOf('a', linesOf([1])))
    await lose('1')
    engine.failNext({ matching: /^INSERT INTO .* FROM .*_typed`/, code: 497, status: 403 })
    await assert.rejects(insert(again(linesOf([1]))), EngineError)
    await insert(again(linesOf([1])))
    assert.deepEqual(await ids(), [1])
  })

  it('is not taken for good when the engine has forgotten what was to be compared', async () => {
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
