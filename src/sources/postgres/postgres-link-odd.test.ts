// Servers that violate the protocol after the sign-in: the link ends with NotConnected, and neither hangs nor throws elsewhere.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  acceptsLogin,
  columns,
  complete,
  linkToStandIn,
  ready,
  refusal,
  rowOf,
} from '../../../test/sources/postgres-links.ts'
import { answers, message, type StandIn, signInRequest, standIn } from '../../../test/sources/postgres-servers.ts'
import { NotConnected, type ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { PostgresLink, WalStream } from './postgres-link.ts'

const { signal } = new AbortController()
const garbage = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')
const tooShort = message('D', '', 3)
const copyBegins = message('H', '\0\0\0')
const walBegins = message('W', '\0\0\0')
const all = (...messages: Buffer[]): Buffer => Buffer.concat(messages)
const no = Buffer.from('N')

describe('an odd server', () => {
  let server: StandIn | undefined
  let links: PostgresLink[] = []

  afterEach(async () => {
    for (const link of links) await link.close()
    links = []
    for (let waits = 0; server && server.open() > 0; waits++) {
      assert.ok(waits < 1_000, 'a connection is left open')
      await sleep(10)
    }
    await server?.stop()
    server = undefined
  })

  async function open(serve: (socket: Socket) => void, isReplication = false): Promise<PostgresLink> {
    await server?.stop()
    server = await standIn(serve)
    const link = await linkToStandIn(server.port, { isReplication })
    links.push(link)
    return link
  }

  async function take(link: PostgresLink): Promise<number> {
    let sizeBytes = 0
    for await (const piece of link.copyOut('COPY odd TO STDOUT')) sizeBytes += piece.length
    return sizeBytes
  }

  const start = (link: PostgresLink): Promise<WalStream> =>
    link.startReplication({ slot: 'slot', publication: 'publication', from: 0n })

  const read = (wal: WalStream) => wal.read({ maxBytes: 1_000_000, waitMs: 5_000, signal })

  /** With an answer in one piece, and byte by byte. */
  async function breaksOff(answer: Buffer, ask: (link: PostgresLink) => Promise<unknown>): Promise<void> {
    const inBytes = (socket: Socket): void => {
      socket.setNoDelay(true)
      acceptsLogin()(socket)
      let asked = 0
      socket.on('data', async () => {
        if (++asked !== 4) return
        for (let at = 0; at < answer.length && at < 200; at++) {
          socket.write(answer.subarray(at, at + 1))
          await sleep(0)
        }
      })
    }
    for (const serve of answer.length < 200 ? [acceptsLogin(answer), inBytes] : [acceptsLogin(answer)]) {
      const link = await open(serve, true)
      const shown = JSON.stringify(answer.toString('latin1', 0, 60))
      await assert.rejects(ask(link), NotConnected, shown)
      assert.equal(link.isOpen, false, shown)
      await assert.rejects(link.query('SELECT 1'), NotConnected)
    }
  }

  it('does not let a link open', async () => {
    const opens = (serve: (socket: Socket) => void) => open(serve)
    const signedIn = all(signInRequest(0), ready)
    for (const serve of [
      answers(garbage),
      answers(no, garbage),
      answers(no, all(signInRequest(0), garbage)),
      answers(no, all(signInRequest(0), message('E', 'SFATAL\0C53300\0Mfull\0\0'))),
      answers(no, message('E', 'SFATAL\0C57P03\0Mstarting\0\0')),
      answers(no, signedIn, garbage),
      answers(no, signedIn, tooShort),
      answers(no, signedIn, all(refusal('XX000'), ready)),
      answers(no, all(signedIn, rowOf('nobody asked')), all(columns(1), rowOf(''), complete, ready)),
      (socket: Socket) => socket.destroy(),
    ]) {
      await assert.rejects(opens(serve), NotConnected)
    }
    const refused = { name: 'ProbeFailure', code: 'permission_missing' }
    await assert.rejects(opens(answers(no, signedIn, all(refusal('42501'), ready))), refused)
  })

  it('does not have TLS', async () => {
    server = await standIn(answers(no))
    const opening = linkToStandIn(server.port, { context: { allowPlaintext: false } })
    await assert.rejects(opening, (error: ProbeFailure) => error.code === 'tls_refused')
  })

  it('says nothing, until the signal ends it', async () => {
    for (const serve of [answers(), answers(no), answers(no, all(signInRequest(0), ready))]) {
      await server?.stop()
      server = await standIn(serve)
      await assert.rejects(linkToStandIn(server.port, { signal: AbortSignal.timeout(100) }), NotConnected)
    }
  })

  it('answers a statement with something else', async () => {
    const row = rowOf('1', null)
    for (const answer of [
      garbage,
      tooShort,
      ready,
      row,
      copyBegins,
      walBegins,
      message('G', '\0\0\0'),
      message('d', 'data'),
      signInRequest(0),
      message('T', ''),
      all(columns(1), row),
      all(columns(3), row),
      all(columns(2), row, ready),
      all(columns(2), message('D', Buffer.from([0, 2, 0, 0, 0, 9, 0x31]))),
      all(columns(2), message('D', Buffer.from([0, 2, 0xff, 0xff, 0xff, 0xfe]))),
      all(columns(1), message('D', Buffer.from([0, 1, 0, 0, 0, 1, 0x31, 0x32]))),
      all(columns(1), complete, rowOf('1')),
      message('E', 'SERROR\0Mno code\0\0'),
      message('E', 'SERROR\0C42P01'),
      message('E', 'SERROR\0C<b>\0\0'),
      message('T', '', 0x7fffffff),
      all(columns(1), message('D', '', 0x7fffffff)),
      all(columns(1), ...Array.from({ length: 40 }, () => rowOf('x'.repeat(1_000_000)))),
    ]) {
      await breaksOff(answer, (link) => link.query('SELECT 1, NULL'))
    }
  })

  it('talks while nothing was asked', async () => {
    for (const said of [
      garbage,
      ready,
      rowOf('1'),
      message('d', 'data'),
      message('N', '', 0x7fffffff),
      refusal('57P01'),
    ]) {
      const link = await open(acceptsLogin(all(columns(1), rowOf('1'), complete, ready, said)))
      assert.deepEqual(await link.query('SELECT 1'), [['1']])
      for (let waits = 0; link.isOpen && waits < 1_000; waits++) await sleep(5)
      assert.equal(link.isOpen, false)
    }
  })

  it('may send notices and settings anywhere', async () => {
    const notes = all(message('N', 'SNOTICE\0\0'), message('S', 'TimeZone\0UTC\0'), message('A', '\0\0\0\x01a\0b\0'))
    const selected = all(notes, columns(1), notes, rowOf('1'), notes, complete, notes, ready, notes)
    const copied = all(notes, copyBegins, message('d', '1\n'), notes, message('d', '2\n'), message('c', ''), notes)
    const link = await open(acceptsLogin(selected, all(copied, complete, notes, ready), selected))
    assert.deepEqual(await link.query('SELECT 1'), [['1']])
    assert.equal(await take(link), 4)
    assert.deepEqual(await link.query('SELECT 1'), [['1']])
  })

  it('answers a copy with something else', async () => {
    const data = message('d', 'data\n')
    for (const answer of [
      garbage,
      tooShort,
      data,
      ready,
      walBegins,
      all(columns(1), rowOf('1'), complete, ready),
      all(copyBegins, copyBegins),
      all(copyBegins, data, ready),
      all(copyBegins, data, complete),
      all(copyBegins, data, garbage),
      all(copyBegins, data, message('c', ''), data),
      all(copyBegins, data, message('c', ''), ready),
      all(copyBegins, message('D', '', 0x7fffffff)),
      message('d', '', 0x7fffffff),
    ]) {
      await breaksOff(answer, take)
    }
  })

  it('continues after an error, which still counts', async () => {
    const refused = { name: 'PostgresError', code: '57014' }
    const closes = async (answer: Buffer, ask: (link: PostgresLink) => Promise<unknown>): Promise<void> => {
      const link = await open(acceptsLogin(answer), true)
      await assert.rejects(ask(link), refused)
      assert.equal(link.isOpen, false)
    }
    for (const next of [complete, garbage, refusal('42P01'), message('d', 'data')]) {
      await closes(all(refusal('57014'), next), (link) => link.query('SELECT 1'))
      await closes(all(refusal('57014'), next), take)
      await closes(all(copyBegins, refusal('57014'), next), take)
      await closes(all(refusal('57014'), next), start)
    }
  })

  it('sends lines in pieces, or without an end', async () => {
    const halves = Array.from({ length: 30_000 }, (_, index) => [message('d', `row ${index}`), message('d', '\tend\n')])
    const whole = all(copyBegins, ...halves.flat(), message('c', ''), complete, ready)
    const link = await open(acceptsLogin(whole))
    let text = ''
    for await (const piece of link.copyOut('COPY odd TO STDOUT')) {
      assert.equal(piece.at(-1), 0x0a)
      text += piece
    }
    assert.equal(text, Array.from({ length: 30_000 }, (_, index) => `row ${index}\tend\n`).join(''))
    const endless = await open(acceptsLogin(all(copyBegins, message('d', '', 0x7fffffff))))
    await assert.rejects(take(endless), { name: 'PostgresError', code: '54000' })
  })

  it('hangs up in the middle', async () => {
    const row = message('d', 'data\n')
    const hangsUp =
      (answer: Buffer) =>
      (socket: Socket): void => {
        acceptsLogin()(socket)
        let asked = 0
        socket.on('data', () => {
          if (++asked === 4) socket.end(answer)
        })
      }
    for (const answer of [copyBegins, all(copyBegins, row), all(copyBegins, row.subarray(0, 7)), Buffer.alloc(0)]) {
      await assert.rejects(take(await open(hangsUp(answer))), NotConnected)
    }
    await assert.rejects((await open(hangsUp(columns(1)))).query('SELECT 1'), NotConnected)
    await assert.rejects((await open(hangsUp(refusal('57P01')))).query('SELECT 1'), { code: '57P01' })
    await assert.rejects(start(await open(hangsUp(Buffer.alloc(0)), true)), NotConnected)
    const wal = await start(await open(hangsUp(walBegins), true))
    await assert.rejects(read(wal), NotConnected)
  })

  const keepalive = (end: bigint, mustAnswer: boolean): Buffer => {
    const body = Buffer.alloc(18)
    body.write('k')
    body.writeBigUInt64BE(end, 1)
    body.writeUInt8(mustAnswer ? 1 : 0, 17)
    return message('d', body)
  }
  const logged = (text: string, end = 1n): Buffer => {
    const header = Buffer.alloc(25)
    header.write('w')
    header.writeBigUInt64BE(end, 9)
    return message('d', all(header, Buffer.from(text)))
  }

  it('sends something else than its log', async () => {
    for (const answer of [garbage, tooShort, ready, complete, copyBegins, logged('B')]) {
      await breaksOff(answer, start)
    }
    for (const answer of [
      garbage,
      tooShort,
      rowOf('1'),
      walBegins,
      complete,
      message('c', ''),
      message('d', ''),
      message('d', 'x'),
      message('d', 'k too short'),
      message('d', 'w too short'),
      logged(''),
      message('D', '', 0x7fffffff),
    ]) {
      await breaksOff(all(walBegins, answer), async (link) => read(await start(link)))
    }
    const endless = await open(acceptsLogin(all(walBegins, message('d', '', 0x7fffffff))), true)
    await assert.rejects(start(endless).then(read), { name: 'PostgresError', code: '54000' })
  })

  it('reports its WAL position in the order of its messages', async () => {
    const log = all(walBegins, logged('B', 7n), keepalive(0x16_b374_d848n, false), logged('C', 9n))
    const wal = await start(await open(acceptsLogin(log), true))
    const first = await wal.read({ maxBytes: 1, waitMs: 5_000, signal })
    assert.deepEqual([first.count, first.reached], [1, 0x16_b374_d848n])
    const second = await wal.read({ maxBytes: 1, waitMs: 5_000, signal })
    assert.deepEqual([second.count, second.reached], [1, 0n])
    assert.equal(wal.serverEnd, 0x16_b374_d848n)
    const later = await start(
      await open(acceptsLogin(all(walBegins, logged('B'), logged('C'), keepalive(5n, false))), true),
    )
    await sleep(20)
    assert.equal((await later.read({ maxBytes: 1, waitMs: 5_000, signal })).reached, 0n)
    assert.equal((await later.read({ maxBytes: 1, waitMs: 5_000, signal })).reached, 5n)
  })

  /** Starts a WAL stream with these bytes, and collects the status messages that it receives. */
  async function following(log: Buffer): Promise<{ wal: WalStream; received: Buffer[]; peer: Socket }> {
    const received: Buffer[] = []
    let peer: Socket | undefined
    const serve = acceptsLogin(all(walBegins, log))
    const link = await open((socket) => {
      peer = socket
      serve(socket)
    }, true)
    const wal = await start(link)
    peer!.on('data', (bytes) => received.push(bytes))
    return { wal, received, peer: peer! }
  }
  const acknowledgedIn = (status: Buffer): bigint[] => [6, 14, 22].map((at) => status.readBigUInt64BE(at))

  it('gets an immediate reply on request', async () => {
    const { received, peer } = await following(Buffer.alloc(0))
    peer.write(keepalive(5n, true))
    await once(peer, 'data')
    assert.equal(received[0]!.length, 39)
    assert.deepEqual(acknowledgedIn(received[0]!), [0n, 0n, 0n])
  })

  it('receives acknowledgements while it is not read, at a limited rate', async () => {
    const large = logged('x'.repeat(100_000))
    const { wal, received } = await following(Buffer.concat(Array.from({ length: 200 }, () => large)))
    await sleep(100)
    wal.acknowledge(7n)
    for (let lsn = 8n; lsn < 100n; lsn++) wal.acknowledge(lsn)
    wal.acknowledge(50n)
    // On a busy machine, both arrive in one piece.
    const size = 39
    const statuses = (): Buffer[] => {
      const bytes = Buffer.concat(received)
      return Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => bytes.subarray(index * size))
    }
    for (let waits = 0; waits < 500 && statuses().length < 2; waits++) await sleep(10)
    assert.deepEqual(statuses().map(acknowledgedIn), [
      [7n, 7n, 7n],
      [99n, 99n, 99n],
    ])
    let count = 0
    while (count < 200) count += (await read(wal)).count
    assert.equal(count, 200)
  })

  it('receives acknowledgements periodically', async (test) => {
    test.mock.timers.enable({ apis: ['setInterval'] })
    const { wal, received, peer } = await following(Buffer.alloc(0))
    wal.acknowledge(3n)
    await once(peer, 'data')
    test.mock.timers.tick(10_000)
    await once(peer, 'data')
    assert.deepEqual(received.map(acknowledgedIn).at(-1), [3n, 3n, 3n])
  })

  it('is asked for a reply, and the link ends without one', async (test) => {
    test.mock.timers.enable({ apis: ['setInterval'] })
    const { wal, received, peer } = await following(Buffer.alloc(0))
    const heardAtMs = performance.now()
    let silentMs = 40_000
    test.mock.method(performance, 'now', () => heardAtMs + silentMs)
    test.mock.timers.tick(10_000)
    await once(peer, 'data')
    assert.equal(received[0]!.at(-1), 1)
    silentMs = 301_000
    const left = assert.rejects(read(wal), NotConnected)
    test.mock.timers.tick(10_000)
    await left
  })
})
