import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { TestEngine } from '../../test/fakes/engine-front.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { Egress } from '../lib/egress.ts'
import { Secret } from '../lib/secret.ts'
import type { EngineAccess } from './check.ts'
import { type EngineClient, openEngineClient } from './client.ts'
import { EngineError } from './engine.ts'

const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })

function rowsOf(count: number, name = 'somebody'): Buffer[] {
  return Array.from({ length: count }, (_, id) => Buffer.from(`${JSON.stringify({ id, name })}\n`))
}

describe('the client of an engine', () => {
  const closing: (() => unknown)[] = []
  let engine: TestEngine
  let client: EngineClient
  let table: string
  let insertText: string

  const open = (access: Partial<EngineAccess> = {}): EngineClient => {
    const { host, port, username, password } = engine
    const all: EngineAccess = { protocol: 'http', host, port, username, password: new Secret(password), ...access }
    const opened = openEngineClient(egress, all)
    closing.push(() => opened.close())
    return opened
  }

  before(async () => {
    engine = await openEmbeddedEngine()
    client = open()
    table = `${engine.database}.t`
    insertText = `INSERT INTO ${table} (id, name) FORMAT JSONEachRow`
    await client.query(`CREATE TABLE ${table} (id UInt64, name String) ENGINE = MergeTree ORDER BY id`)
  })
  after(async () => {
    for (const close of closing.toReversed()) await close()
    await engine.close()
  })

  async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<EngineClient> {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return open({ port: (server.address() as AddressInfo).port })
  }

  async function failureOf(work: Promise<unknown>): Promise<EngineError> {
    const error = await work.then(
      () => assert.fail('it should have failed'),
      (failure: unknown) => failure,
    )
    assert.ok(error instanceof EngineError, inspect(error))
    assert.ok(!inspect(error).includes(engine.password))
    return error
  }

  const countRows = async (): Promise<number> => Number(await client.query(`SELECT count() FROM ${table}`))

  const seenInserts = (): number => engine.queries.filter(({ query }) => query.startsWith('INSERT')).length

  /** Waits until the engine has read the body and stored what it stores of it. */
  const untilSeen = async (count: number): Promise<void> => {
    while (seenInserts() < count) await wait(5)
  }

  it('queries and inserts, always with a gzip body, with user and password in headers', async () => {
    const rows = await countRows()
    const sent = await client.send(insertText, rowsOf(3, 'jürgen'), { settings: { max_insert_block_size: 5 } })
    assert.deepEqual({ ...sent, sentBytes: 0 }, { writtenRows: 3, sentBytes: 0 })
    assert.ok(sent.sentBytes > 20)
    assert.equal(await countRows(), rows + 3)
    assert.equal(await client.query(`SELECT name FROM ${table} WHERE name = 'jürgen' LIMIT 1`), 'jürgen\n')
    const asked = engine.queries.find(({ query }) => query.startsWith('INSERT'))!
    assert.deepEqual(asked.settings, { max_insert_block_size: '5' })
    for (const { headers } of engine.queries) {
      assert.equal(headers['content-encoding'], 'gzip')
      assert.equal(headers['x-clickhouse-user'], engine.username)
    }
  })

  it('sends bodies of every shape: nothing, many small chunks, chunks that are larger than a buffer, a stream', async () => {
    for (const body of [
      [],
      [Buffer.alloc(0)],
      rowsOf(20_000),
      [Buffer.concat(rowsOf(20_000))],
      Readable.from(rowsOf(20_000)),
    ]) {
      const rows = await countRows()
      const count = Array.isArray(body) && body.length < 2 && (body[0]?.length ?? 0) === 0 ? 0 : 20_000
      const { writtenRows } = await client.send(insertText, body)
      assert.equal(writtenRows, count)
      assert.equal(await countRows(), rows + count)
    }
  })

  it('sends a statement of any length, with two thousand columns', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `column ${index} ${'x'.repeat(200)}`)
    await client.query(
      `CREATE TABLE ${engine.database}.wide (${names.map((name) => `\`${name}\` String`).join(', ')}) ENGINE = MergeTree ORDER BY tuple()`,
    )
    const text = `INSERT INTO ${engine.database}.wide (${names.map((name) => `\`${name}\``).join(', ')}) FORMAT TabSeparated`
    // The first row begins with what a parser of statements would skip.
    await client.send(text, [Buffer.from(`${'\t'.repeat(1_999)}\n${'x\t'.repeat(1_999)}y\n`)])
    const [first, second] = await engine.rows('wide')
    assert.deepEqual([first![names[0]!], first![names[1_999]!]], ['', ''])
    assert.deepEqual([second![names[0]!], second![names[1_999]!]], ['x', 'y'])
  })

  it('leaves nothing behind when it is aborted in the middle of a body', async () => {
    const rows = await countRows()
    const seen = seenInserts()
    const [stop, ended] = [new AbortController(), new AbortController()]
    const body = Readable.from(
      (async function* () {
        // More than fits into the buffers on the way.
        for (let chunk = 0; chunk < 8; chunk++) yield Buffer.concat(rowsOf(10_000))
        await wait(50)
        stop.abort()
        // Like a source that waits for more.
        await wait(1_000, undefined, { signal: ended.signal })
      })(),
      { objectMode: false },
    )
    const failure = await failureOf(client.send(insertText, body, { signal: stop.signal }))
    assert.equal(failure.kind, 'passing')
    assert.ok(body.destroyed)
    ended.abort()
    await untilSeen(seen + 1)
    assert.equal(await countRows(), rows)
  })

  it('rejects with the error of a body that breaks off, and leaves nothing behind', async () => {
    const rows = await countRows()
    const seen = seenInserts()
    const broken = new Error('the source broke off')
    function* body(): Generator<Uint8Array> {
      for (let chunk = 0; chunk < 8; chunk++) yield Buffer.concat(rowsOf(10_000))
      throw broken
    }
    await assert.rejects(client.send(insertText, body()), (error) => error === broken)
    const stream = Readable.from(rowsOf(3))
    stream.destroy(broken)
    await assert.rejects(client.send(insertText, stream), (error) => error === broken)
    await untilSeen(seen + 1)
    assert.equal(await countRows(), rows)
  })

  it('keeps one connection for statements that follow each other, and makes a new one after the engine came back', async () => {
    const ports = new Set<number | undefined>()
    const counting = await serve((request, response) => {
      ports.add(request.socket.remotePort)
      request.resume().on('end', () => response.end('1\n'))
    })
    for (let times = 0; times < 5; times++) assert.equal(await counting.query('SELECT 1'), '1\n')
    assert.equal(ports.size, 1)
    await client.query('SELECT 1')
    await engine.restart()
    // Waits until the end of the old connection is noticed, also on a slow machine.
    await wait(50)
    await nextTurn()
    assert.equal(await client.query('SELECT 1'), '1\n')
  })

  it('reports a lost answer as passing: the rows may have been inserted', async () => {
    const rows = await countRows()
    engine.cutNext()
    const failure = await failureOf(client.send(insertText, rowsOf(2)))
    assert.equal(failure.kind, 'passing')
    assert.equal(failure.message, `the connection with the engine at 127.0.0.1:${engine.port} broke off`)
    assert.equal(await countRows(), rows + 2)
  })

  it('finds errors wherever the engine puts them', async () => {
    const late = 'Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.5.1.882)\n'
    const cases: [number, Record<string, string>, string][] = [
      [500, { 'x-clickhouse-exception-code': '241' }, 'something'],
      [200, { 'x-clickhouse-exception-code': '241' }, 'something'],
      [500, {}, late],
      [500, {}, 'Code: 241, e.displayText() = DB::Exception: Memory limit exceeded, e.what() = DB::Exception'],
      [200, {}, late],
      [200, {}, `1\n2\n${late}`],
      [200, {}, `1\n2\n__exception__\r\nabcdefghijklmnop\r\n${late}85 abcdefghijklmnop\r\n__exception__\r\n`],
    ]
    for (const [status, headers, text] of cases) {
      const failing = await serve((request, response) => {
        request.resume().on('end', () => response.writeHead(status, headers).end(text))
      })
      for (const work of [failing.query('SELECT 1'), failing.send(insertText, rowsOf(1))]) {
        const { kind, message } = await failureOf(work)
        assert.deepEqual([kind, /\(its error 241\)$/.test(message)], ['passing', true], text)
      }
    }
    const fine = await serve((request, response) => {
      request.resume().on('end', () => response.end('it says: Code: 241. DB::Exception: no\n'))
    })
    assert.match(await fine.query('SELECT 1'), /it says/)
  })

  it('notices an engine that rejects before it has read the body', async () => {
    const early = await serve((request, response) => {
      request.once('data', () => {
        response.writeHead(404, { 'x-clickhouse-exception-code': '60' }).end('Code: 60. DB::Exception: no table')
        request.resume()
      })
    })
    const failure = await failureOf(early.send(insertText, endless(rowsOf(5_000))))
    assert.equal(failure.kind, 'user')
    assert.match(failure.message, /has no such table; .* \(its error 60\)$/)
  })

  function* endless(rows: Buffer[]): Generator<Buffer> {
    const chunk = Buffer.concat(rows)
    for (;;) yield chunk
  }

  it('keeps the text of the engine apart from its own message', async () => {
    const { message, detail, kind } = await failureOf(
      client.send(insertText, [Buffer.from('{"id": "canary-value"}\n')]),
    )
    assert.equal(kind, 'data')
    assert.equal(message, `the engine at 127.0.0.1:${engine.port} rejects some of the rows (its error 27)`)
    assert.match(detail, /^Code: 27\. DB::Exception: .*canary-value/)
    const long = await serve((request, response) => {
      request.resume().on('end', () => response.writeHead(500).end(`Code: 62. ${'x'.repeat(100_000)}`))
    })
    assert.equal((await failureOf(long.query('SELECT 1'))).detail.length, 2_000)
  })

  it('rejects when an engine times out, is gone, answers too much, or is not ClickHouse', async () => {
    const silent = await serve((request) => void request.resume())
    const addressOf = (of: EngineClient): string => `127.0.0.1:${of.access.port}`
    const late = await failureOf(silent.query('SELECT 1', { timeoutMs: 100 }))
    assert.deepEqual(
      [late.kind, late.message],
      ['passing', `the engine at ${addressOf(silent)} did not answer in time`],
    )
    const talkative = await serve((request, response) => {
      request.resume().on('end', () => response.end('x'.repeat(11_000_000)))
    })
    const long = await failureOf(talkative.query('SELECT 1'))
    assert.deepEqual(
      [long.kind, long.message],
      ['passing', `what the engine at ${addressOf(talkative)} answers is too long`],
    )
    const proxy = await serve((request, response) => {
      request.resume().on('end', () => response.writeHead(502).end('<h1>Bad Gateway</h1>'))
    })
    const bad = await failureOf(proxy.query('SELECT 1'))
    assert.equal(bad.kind, 'passing')
    assert.match(bad.message, /is not ClickHouse over HTTP \(it answered with status 502\)$/)
    const listener = createTcpServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo
    listener.close()
    await once(listener, 'close')
    const gone = await failureOf(open({ port }).query('SELECT 1'))
    assert.deepEqual([gone.kind, gone.message], ['passing', `nothing accepts connections at 127.0.0.1:${port}`])
  })

  it('reports what only the user can change', async () => {
    const wrong = await failureOf(open({ password: new Secret('another') }).query('SELECT 1'))
    assert.equal(wrong.kind, 'user')
    assert.match(wrong.message, /refused the user name or the password; .* \(its error 516\)$/)
    const strict = openEngineClient(
      new Egress({ allowLoopback: false, allowPlaintext: true, deniedAddresses: [] }),
      client.access,
    )
    const denied = await failureOf(strict.query('SELECT 1'))
    strict.close()
    assert.equal(denied.kind, 'user')
    assert.match(denied.message, /is on the machine of Penstock itself/)
  })

  it('sends no password over http without the permission of the operator', async () => {
    const asked = engine.queries.length
    const strict = new Egress({ allowLoopback: true, deniedAddresses: [] })
    const guarded = openEngineClient(strict, client.access)
    for (const work of [guarded.query('SELECT 1'), guarded.send(insertText, rowsOf(1))]) {
      const denied = await failureOf(work)
      assert.equal(denied.kind, 'user')
      assert.match(denied.message, /in the clear; use https in endpoint\.url, or .* PENSTOCK_ALLOW_PLAINTEXT=true$/)
    }
    guarded.close()
    assert.equal(engine.queries.length, asked)
    const without = openEngineClient(strict, { ...client.access, password: new Secret('') })
    assert.match((await failureOf(without.query('SELECT 1'))).message, /refused the user name or the password/)
    without.close()
  })

  it('ends running requests when it is closed', async () => {
    const silent = await serve((request) => void request.resume())
    const asked = failureOf(silent.query('SELECT 1'))
    await wait(50)
    silent.close()
    assert.equal((await asked).kind, 'passing')
    assert.equal((await failureOf(silent.query('SELECT 1'))).kind, 'passing')
  })
})
