// Verifies that the paper engine behaves like real ones, as far as tests rely on it (test/real/engines.test.ts).
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type PaperEngine, startPaperEngine } from './paper-engine.ts'

interface Sent {
  status: number
  text: string
  code: string | undefined
}

/** `cutAfter`: closes the connection after this many bytes of the body. Resolves to undefined without an answer. */
function send(
  engine: PaperEngine,
  query: string,
  body: Buffer | string,
  more: { settings?: Record<string, string>; cutAfter?: number; isPlain?: boolean; key?: string } = {},
): Promise<Sent | undefined> {
  const { settings = {}, cutAfter, isPlain = false, key = engine.password } = more
  const bytes = isPlain ? Buffer.from(body) : gzipSync(body)
  return new Promise((resolve) => {
    const sent = request(
      `${engine.url}/?${new URLSearchParams({ query, ...settings })}`,
      {
        method: 'POST',
        headers: {
          'x-clickhouse-user': engine.username,
          'x-clickhouse-key': key,
          'content-length': bytes.length,
          ...(isPlain ? {} : { 'content-encoding': 'gzip' }),
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode!, text, code: /^Code: (\d+)/.exec(text)?.[1] }))
      },
    )
    sent.on('error', () => resolve(undefined))
    if (cutAfter === undefined) sent.end(bytes)
    else sent.write(bytes.subarray(0, cutAfter), () => sent.destroy())
  })
}

const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, id) => `{"id":${id},"day":"2026-0${1 + (id % 3)}-01"}\n`).join('')
const insert = 'INSERT INTO t (id, day) FORMAT JSONEachRow'

describe('the paper engine', () => {
  let engine: PaperEngine
  before(async () => {
    engine = await startPaperEngine()
    await engine.run(
      'CREATE TABLE t (id UInt32, day Date, note String) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY id',
    )
  })
  after(() => engine.close())
  const countRows = async () => (await engine.rows('t')).length

  it('keeps the received rows of an interrupted plain body, and none of a compressed one', async () => {
    await send(engine, insert, rowsOf(1_000), { isPlain: true, cutAfter: 10_000 })
    while ((await countRows()) === 0) await wait(5)
    const count = await countRows()
    assert.ok(count > 100 && count < 1_000, String(count))
    const packed = gzipSync(rowsOf(1_000)).length
    for (const cutAfter of [10, packed - 8, packed - 1]) {
      const seen = engine.queries.length
      await send(engine, insert, rowsOf(1_000), { cutAfter })
      while (engine.queries.length === seen) await wait(5)
      assert.equal(await countRows(), count)
    }
  })

  it('ignores deduplication tokens', async () => {
    const refused = await send(engine, insert, rowsOf(6), { settings: { insert_deduplication_token: 'one' } })
    assert.deepEqual([refused?.status, refused?.code], [404, '115'])
    assert.match(refused?.text ?? '', /^Code: 115, e\.displayText\(\) = DB::Exception: /)
  })

  it('rejects the whole batch for one invalid row', async () => {
    await engine.run('TRUNCATE TABLE t')
    for (const [row, code] of [
      ['{"id":"x"}', '27'],
      ['{"id":1,"note":{"a":1}}', '26'],
      ['{"id":1,"day":"yesterday"}', '38'],
      ['{"id":1,"unknown":1}', '117'],
      ['{"id":1', '33'],
      ['not json', '27'],
    ]) {
      const refused = await send(engine, 'INSERT INTO t FORMAT JSONEachRow', `${rowsOf(3)}${row}\n`)
      assert.deepEqual([refused?.code, await countRows()], [code, 0], row)
    }
    const nulls = await send(engine, insert, '{"id":null}')
    assert.equal(nulls?.code, '26')
    assert.equal((await send(engine, insert, rowsOf(1), { key: 'wrong' }))?.code, '193')
  })

  it('reads delimited formats', async () => {
    await engine.run('TRUNCATE TABLE t')
    const settings = { format_csv_delimiter: ';' }
    await send(engine, 'INSERT INTO t (id, note) FORMAT CSV', '1;"x;""y"""\n2;\n', { settings })
    await send(engine, 'INSERT INTO t (id, note) FORMAT TabSeparated', '3\ta\\tb\\\\c\n')
    assert.deepEqual(
      (await engine.rows('t')).map(({ id, note }) => [id, note]),
      [
        [1, 'x;"y"'],
        [2, ''],
        [3, 'a\tb\\c'],
      ],
    )
    assert.equal(
      await engine.run('SELECT count(), max(id) FROM t WHERE id IN (SELECT id FROM t WHERE id > 1)'),
      '2\t3\n',
    )
  })

  it('fails, delays and disconnects once on demand', async () => {
    await engine.run('TRUNCATE TABLE t')
    engine.failNext({ code: 241 })
    assert.equal((await send(engine, insert, rowsOf(1)))?.code, '241')
    engine.failNext({ code: 241, after: true })
    assert.equal((await send(engine, insert, rowsOf(1)))?.code, '241')
    engine.cutNext()
    assert.equal(await send(engine, insert, rowsOf(1)), undefined)
    engine.cutNext({ before: true })
    assert.equal(await send(engine, insert, rowsOf(1)), undefined)
    assert.equal(await countRows(), 2)
    engine.delayNext({ delayMs: 100 })
    const startedAtMs = performance.now()
    assert.equal((await send(engine, insert, rowsOf(1)))?.status, 200)
    assert.ok(performance.now() - startedAtMs > 95)
    await engine.restart()
    assert.equal(await countRows(), 3)
  })
})
