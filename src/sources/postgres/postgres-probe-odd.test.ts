// Servers that are not PostgreSQL: a probe reports them, and neither hangs nor breaks.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Certificates, makeCertificates } from '../../../test/sources/certificates.ts'
import { probeFails } from '../../../test/sources/conformance.ts'
import {
  answers,
  message,
  type StandIn,
  signInRequest,
  standIn,
  withTls,
} from '../../../test/sources/postgres-servers.ts'
import { secrets, sourceOf } from '../../../test/sources/postgres-world.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import type { FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'

describe('a server that is not PostgreSQL', () => {
  let certificates: Certificates
  let server: StandIn | undefined
  const opened: StandIn[] = []

  before(async () => {
    certificates = await makeCertificates()
  })
  afterEach(async () => {
    for (let waits = 0; server && server.open() > 0; waits++) {
      assert.ok(waits < 500, 'a connection is left open')
      await sleep(10)
    }
  })
  after(async () => {
    for (const each of opened) await each.stop()
  })

  async function fails(
    serve: Parameters<typeof standIn>[0],
    step: ProbeStep,
    code: FailureCode,
    { timeoutMs = 5_000, allowPlaintext = false } = {},
  ): Promise<ProbeFailure> {
    server = await standIn(serve)
    opened.push(server)
    const address = { host: 'localhost', port: server.port, ca: certificates.ca }
    return probeFails(sourceOf(address, { context: { allowPlaintext } }), { step, code }, { secrets, timeoutMs })
  }

  it('says nothing at all', async () => {
    await fails((socket) => socket.resume(), 'connect', 'timed_out', { timeoutMs: 200 })
  })

  it('begins TLS and says nothing', async () => {
    await fails(answers('S'), 'tls', 'timed_out', { timeoutMs: 200 })
    await fails(withTls(certificates.server, answers()), 'authenticate', 'timed_out', { timeoutMs: 200 })
  })

  it('hangs up', async () => {
    await fails((socket) => socket.end(), 'connect', 'protocol_mismatch')
    await fails((socket) => socket.once('data', () => socket.destroy()), 'connect', 'protocol_mismatch')
    await fails((socket) => socket.once('data', () => socket.end('S')), 'tls', 'tls_refused')
    const atSignIn = withTls(certificates.server, (socket) => socket.once('data', () => socket.destroy()))
    await fails(atSignIn, 'authenticate', 'protocol_mismatch')
  })

  it('speaks something else', async () => {
    await fails(answers('HTTP/1.1 400 Bad Request\r\n\r\n'), 'connect', 'protocol_mismatch')
    await fails((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n'), 'connect', 'protocol_mismatch')
    await fails(answers('S', 'no TLS at all'), 'tls', 'tls_refused')
    await fails(answers('N', '+OK ready, and what now?\r\n'), 'authenticate', 'protocol_mismatch', {
      allowPlaintext: true,
    })
  })

  it('injects bytes before TLS', async () => {
    await fails(answers(Buffer.concat([Buffer.from('S'), signInRequest(0)])), 'connect', 'protocol_mismatch')
  })

  it('reports an error before anything else', async () => {
    const failure = await fails(answers(message('E', 'SFATAL\0C53300\0Mfull\0\0')), 'connect', 'source_failed')
    assert.doesNotMatch(failure.reason, /full/)
  })

  const signingIn = (...bytes: Buffer[]) => withTls(certificates.server, answers(...bytes))

  it('wants another way to sign in', async () => {
    const gss = 7
    await fails(signingIn(signInRequest(gss)), 'authenticate', 'not_set_up')
    const plusOnly = Buffer.concat([signInRequest(10).subarray(5), Buffer.from('SCRAM-SHA-256-PLUS\0\0')])
    await fails(signingIn(message('R', plusOnly)), 'authenticate', 'protocol_mismatch')
  })

  it('answers with errors that are reported by code', async () => {
    const error = (state: string) => signingIn(message('E', `SFATAL\0C${state}\0Mhunter2 'sesame is wrong\0\0`))
    await fails(error('57P03'), 'authenticate', 'source_failed')
    await fails(error('53300'), 'authenticate', 'source_failed')
    const failure = await fails(error('XX000'), 'authenticate', 'source_failed')
    assert.match(failure.reason, /^localhost:\d+ answers with SQLSTATE XX000 \(internal error of PostgreSQL\)$/)
    const odd = await fails(error('<b>no code</b>'), 'authenticate', 'protocol_mismatch')
    assert.doesNotMatch(odd.reason, /code/)
  })

  it('sends invalid messages', async () => {
    const endless = message('E', 'SFATAL\0Cno end')
    await fails(signingIn(endless), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('N', 'SNOTICE')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('R', '')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('D', '\x7f\xff')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('S', '', 3)), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('?', 'what')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('D', 'more', 0x7fffffff)), 'authenticate', 'protocol_mismatch')
  })

  const ready = message('Z', 'T')
  /** Accepts any login, then answers each query with the next of these. */
  const letsIn = (...bytes: Buffer[]) => signingIn(Buffer.concat([signInRequest(0), ready]), ...bytes)
  const begun = Buffer.concat([message('C', 'BEGIN\0'), ready])
  const rowOf = (...values: string[]): Buffer => {
    const counted = values.map((value) => {
      const length = Buffer.alloc(4)
      length.writeInt32BE(value.length)
      return Buffer.concat([length, Buffer.from(value)])
    })
    return message('D', Buffer.concat([Buffer.from([0, values.length]), ...counted]))
  }
  const columnsOf = (columns: Record<string, number>): Buffer => {
    const described = Object.entries(columns).map(([name, type]) => {
      const rest = Buffer.alloc(18)
      rest.writeInt32BE(type, 6)
      return Buffer.concat([Buffer.from(`${name}\0`), rest])
    })
    return message('T', Buffer.concat([Buffer.from([0, described.length]), ...described]))
  }
  const answer = (...messages: Buffer[]): Buffer =>
    Buffer.concat([message('1', ''), message('2', ''), ...messages, message('C', 'SELECT 1\0'), ready])

  it('refuses the session after it has let us in', async () => {
    const error = (state: string) => Buffer.concat([message('E', `SERROR\0C${state}\0Mhunter2\0\0`), message('Z', 'E')])
    const denied = await fails(letsIn(error('42501')), 'describe', 'permission_missing')
    assert.match(denied.reason, /does not let the user begin a read-only transaction/)
    const unknown = await fails(letsIn(error('42704')), 'describe', 'source_failed')
    assert.match(unknown.reason, /SQLSTATE 42704 /)
  })

  it('answers with other rows than it was asked for', async () => {
    const [integer, text, json] = [23, 25, 3802]
    for (const rows of [
      answer(columnsOf({ version: integer })),
      answer(columnsOf({ version: integer }), rowOf('170000')),
      answer(columnsOf({ version: text }), rowOf('170000')),
      answer(columnsOf({ version: json }), rowOf('{')),
      answer(columnsOf({ version: integer }), rowOf('170000', 'more')),
      answer(rowOf('170000')),
      Buffer.concat([answer(), answer()]),
      Buffer.concat([signInRequest(11), ready]),
      Buffer.concat([signInRequest(0), ready]),
    ]) {
      await fails(letsIn(begun, rows), 'describe', 'protocol_mismatch')
    }
  })

  it('sends unrequested answers', async () => {
    await fails(letsIn(Buffer.concat([begun, rowOf()])), 'describe', 'protocol_mismatch')
    await fails(letsIn(Buffer.concat([begun, columnsOf({})])), 'describe', 'protocol_mismatch')
    await fails(signingIn(Buffer.concat([signInRequest(0), ready, rowOf()])), 'describe', 'protocol_mismatch')
    await fails(signingIn(signInRequest(11)), 'authenticate', 'protocol_mismatch')
  })

  it('sends rows without end', async () => {
    const flood = (row: Buffer, count: number) => Buffer.concat(Array.from({ length: count }, () => row))
    const empty = answer(columnsOf({}), flood(rowOf(), 210_000))
    const failure = await fails(letsIn(begun, empty), 'describe', 'protocol_mismatch')
    assert.match(failure.reason, /sends more than a probe reads$/)
    const names = Array.from({ length: 200 }, (_, index) => `c${index}`)
    const wide = columnsOf(Object.fromEntries(names.map((name) => [name, 25])))
    const row = rowOf(...names.map(() => ''))
    const { reason } = await fails(letsIn(begun, answer(wide, flood(row, 8_000))), 'describe', 'protocol_mismatch')
    assert.match(reason, /sends more than a probe reads$/)
  })

  it('never stops talking', async () => {
    const chatter = message('N', Buffer.concat([Buffer.alloc(1_000_000, 'M'), Buffer.from('\0\0')]))
    const flood = Buffer.concat(Array.from({ length: 40 }, () => chatter))
    await fails(signingIn(flood), 'authenticate', 'protocol_mismatch', { timeoutMs: 10_000 })
  })
})
