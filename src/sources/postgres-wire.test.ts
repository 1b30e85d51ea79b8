// Whatever a user names as PostgreSQL: a probe tells what it is not, and neither hangs nor breaks.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Certificates, makeCertificates } from '../../test/sources/certificates.ts'
import { probeFails } from '../../test/sources/conformance.ts'
import { answers, message, type StandIn, signInRequest, standIn, withTls } from '../../test/sources/postgres-servers.ts'
import { secrets, sourceOf } from '../../test/sources/postgres-world.ts'
import type { FailureCode, ProbeFailure, ProbeStep } from './source.ts'

describe('what answers in place of PostgreSQL', () => {
  let certificates: Certificates
  let server: StandIn | undefined
  const opened: StandIn[] = []

  before(async () => {
    certificates = await makeCertificates()
  })
  afterEach(async () => {
    for (let waits = 0; server && server.open() > 0; waits++) {
      assert.ok(waits < 50, 'a connection is left open')
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
    const place = { host: 'localhost', port: server.port, ca: certificates.ca }
    return probeFails(sourceOf(place, { context: { allowPlaintext } }), { step, code }, { secrets, timeoutMs })
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

  it('slips something in before TLS begins', async () => {
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

  it('answers with errors that are told by their code alone', async () => {
    const error = (state: string) => signingIn(message('E', `SFATAL\0C${state}\0Mhunter2 'sesame is wrong\0\0`))
    await fails(error('57P03'), 'authenticate', 'source_failed')
    await fails(error('53300'), 'authenticate', 'source_failed')
    const failure = await fails(error('XX000'), 'authenticate', 'source_failed')
    assert.match(failure.reason, /^localhost:\d+ answers with the error XX000$/)
    const odd = await fails(error('<b>no code</b>'), 'authenticate', 'protocol_mismatch')
    assert.doesNotMatch(odd.reason, /code/)
  })

  it('sends messages that are none', async () => {
    const endless = message('E', 'SFATAL\0Cno end')
    await fails(signingIn(endless), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('N', 'SNOTICE')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('R', '')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('D', '\x7f\xff')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('S', '', 3)), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('?', 'what')), 'authenticate', 'protocol_mismatch')
    await fails(signingIn(message('D', 'more', 0x7fffffff)), 'authenticate', 'protocol_mismatch')
  })

  it('never stops talking', async () => {
    const chatter = message('N', Buffer.concat([Buffer.alloc(1_000_000, 'M'), Buffer.from('\0\0')]))
    const flood = Buffer.concat(Array.from({ length: 140 }, () => chatter))
    await fails(signingIn(flood), 'authenticate', 'protocol_mismatch', { timeoutMs: 10_000 })
  })
})
