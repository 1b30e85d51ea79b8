// ClickHouse for WebAssembly, which npm start uses where there is no native library; tested on any machine.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type SharedEngine, startEmbeddedProcess } from '../harness/shared-engine.ts'

describe('the WebAssembly library behind its HTTP interface', () => {
  let folder: string
  let engine: SharedEngine
  let kill: (() => Promise<void>) | undefined
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-wasm-'))
    ;({ engine, kill } = await startEmbeddedProcess(join(folder, 'engine'), 'wasm'))
  })
  after(async () => {
    await kill?.()
    rmSync(folder, { recursive: true, force: true })
  })

  interface Answer {
    status: number
    code: string | null
    text: string
    writtenRows: string
  }

  async function send(query: string, { method = 'POST', body = '', settings = {} } = {}): Promise<Answer> {
    const parameters = new URLSearchParams({ query, ...settings })
    const response = await fetch(`${engine.url}/?${parameters}`, {
      method,
      headers: {
        'x-clickhouse-user': engine.username,
        'x-clickhouse-key': engine.password,
        ...(body === '' ? {} : { 'content-encoding': 'gzip' }),
      },
      ...(body === '' ? {} : { body: gzipSync(body) }),
    })
    const code = response.headers.get('x-clickhouse-exception-code')
    const { written_rows: writtenRows } = JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}')
    return { status: response.status, code, text: await response.text(), writtenRows }
  }
  async function ask(query: string, options: Parameters<typeof send>[1] = {}): Promise<string> {
    const { status, text } = await send(query, options)
    assert.equal(status, 200, text)
    return text
  }
  const insert = (body: string, settings = {}) => ask('INSERT INTO events FORMAT JSONEachRow', { body, settings })

  it('stores inserts before and after a read-only query', async () => {
    await ask('CREATE TABLE events (id UInt64, note Nullable(String)) ENGINE = MergeTree ORDER BY id')
    await insert('{"id":1,"note":"first"}\n{"id":2}\n')
    assert.equal(await ask('SELECT id, note FROM events ORDER BY id', { method: 'GET' }), '1\tfirst\n2\t\\N\n')
    const refused = await send("INSERT INTO events VALUES (9, 'x')", { method: 'GET' })
    assert.deepEqual([refused.status, refused.code], [500, '164'], refused.text)
    // The setting of the refused request affected that request only.
    await insert('{"id":3}\n')
    assert.equal(await ask('SELECT count(), sum(id) FROM events'), '3\t6\n')
  })

  it('returns errors as ClickHouse does, and keeps serving', async () => {
    const missing = await send('SELECT 1 FROM nowhere')
    assert.deepEqual([missing.status, missing.code], [404, '60'], missing.text)
    const damaged = await send('INSERT INTO events FORMAT JSONEachRow', { body: '{"id":"many"}\n' })
    assert.equal(damaged.code, '27', damaged.text)
    assert.doesNotMatch(damaged.text, /penstock-rows/)
    assert.equal(await ask('SELECT count() FROM events'), '3\n')
  })

  it('reports the number of written rows', async () => {
    await ask('CREATE TABLE copies (id UInt64, note Nullable(String)) ENGINE = MergeTree ORDER BY id')
    const insertThree = 'INSERT INTO copies (id) FORMAT JSONEachRow'
    const sent = await send(insertThree, { body: '{"id":1}\n{"id":2}\n{"id":3}\n' })
    const mapped = await send("INSERT INTO copies (id) SELECT a FROM input('a UInt64') FORMAT CSV", { body: '4\n5\n' })
    const copied = await send('INSERT INTO copies SELECT * FROM events')
    assert.deepEqual([sent.writtenRows, mapped.writtenRows, copied.writtenRows], ['3', '2', '3'])
  })

  it('stores one of two inserts with the same token', async () => {
    await ask('ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 100')
    for (const _ of [1, 2]) await insert('{"id":4}\n', { insert_deduplication_token: 'one' })
    assert.equal(await ask('SELECT count() FROM events WHERE id = 4'), '1\n')
  })

  it('answers concurrent requests, each with its own settings', async () => {
    const answers = await Promise.all(
      [1, 2, 3, 4].map((threads) =>
        ask("SELECT getSetting('max_threads')", { settings: { max_threads: String(threads) } }),
      ),
    )
    assert.deepEqual(answers, ['1\n', '2\n', '3\n', '4\n'])
    await ask('DROP TABLE events SYNC')
    assert.equal(await ask('EXISTS TABLE events'), '0\n')
  })
})
