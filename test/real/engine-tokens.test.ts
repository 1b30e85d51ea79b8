// Current ClickHouse that has stored the deduplication token of a batch but not its rows, because it was killed or failed in
// between.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { EngineError, type EngineTable } from '../../src/engine/engine.ts'
import { debianProgram } from './servers/installed.ts'
import { insertOf, linesOf, never, SinkWorld } from './sink-world.ts'

describe('a batch whose token is stored and whose rows are not', { timeout: 180_000 }, () => {
  const world = new SinkWorld(false)
  before(() => world.start())
  after(() => world.stop())

  /** Applies `effect` to the rename system call by which the second insert into a table commits the part of a month. */
  async function meetRename({ table }: EngineTable, month: string, effect: string): Promise<ChildProcess> {
    const where = `database = 'pipes' AND name = '${table}'`
    const folder = (await world.engine.query(`SELECT data_paths[1] FROM system.tables WHERE ${where}`)).trim()
    // The blocks of the three months are numbered in any order.
    const parts = [4, 5, 6].flatMap((block) => ['-P', `${folder}tmp_insert_${month}_${block}_${block}_0/`])
    const command = ['-f', '-qq', '-o', '/dev/null', ...parts, '-e', 'trace=rename', '-e', `inject=rename:${effect}`]
    const { pid } = world.engine
    for (let attempt = 1; attempt <= 5; attempt++) {
      const strace = spawn(debianProgram('strace', '/usr/bin/strace'), [...command, '-p', String(pid)], {
        stdio: 'ignore',
      })
      if (await untilWatched(pid)) return strace
      await end(strace)
    }
    throw new Error('strace does not watch all threads of the engine')
  }

  /** A thread that starts while strace attaches is not traced. */
  async function untilWatched(pid: number): Promise<boolean> {
    const isWatched = (thread: string): boolean => {
      try {
        return /^TracerPid:\s*[1-9]/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
      } catch {
        // The thread has ended.
        return true
      }
    }
    const deadlineMs = Date.now() + 5_000
    while (Date.now() < deadlineMs) {
      if (readdirSync(`/proc/${pid}/task`).every(isWatched)) return true
      await wait(20)
    }
    return false
  }

  async function end(strace: ChildProcess): Promise<void> {
    if (strace.exitCode !== null || strace.signalCode !== null) return
    const ended = once(strace, 'exit')
    // On SIGTERM it may wait forever for a process that has just died.
    strace.kill('SIGKILL')
    await ended
  }

  const monthsOf = async ({ table }: EngineTable): Promise<string> =>
    (
      await world.engine.query(
        `SELECT toYYYYMM(day) AS month, count() FROM pipes.${table} GROUP BY month ORDER BY month FORMAT CSV`,
      )
    ).trim()

  for (const [what, effect] of [
    ['died in between', 'error=EIO:signal=KILL'],
    ['could not write on', 'error=EIO:when=1'],
  ] as const) {
    it(`is stored once when the engine ${what}`, async () => {
      const table = world.newTable()
      await world.withSink(table, (sink) => sink.insert(insertOf('before', linesOf(60)), never))
      assert.equal(await monthsOf(table), '202601,20\n202602,20\n202603,20')
      const strace = await meetRename(table, '202602', effect)
      try {
        await world.withSink(table, (sink) =>
          assert.rejects(sink.insert(insertOf('a', linesOf(600)), never), EngineError),
        )
      } finally {
        await end(strace)
      }
      if (effect.includes('KILL')) await world.engine.restart()
      assert.match(await monthsOf(table), /^202602,20$/m)
      // A plain insert with the token stores nothing.
      const plain = { insert_deduplication_token: 'a' }
      const select = `SELECT id, day, note FROM pipes.${table.table} WHERE toYYYYMM(day) = 202602`
      await world.engine.query(`INSERT INTO pipes.${table.table} (id, day, note) ${select}`, undefined, plain)
      assert.match(await monthsOf(table), /^202602,20$/m)
      for (let times = 0; times < 2; times++) {
        await world.withSink(table, (sink) => sink.insert(insertOf('a', linesOf(600), { isRepeat: true }), never))
        assert.equal(await monthsOf(table), '202601,220\n202602,220\n202603,220')
      }
    })
  }

  it('is identified by its rows, whatever their types', async () => {
    const values = {
      id: null,
      text: null,
      short: 'a',
      list: [1, null],
      pairs: { a: 1 },
      price: '12.50',
      at: '2026-02-03 04:05:06.789',
      part: 'nan',
      doc: { a: { b: 1 } },
      kind: 'two',
      uuid: '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      address: '10.0.0.1',
      two: [1, 'x'],
      code: 'ab',
    }
    const types = {
      id: 'Nullable(UInt64)',
      text: 'Nullable(String)',
      short: 'LowCardinality(String)',
      list: 'Array(Nullable(Int32))',
      pairs: 'Map(String, UInt8)',
      price: 'Decimal(18, 2)',
      at: "DateTime64(3, 'UTC')",
      part: 'Float64',
      doc: 'JSON',
      kind: "Enum8('one' = 1, 'two' = 2)",
      uuid: 'UUID',
      address: 'IPv4',
      two: 'Tuple(UInt8, String)',
      code: 'FixedString(4)',
    }
    const fields = Object.entries(types).map(([name, type]) => ({ name, type }))
    // NULL in every key.
    const rows = ['a', 'b', 'c'].map((code) => `${JSON.stringify({ ...values, code })}\n`)
    const shape = { fields, columns: fields.map(({ name }) => ({ column: name, field: name })) }
    for (const key of ['tuple()', 'id', '(kind, id)', '(toDate(at), id, short)']) {
      const { definition: _definition, ...table } = world.newTable({ columns: fields })
      const name = `pipes.${table.table}`
      const definitions = fields.map((field) => `${field.name} ${field.type}`).join(', ')
      await world.engine.query(
        `CREATE TABLE ${name} (${definitions}, filled DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY ${key} ` +
          'SETTINGS non_replicated_deduplication_window = 100, allow_nullable_key = 1',
      )
      await world.withSink(table, async (sink) => {
        const insert = insertOf('a', Buffer.from(rows.join('')), shape)
        await sink.insert(insert, never)
        await sink.insert({ ...insert, isRepeat: true }, never)
        assert.equal(await world.count(table), 3, key)
        await world.engine.query(`ALTER TABLE ${name} DELETE WHERE 1`, undefined, { mutations_sync: '1' })
        assert.equal(await world.count(table), 0, key)
        await sink.insert({ ...insert, isRepeat: true }, never)
        assert.equal(await world.count(table), 3, key)
      })
    }
  })

  it('is identified by the remaining rows of a key', async () => {
    const columns = ['id', 'version'].map((name) => ({ name, type: 'UInt64' }))
    const engine = { type: 'ReplacingMergeTree' as const, versionColumnId: 'version' }
    const shape = { fields: columns, columns: columns.map(({ name }) => ({ column: name, field: name })) }
    for (const partitionBy of [undefined, 'modulo(id, 3)']) {
      const definition = { engine, sortingKey: ['id'], ...(partitionBy ? { partitionBy } : {}) }
      const table = world.newTable({ columns, definition })
      const rows = Array.from({ length: 3_000 }, (_, version) => `{"id":${version % 10},"version":${version}}\n`)
      await world.withSink(table, async (sink) => {
        const insert = insertOf('a', Buffer.from(rows.join('')), shape)
        await sink.insert(insert, never)
        await sink.insert({ ...insert, isRepeat: true }, never)
        assert.equal(await world.count(table), 10)
        await world.engine.query(`ALTER TABLE pipes.${table.table} DELETE WHERE 1`, undefined, { mutations_sync: '1' })
        for (let times = 0; times < 2; times++) await sink.insert({ ...insert, isRepeat: true }, never)
        assert.equal(await world.count(table), 10)
      })
    }
  })

  it('is identified when the engine fills columns with varying defaults', async () => {
    const { definition: _definition, ...table } = world.newTable()
    await world.engine.query(
      `CREATE TABLE pipes.${table.table} (id UInt64, day Date, note String DEFAULT toString(generateUUIDv4()), ` +
        'at DateTime64(9) DEFAULT now64(9)) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (id, note, at) ' +
        'SETTINGS non_replicated_deduplication_window = 100',
    )
    const body = Buffer.from('{"id":1,"day":"2026-01-01","note":null}\n{"id":2,"day":"2026-02-01"}\n')
    await world.withSink(table, async (sink) => {
      await sink.insert(insertOf('a', body), never)
      await sink.insert(insertOf('a', body, { isRepeat: true }), never)
      assert.equal(await world.count(table), 2)
      const lose = `ALTER TABLE pipes.${table.table} DELETE WHERE id = 2`
      await world.engine.query(lose, undefined, { mutations_sync: '1' })
      for (let times = 0; times < 2; times++) await sink.insert(insertOf('a', body, { isRepeat: true }), never)
      assert.equal(await world.count(table), 2)
    })
  })

  it('is completed once by two concurrent workers', async () => {
    const table = world.newTable()
    const lose = (): Promise<string> =>
      world.engine.query(`ALTER TABLE pipes.${table.table} DELETE WHERE 1`, undefined, { mutations_sync: '1' })
    await world.withSink(table, async (sink) => {
      for (let times = 0; times < 2; times++) {
        const tokens = [insertOf(`b${times}`, linesOf(60)), insertOf(`b${times}`, linesOf(60), { isRepeat: true })]
        await Promise.all(tokens.map((one) => sink.insert(one, never)))
        assert.equal(await world.count(table), 60)
        await lose()
        const again = insertOf(`b${times}`, linesOf(60), { isRepeat: true })
        await Promise.all([1, 2, 3].map(() => sink.insert(again, never)))
        assert.equal(await world.count(table), 60)
        await lose()
      }
    })
  })
})
