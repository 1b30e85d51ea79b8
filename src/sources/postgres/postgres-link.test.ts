import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { strictEgress } from '../../../test/sources/conformance.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { type LinkChange, linkTo } from '../../../test/sources/postgres-links.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { PostgresError, type PostgresLink } from './postgres-link.ts'

describe('a link to PostgreSQL', () => {
  let server: EmbeddedPostgres
  const opened: PostgresLink[] = []

  before(async () => {
    server = await startEmbedded()
    await server.query(`
      CREATE ROLE plain LOGIN PASSWORD 'plain sesame';
      CREATE ROLE hurried LOGIN PASSWORD 'plain sesame';
      ALTER ROLE hurried SET statement_timeout = 50;
      CREATE TABLE public.numbers AS
        SELECT n AS id, (n::bigint * n) % 1000003 AS value, CASE WHEN n % 3 = 0 THEN NULL ELSE E'tab\\t' || n END AS note
        FROM generate_series(1, 300000) n`)
  })
  after(async () => {
    for (const link of opened) await link.close()
    await server.stop()
  })

  async function open(change: LinkChange = {}): Promise<PostgresLink> {
    const link = await linkTo(server, change)
    opened.push(link)
    return link
  }

  async function refused(change: LinkChange): Promise<ProbeFailure> {
    const error = await linkTo(server, change).then(
      () => assert.fail('it should not have opened'),
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof ProbeFailure, String(error))
    return error
  }

  async function copied(link: PostgresLink, text: string): Promise<Buffer[]> {
    const pieces: Buffer[] = []
    for await (const piece of link.copyOut(text)) pieces.push(piece)
    return pieces
  }

  it('reports errors that the user must fix', async () => {
    const wrong = await refused({ password: 'not the password' })
    assert.equal(wrong.code, 'credentials_refused')
    assert.doesNotMatch(`${wrong.reason} ${wrong.remedy} ${wrong.stack}`, /not the password/)
    assert.equal((await refused({ password: '' })).code, 'credentials_refused')
    assert.equal((await refused({ database: 'nowhere' })).code, 'not_found')
    assert.equal((await refused({ context: { caCertificates: undefined } })).code, 'certificate_untrusted')
    assert.equal((await refused({ egress: strictEgress })).code, 'address_denied')
    const plain = { username: 'plain', password: 'plain sesame' }
    const mayNot = await refused({ ...plain, isReplication: true })
    assert.equal(mayNot.code, 'permission_missing')
    assert.match(mayNot.remedy, /REPLICATION/)
  })

  it('is not connected where nobody listens', async () => {
    await assert.rejects(linkTo({ ...server, port: 1 }), NotConnected)
    await assert.rejects(linkTo(server, { signal: AbortSignal.abort() }), NotConnected)
  })

  it('answers with texts and nulls, in a session with settings of its own', async () => {
    const link = await open()
    assert.deepEqual(await link.query(`SELECT 1, NULL, 'é', '\\xff'::bytea, 0.1::float4, date '2020-01-02', true`), [
      ['1', null, 'é', '\\xff', '0.1', '2020-01-02', 't'],
    ])
    const names = ['search_path', 'TimeZone', 'lock_timeout', 'statement_timeout', 'client_encoding']
    const shown = names.map((name) => `current_setting('${name}')`).join(', ')
    assert.deepEqual(await link.query(`SELECT ${shown}`), [['', 'UTC', '2s', '0', 'UTF8']])
    assert.deepEqual(await link.query(`SELECT FROM generate_series(1, 2)`), [[], []])
    assert.deepEqual(await link.query(''), [])
    assert.deepEqual(await link.query('SELECT 1; SELECT 2; SET extra_float_digits = 3'), [['2']])
  })

  it('ignores timeouts set for the role', async () => {
    const link = await open({ username: 'hurried', password: 'plain sesame' })
    assert.deepEqual(await link.query('SELECT pg_sleep(0.2)'), [['']])
  })

  it('rejects with the code of an error, and goes on', async () => {
    const link = await open()
    await assert.rejects(link.query('SELECT * FROM nowhere'), (error) => {
      assert.ok(error instanceof PostgresError)
      assert.equal(error.code, '42P01')
      assert.doesNotMatch(error.message, /nowhere/)
      return true
    })
    await assert.rejects(link.query('SELECT 1; SELECT 1 / 0'), { code: '22012' })
    await assert.rejects(copied(link, 'COPY nowhere TO STDOUT'), { code: '42P01' })
    await assert.rejects(copied(link, 'COPY (SELECT 1 / (5000 - n) FROM generate_series(1, 9999) n) TO STDOUT'), {
      code: '22012',
    })
    assert.deepEqual(await link.query('SELECT 1'), [['1']])
    assert.ok(link.isOpen)
  })

  it('asks one thing at a time', async () => {
    const link = await open()
    const first = link.query('SELECT pg_sleep(0.1)')
    await assert.rejects(link.query('SELECT 1'), /busy/)
    assert.deepEqual(await first, [['']])
  })

  it('copies a table in pieces that end where lines end', async () => {
    const link = await open()
    const pieces = await copied(link, 'COPY (SELECT * FROM public.numbers ORDER BY id) TO STDOUT')
    const expected = createHash('sha256')
    for (let id = 1; id <= 300_000; id++) {
      expected.update(`${id}\t${(id * id) % 1_000_003}\t${id % 3 === 0 ? '\\N' : `tab\\t${id}`}\n`)
    }
    const found = createHash('sha256')
    for (const piece of pieces) {
      assert.ok(piece.length <= 256 * 1024, `a piece of ${piece.length} bytes`)
      assert.equal(piece.at(-1), 0x0a)
      found.update(piece)
    }
    assert.equal(found.digest('hex'), expected.digest('hex'))
    assert.ok(pieces.length < 40, `${pieces.length} pieces`)
    assert.deepEqual(await copied(link, 'COPY (SELECT 1 WHERE false) TO STDOUT'), [])
    assert.deepEqual(await link.query('SELECT 1'), [['1']])
  })

  it('copies lines that are longer than a piece', async () => {
    const link = await open()
    const pieces = await copied(link, `COPY (SELECT repeat('x', n) FROM unnest('{3,3000000,5}'::int[]) n) TO STDOUT`)
    assert.deepEqual(
      pieces.map(({ length }) => length),
      [4, 3_000_001, 6],
    )
  })

  it('lets the server wait while no piece is taken', async () => {
    const link = await open()
    const sizeBytes = 200_000 * 1_001
    const beforeBytes = process.memoryUsage().arrayBuffers
    let copiedBytes = 0
    let waits: unknown
    for await (const piece of link.copyOut(
      `COPY (SELECT repeat('x', 1000) FROM generate_series(1, 200000)) TO STDOUT`,
    )) {
      if (copiedBytes === 0) {
        await sleep(300)
        for (let looks = 0; waits !== 'ClientWrite' && looks < 200; looks++) {
          const rows = await server.query(
            `SELECT wait_event FROM pg_stat_activity WHERE query LIKE 'COPY (SELECT repeat%' AND state = 'active'`,
          )
          waits = rows[0]?.wait_event
          if (waits !== 'ClientWrite') await sleep(50)
        }
        const heldBytes = process.memoryUsage().arrayBuffers - beforeBytes
        assert.ok(heldBytes < 8_000_000, `${heldBytes} bytes are held`)
      }
      copiedBytes += piece.length
    }
    assert.equal(waits, 'ClientWrite')
    assert.equal(copiedBytes, sizeBytes)
  })

  it('is closed when a copy is not read to its end', async () => {
    const link = await open()
    for await (const _ of link.copyOut('COPY public.numbers TO STDOUT')) break
    assert.equal(link.isOpen, false)
    await assert.rejects(link.query('SELECT 1'), NotConnected)
    await link.close()
  })

  it('rejects an answer that exceeds its memory limit', async () => {
    const link = await open()
    await assert.rejects(link.query(`SELECT repeat('x', 10000) FROM generate_series(1, 4000)`), NotConnected)
    assert.equal(link.isOpen, false)
  })

  it('reports that its session was ended', async () => {
    const link = await open()
    const [[pid]] = (await link.query('SELECT pg_backend_pid()')) as [[string]]
    const asked = link.query('SELECT pg_sleep(10)')
    const rejected = assert.rejects(asked, { code: '57P01' })
    await sleep(50)
    await server.query(`SELECT pg_terminate_backend(${pid})`)
    await rejected
    await assert.rejects(link.query('SELECT 1'), NotConnected)
    assert.equal(link.isOpen, false)
  })

  it('detects that its session was ended between queries', async () => {
    const link = await open()
    const [[pid]] = (await link.query('SELECT pg_backend_pid()')) as [[string]]
    await server.query(`SELECT pg_terminate_backend(${pid})`)
    for (let waits = 0; link.isOpen && waits < 1_000; waits++) await sleep(10)
    assert.equal(link.isOpen, false)
  })

  it('is ended by its signal at any time', async () => {
    for (const work of [
      (link: PostgresLink) => link.query('SELECT pg_sleep(10)'),
      (link: PostgresLink) => copied(link, 'COPY (SELECT pg_sleep(10)) TO STDOUT'),
    ]) {
      const stop = new AbortController()
      const link = await open({ signal: stop.signal })
      const rejected = assert.rejects(work(link), NotConnected)
      await sleep(20)
      stop.abort()
      await rejected
      assert.equal(link.isOpen, false)
      await link.close()
    }
  })

  it('is ended by its signal also while no piece is taken', async () => {
    const stop = new AbortController()
    const link = await open({ signal: stop.signal })
    const pieces = link.copyOut(`COPY (SELECT repeat('x', 1000) FROM generate_series(1, 50000)) TO STDOUT`)
    const taken = pieces[Symbol.asyncIterator]()
    await taken.next()
    await sleep(100)
    stop.abort()
    for (let waits = 0; link.isOpen && waits < 1_000; waits++) await sleep(10)
    assert.equal(link.isOpen, false)
    await assert.rejects(taken.next(), NotConnected)
  })

  it('leaves no session behind when it is closed', async () => {
    const link = await open()
    const [[pid]] = (await link.query('SELECT pg_backend_pid()')) as [[string]]
    await link.close()
    await link.close()
    assert.deepEqual(await server.query(`SELECT FROM pg_stat_activity WHERE pid = ${pid}`), [])
  })
})
