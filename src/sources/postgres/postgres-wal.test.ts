// WAL streams of a real server.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EmbeddedPostgres, startEmbedded } from '../../../test/sources/postgres-embedded.ts'
import { type LinkChange, linkTo } from '../../../test/sources/postgres-links.ts'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { lsnText, type PostgresLink, parseLsn, type WalStream } from './postgres-link.ts'

/** Names that need correct quoting. */
const publication = `odd "name's, of two`
const slot = 'followed'

describe('the log of PostgreSQL', () => {
  let server: EmbeddedPostgres
  let links: PostgresLink[] = []
  const { signal } = new AbortController()

  before(async () => {
    server = await startEmbedded()
    await server.query(`
      CREATE TABLE public.followed (id int PRIMARY KEY, note text);
      CREATE TABLE public.other (id int);
      CREATE PUBLICATION "${publication.replaceAll('"', '""')}" FOR TABLE public.followed`)
  })
  afterEach(async () => {
    for (const link of links) await link.close()
    links = []
    const slots = await server.query('SELECT slot_name FROM pg_replication_slots').catch(() => [])
    for (const { slot_name } of slots) await server.query(`SELECT pg_drop_replication_slot('${slot_name}')`)
  })
  after(() => server.stop())

  async function open(change: LinkChange = {}): Promise<PostgresLink> {
    const link = await linkTo(server, { isReplication: true, ...change })
    links.push(link)
    return link
  }

  async function createSlot(link: PostgresLink): Promise<bigint> {
    const [row] = await link.query(`CREATE_REPLICATION_SLOT "${slot}" LOGICAL pgoutput NOEXPORT_SNAPSHOT`)
    assert.equal(row![0], slot)
    return parseLsn(row![1]!)
  }

  async function follow(change: LinkChange = {}): Promise<{ link: PostgresLink; wal: WalStream; from: bigint }> {
    const link = await open(change)
    const from = await createSlot(link)
    return { link, wal: await link.startReplication({ slot, publication, from }), from }
  }

  interface ReadResult {
    /** First letter of each message. */
    kinds: string
    texts: string[]
    reached: bigint
  }

  /** Reads this many messages. */
  async function readMessages(wal: WalStream, count: number, maxBytes = 1_000_000): Promise<ReadResult> {
    const result: ReadResult = { kinds: '', texts: [], reached: 0n }
    const deadline = Date.now() + 30_000
    while (result.texts.length < count && Date.now() < deadline) {
      const block = await wal.read({ maxBytes, waitMs: 100, signal })
      for (let index = 0; index < block.count; index++) {
        result.texts.push(block.bytes.toString('latin1', block.starts[index], block.ends[index]))
      }
      if (block.reached > 0n) result.reached = block.reached
    }
    result.kinds = result.texts.map((text) => text[0]).join('')
    return result
  }

  const confirmed = async (): Promise<bigint> => {
    const [row] = await server.query(`SELECT confirmed_flush_lsn::text AS lsn FROM pg_replication_slots`)
    return parseLsn(String(row!.lsn))
  }
  const isActive = async (): Promise<unknown> => {
    const [row] = await server.query('SELECT active FROM pg_replication_slots')
    return row!.active
  }
  const insert = (from: number, to: number) =>
    server.query(`INSERT INTO public.followed SELECT n, 'note ' || n FROM generate_series(${from}, ${to}) n`)

  it('is streamed in order', async () => {
    const { wal, from } = await follow()
    await insert(1, 3)
    const { kinds, texts } = await readMessages(wal, 6)
    assert.equal(kinds, 'BRIIIC')
    assert.deepEqual(
      texts.slice(2, 5).map((text) => text.slice(-6)),
      ['note 1', 'note 2', 'note 3'],
    )
    assert.ok(wal.serverEnd > from)
  })

  it('comes in blocks as small as they are asked for', async () => {
    const { wal } = await follow()
    await insert(1001, 1100)
    // Everything is sent, and takes some time to arrive.
    const isSent = 'SELECT FROM pg_stat_replication WHERE sent_lsn >= pg_current_wal_lsn()'
    for (let waits = 0; waits < 500 && (await server.query(isSent)).length === 0; waits++) await sleep(20)
    await sleep(100)
    const first = await wal.read({ maxBytes: 1, waitMs: 10_000, signal })
    assert.equal(first.count, 1)
    const some = await wal.read({ maxBytes: 300, waitMs: 10_000, signal })
    assert.ok(some.count > 1 && some.ends[some.count - 1]! - some.starts[0]! <= 300, `${some.count} messages`)
    const { kinds } = await readMessages(wal, 103 - 1 - some.count)
    assert.match(kinds, /^I+C$/)
  })

  it('returns no messages without changes, and reports the LSN', async () => {
    const { wal } = await follow()
    await server.query('INSERT INTO public.other VALUES (1)')
    const [row] = await server.query('SELECT pg_current_wal_lsn()::text AS lsn')
    const end = parseLsn(String(row!.lsn))
    let reached = 0n
    for (let reads = 0; reads < 400 && reached < end; reads++) {
      const block = await wal.read({ maxBytes: 1_000_000, waitMs: 50, signal })
      // A transaction without published changes is not sent.
      assert.equal(block.count, 0)
      if (block.reached > 0n) reached = block.reached
      wal.acknowledge(reached)
    }
    assert.ok(reached >= end, `${lsnText(reached)} of ${lsnText(end)}`)
  })

  it('is kept by the server until it is acknowledged', async () => {
    const { link, wal, from } = await follow()
    await insert(2001, 2002)
    const { texts } = await readMessages(wal, 5)
    assert.equal(await confirmed(), from)
    // End LSN of the transaction, from its commit message.
    const end = Buffer.from(texts[4]!, 'latin1').readBigUInt64BE(10)
    wal.acknowledge(end)
    wal.acknowledge(from)
    for (let waits = 0; waits < 500 && (await confirmed()) < end; waits++) await sleep(20)
    assert.equal(await confirmed(), end)
    await insert(2003, 2003)
    const last = Buffer.from((await readMessages(wal, 3)).texts.at(-1)!, 'latin1').readBigUInt64BE(10)
    wal.acknowledge(last - 1n)
    wal.acknowledge(last)
    // A pending acknowledgement is sent at the end.
    await link.close()
    for (let waits = 0; waits < 500 && (await confirmed()) < last; waits++) await sleep(20)
    assert.equal(await confirmed(), last)
  })

  it('is streamed again over the next link, from the acknowledged LSN', async () => {
    const { link, from } = await follow()
    await insert(3001, 3001)
    await link.close()
    const next = await open()
    const wal = await next.startReplication({ slot, publication, from })
    assert.equal((await readMessages(wal, 4)).kinds, 'BRIC')
  })

  it('goes on as long as the server is answered', async () => {
    const link = await open()
    await createSlot(link)
    // Longer than a pause of the machine, shorter than this read.
    await link.query(`SET wal_sender_timeout = '3s'`)
    const wal = await link.startReplication({ slot, publication, from: 0n })
    for (let reads = 0; reads < 50; reads++) await wal.read({ maxBytes: 1_000, waitMs: 100, signal })
    await insert(4001, 4001)
    assert.equal((await readMessages(wal, 4)).kinds, 'BRIC')
  })

  it('waits in the server while nobody reads', async () => {
    const { wal } = await follow()
    const beforeBytes = process.memoryUsage().arrayBuffers
    await server.query(`INSERT INTO public.followed SELECT n, repeat('x', 1000) FROM generate_series(100001, 140000) n`)
    for (let waits = 0, event = ''; event !== 'WalSenderWriteData' && waits < 200; waits++) {
      await sleep(20)
      const rows = await server.query(`SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'walsender'`)
      event = String(rows[0]!.wait_event)
    }
    const heldBytes = process.memoryUsage().arrayBuffers - beforeBytes
    assert.ok(heldBytes < 20_000_000, `${heldBytes} bytes are held`)
    const { kinds } = await readMessages(wal, 40_003)
    assert.equal(kinds.length, 40_003)
    assert.match(kinds, /^BRI+C$/)
  })

  it('can be left while it waits', async () => {
    const stop = new AbortController()
    for (const leave of [(link: PostgresLink) => link.close(), async () => stop.abort()]) {
      const { link, wal } = await follow({ signal: stop.signal })
      await server.query(`UPDATE public.followed SET note = repeat('y', 1000) WHERE id > 100000`)
      await sleep(300)
      await leave(link)
      await assert.rejects(wal.read({ maxBytes: 1_000, waitMs: 10_000, signal }), NotConnected)
      assert.equal(link.isOpen, false)
      await link.close()
      for (let waits = 0; waits < 500 && (await isActive()); waits++) await sleep(20)
      await server.query(`SELECT pg_drop_replication_slot('${slot}')`)
    }
  })

  it('has slots that are in use, there already, or not there', async () => {
    const { link } = await follow()
    const other = await open()
    await assert.rejects(other.startReplication({ slot, publication, from: 0n }), { code: '55006' })
    await assert.rejects(createSlot(other), { code: '42710' })
    await assert.rejects(other.startReplication({ slot: 'absent', publication, from: 0n }), { code: '42704' })
    assert.deepEqual(await other.query('SELECT 1'), [['1']])
    await assert.rejects(link.query('SELECT 1'), /busy/)
    const plain = await open({ isReplication: false })
    await assert.rejects(plain.startReplication({ slot, publication, from: 0n }), /not for replication/)
  })

  it('ends with the error of the server', async () => {
    const { link, wal } = await follow()
    const reading = assert.rejects(wal.read({ maxBytes: 1_000, waitMs: 10_000, signal }), { code: '57P01' })
    await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'`)
    await reading
    await assert.rejects(wal.read({ maxBytes: 1_000, waitMs: 10_000, signal }), { code: '57P01' })
    assert.equal(link.isOpen, false)
  })

  it('can be stopped to be read, and the link ended', async () => {
    const stop = new AbortController()
    const { link, wal } = await follow({ signal: stop.signal })
    const short = new AbortController()
    const read = (given: AbortSignal) => wal.read({ maxBytes: 1_000, waitMs: 10_000, signal: given })
    const stopped = assert.rejects(read(short.signal), NotConnected)
    await assert.rejects(read(signal), /already/)
    short.abort()
    await stopped
    assert.ok(link.isOpen)
    const ended = assert.rejects(read(signal), NotConnected)
    stop.abort()
    await ended
    assert.equal(link.isOpen, false)
    wal.acknowledge(1n)
    await link.close()
  })

  it('has an exported snapshot while its link is idle', async () => {
    const link = await open()
    const [row] = await link.query(`CREATE_REPLICATION_SLOT "passing" TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT`)
    await insert(6001, 6001)
    const reader = await open({ isReplication: false })
    const count = 'SELECT count(*) FROM public.followed WHERE id = 6001'
    await reader.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '${row![2]}'`)
    assert.deepEqual(await reader.query(count), [['0']])
    await reader.query('COMMIT')
    assert.deepEqual(await reader.query(count), [['1']])
    await link.close()
    assert.deepEqual(await server.query('SELECT FROM pg_replication_slots'), [])
  })

  // The last test: the server is gone after it.
  it('ends when the server is killed', async () => {
    const { link, wal } = await follow()
    const idle = await open({ isReplication: false })
    const reading = assert.rejects(wal.read({ maxBytes: 1_000, waitMs: 10_000, signal }), NotConnected)
    const [pid] = (await readFile(join(server.dataDirectory, 'postmaster.pid'), 'utf8')).split('\n')
    process.kill(Number(pid), 'SIGQUIT')
    await reading
    assert.equal(link.isOpen, false)
    for (let waits = 0; idle.isOpen && waits < 1_000; waits++) await sleep(10)
    assert.equal(idle.isOpen, false)
    await assert.rejects(idle.query('SELECT 1'), NotConnected)
    await assert.rejects(open(), NotConnected)
  })
})
