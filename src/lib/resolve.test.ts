import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { makeResolve, type Resolve } from './resolve.ts'

/** DNS answers by name and type: the address in bytes. Other names do not exist; `silent.example` is never answered. */
const zone: Record<string, number[]> = {
  'engine.example A': [192, 0, 2, 7],
  'engine.example AAAA': [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  'half.example A': [192, 0, 2, 8],
  'engine.internal.example A': [192, 0, 2, 9],
  'engine.team.internal.example A': [192, 0, 2, 10],
  'hosted.example A': [192, 0, 2, 11],
}

describe('resolve', () => {
  let server: Socket
  let folder: string
  let resolve: Resolve
  const asked: string[] = []
  const never = new AbortController().signal

  before(async () => {
    server = createSocket('udp4')
    server.on('message', (question, { port, address }) => {
      const labels: string[] = []
      let at = 12
      for (; question[at] !== 0; at += question[at]! + 1) {
        labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!))
      }
      const type = question.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A'
      const name = labels.join('.').toLowerCase()
      asked.push(`${name} ${type}`)
      if (name === 'silent.example') return
      const data = zone[`${name} ${type}`]
      const exists = Object.keys(zone).some((key) => key.startsWith(`${name} `))
      const header = Buffer.from(question.subarray(0, 12))
      header.writeUInt16BE(exists ? 0x8180 : 0x8183, 2)
      header.writeUInt16BE(data ? 1 : 0, 6)
      header.writeUInt32BE(0, 8)
      const record = data ? [0xc0, 12, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length, ...data] : []
      server.send(Buffer.concat([header, question.subarray(12, at + 5), Buffer.from(record)]), port, address)
    })
    server.bind(0, '127.0.0.1')
    await once(server, 'listening')
    folder = await mkdtemp(join(tmpdir(), 'penstock-resolve-'))
    const [hostsFile, configurationFile] = [join(folder, 'hosts'), join(folder, 'resolv.conf')]
    await writeFile(
      hostsFile,
      '# 192.0.2.1 commented\n127.0.0.1\tlocalhost here # me\n::1 localhost\n10.0.0.1 Hosted.example\n',
    )
    await writeFile(configurationFile, 'nameserver 192.0.2.1\nsearch team.internal.example internal.example.\n')
    resolve = makeResolve({ hostsFile, configurationFile, servers: [`127.0.0.1:${server.address().port}`] })
  })
  after(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })

  it('returns what the hosts file has, without asking a server', async () => {
    asked.length = 0
    assert.deepEqual(await resolve('localhost', never), ['127.0.0.1', '::1'])
    assert.deepEqual(await resolve('HERE', never), ['127.0.0.1'])
    assert.deepEqual(await resolve('hosted.example', never), ['10.0.0.1'])
    assert.deepEqual(asked, [])
  })

  it('returns all addresses that DNS has, IPv4 and IPv6', async () => {
    assert.deepEqual(await resolve('engine.example', never), ['192.0.2.7', '2001:db8::1'])
    assert.deepEqual(await resolve('half.example', never), ['192.0.2.8'])
  })

  it('looks in the search domains: first for a bare name, last for one with a dot', async () => {
    assert.deepEqual(await resolve('engine', never), ['192.0.2.10'])
    assert.deepEqual(await resolve('engine.team', never), ['192.0.2.10'])
    asked.length = 0
    assert.deepEqual(await resolve('engine.internal', never), [])
    assert.ok(asked[0]!.startsWith('engine.internal '), asked.join())
    assert.ok(asked.includes('engine.internal.internal.example A'), asked.join())
    assert.deepEqual(await resolve('commented', never), [])
  })

  it('ends with the signal while a server does not answer', async () => {
    // Without the signal it always takes two seconds; with it, one try that no pause of the machine delays is enough.
    let quickestMs = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < 5 && quickestMs >= 500; tries++) {
      const stopping = new AbortController()
      asked.length = 0
      const resolved = resolve('silent.example', stopping.signal)
      while (asked.length === 0) await new Promise((done) => setTimeout(done, 2))
      const startedMs = performance.now()
      stopping.abort()
      assert.deepEqual(await resolved, [])
      quickestMs = Math.min(quickestMs, performance.now() - startedMs)
      assert.ok(
        asked.every((question) => question.startsWith('silent.example ')),
        asked.join(),
      )
    }
    assert.ok(quickestMs < 500, `${quickestMs} ms`)
  })

  it('asks no server when the signal is already aborted', async () => {
    asked.length = 0
    assert.deepEqual(await resolve('engine.example', AbortSignal.abort()), [])
    assert.deepEqual(asked, [])
  })

  it('works without the files', async () => {
    const missing = join(folder, 'missing')
    const bare = makeResolve({
      hostsFile: missing,
      configurationFile: missing,
      servers: [`127.0.0.1:${server.address().port}`],
    })
    assert.deepEqual(await bare('half.example', never), ['192.0.2.8'])
    assert.deepEqual(await bare('engine', never), [])
  })
})
