// The files in deploy/, used as in docs/how-to/deploy-on-one-machine.md: systemd verifies the unit, and nginx runs with our configuration in front
// of servers that close connections, and in front of Penstock processes that are killed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nginxDrill } from '../../chaos/system/nginx.ts'
import { readSettings } from '../../chaos/system/nginx-processes.ts'
import { findFreePort } from '../../src/lib/free-port.ts'
import { debianProgram } from './servers/installed.ts'
import { type Nginx, startNginx } from './servers/nginx.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
/** Of 10; the rest is network access, which Penstock needs. */
const highestExposure = 1.5

describe('the systemd unit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-unit-'))
  const unit = join(folder, 'penstock@all.service')
  before(() => {
    const text = readFileSync(join(project, 'deploy', 'penstock@.service'), 'utf8')
    // Node is where npm installed it, as in /opt/penstock.
    writeFileSync(join(folder, 'penstock@.service'), text.replaceAll('/opt/penstock', join(project, '.')))
  })
  after(() => rmSync(folder, { recursive: true }))
  const analyze = (...words: string[]) =>
    spawnSync(debianProgram('systemd', '/usr/bin/systemd-analyze'), words, { encoding: 'utf8' })

  it('passes systemd-analyze verify', () => {
    const { status, stdout, stderr } = analyze('verify', '--man=no', unit)
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  })

  it(`has an exposure of at most ${highestExposure}`, () => {
    const threshold = `--threshold=${highestExposure * 10}`
    const { status, stdout } = analyze('security', '--offline=true', '--no-pager', threshold, unit)
    assert.equal(status, 0, stdout)
  })

  it('allows more time than a stop needs, and does not restart after a disk failure', () => {
    const text = readFileSync(unit.replace('@all', '@'), 'utf8')
    const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
    const drain = readFileSync(join(project, 'src/http/drain.ts'), 'utf8')
    const longestSeconds = Number(/longestMs = ([\d_]+)/.exec(drain)?.[1]?.replaceAll('_', '')) / 1000
    assert.ok(stopSeconds >= 2 * longestSeconds, `${stopSeconds} s to stop, ${longestSeconds} s to finish requests`)
    assert.match(text, /^RestartPreventExitStatus=74$/m)
  })
})

describe('nginx with our configuration', () => {
  interface Seen {
    method: string
    url: string
    headers: NodeJS.Dict<string | string[]>
    bytes: number
  }

  /** Servers on loopback that record requests. */
  async function serve(
    test: TestContext,
    answer: RequestListener,
    count: number,
  ): Promise<{ ports: number[]; seen: Seen[] }> {
    const seen: Seen[] = []
    const ports: number[] = []
    for (let number = 0; number < count; number++) {
      const server: Server = createServer((incoming, response) => {
        let bytes = 0
        incoming.on('data', (part: Buffer) => {
          bytes += part.length
        })
        incoming.on('end', () => {
          const { method = '', url = '', headers } = incoming
          seen.push({ method, url, headers, bytes })
          answer(incoming, response)
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      test.after(() => {
        server.closeAllConnections()
        server.close()
      })
      ports.push((server.address() as AddressInfo).port)
    }
    return { ports, seen }
  }

  async function start(test: TestContext, ports: number[]): Promise<Nginx> {
    const nginx = await startNginx(ports as [number, number])
    test.after(() => nginx.stop())
    return nginx
  }

  interface Sent {
    method: string
    path?: string
    headers?: Record<string, string>
    body?: string
    localAddress?: string
  }

  function send({ url, ca }: Nginx, { path = '/v1/organizations', body, ...options }: Sent) {
    type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; text: string }
    return new Promise<Answer>((resolve, reject) => {
      const agent = new Agent({ ca })
      const outgoing = request(`${url}${path}`, { agent, servername: 'localhost', ...options }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }

  const hangUp: RequestListener = (incoming) => incoming.socket.destroy()
  const agree: RequestListener = (_incoming, response) => response.end('{"status":200}')
  const key = { 'idempotency-key': 'one' }

  for (const { method, path, headers, times } of [
    { method: 'GET', times: 2 },
    { method: 'POST', times: 1 },
    { method: 'PATCH', times: 1 },
    { method: 'PUT', times: 1 },
    { method: 'DELETE', times: 1 },
    { method: 'POST', headers: key, times: 2 },
    { method: 'PATCH', headers: key, times: 2 },
    { method: 'PUT', headers: key, times: 2 },
    { method: 'DELETE', headers: key, times: 2 },
    { method: 'POST', headers: { 'idempotency-key': '' }, times: 1 },
    { method: 'DELETE', headers: { 'idempotency-key': '' }, times: 1 },
    { method: 'POST', path: '/console/sign-in', headers: key, times: 1 },
    { method: 'DELETE', path: '/console/sessions', headers: key, times: 1 },
  ] satisfies (Sent & { times: number })[] as (Sent & { times: number })[]) {
    const what = [method, path, headers && `with the key ${JSON.stringify(headers['idempotency-key'])}`]
    it(`sends ${what.filter(Boolean).join(' ')} ${times === 1 ? 'once' : 'twice'} when nobody answers`, async (test) => {
      const { ports, seen } = await serve(test, hangUp, 2)
      const answer = await send(await start(test, ports), {
        method,
        ...(path ? { path } : {}),
        ...(headers ? { headers } : {}),
      })
      assert.equal(answer.status, 503)
      assert.equal(answer.headers['retry-after'], '1')
      assert.equal(answer.headers['content-type'], 'application/json')
      assert.equal((JSON.parse(answer.text) as { status: number }).status, 503)
      assert.deepEqual(
        seen.map((each) => each.method),
        Array(times).fill(method),
      )
    })
  }

  it('sends every request to the other process when one is down', async (test) => {
    const { ports, seen } = await serve(test, agree, 1)
    const nginx = await start(test, [await findFreePort(), ...ports])
    for (const method of ['POST', 'PATCH', 'GET', 'POST']) {
      const { status } = await send(nginx, { method, ...(method === 'GET' ? {} : { body: '{"a":1}' }) })
      assert.equal(status, 200)
    }
    assert.deepEqual(
      seen.map(({ method, bytes }) => [method, bytes]),
      [
        ['POST', 7],
        ['PATCH', 7],
        ['GET', 0],
        ['POST', 7],
      ],
    )
  })

  it('forwards the real client address, whatever the client claims', async (test) => {
    const { ports, seen } = await serve(test, agree, 2)
    const headers = { 'x-forwarded-for': '203.0.113.7', host: 'penstock.example.com' }
    await send(await start(test, ports), { method: 'GET', headers, localAddress: '127.0.0.2' })
    assert.equal(seen[0]?.headers['x-forwarded-for'], '127.0.0.2')
    assert.equal(seen[0]?.headers.host, 'penstock.example.com')
    assert.ok(readSettings().PENSTOCK_TRUSTED_PROXIES?.includes('127.0.0.1'))
  })

  it('forwards bodies and paths unchanged, and does not expose metrics', async (test) => {
    const { ports, seen } = await serve(test, agree, 2)
    const nginx = await start(test, ports)
    const path = '/v1/a%2Fb//c?x=%20y'
    const { status } = await send(nginx, { method: 'POST', path, body: 'x'.repeat(1_500_000) })
    assert.deepEqual([status, seen[0]?.url, seen[0]?.bytes], [200, path, 1_500_000])
    assert.equal((await send(nginx, { method: 'POST', body: 'x'.repeat(3_000_000) })).status, 413)
    assert.equal((await send(nginx, { method: 'GET', path: '/metrics' })).status, 404)
    assert.equal(seen.length, 1)
  })

  it('redirects to TLS', async (test) => {
    const { ports } = await serve(test, agree, 2)
    const nginx = await start(test, ports)
    const { status, headers } = await fetch(`${nginx.plainUrl}/console?a=b`, { redirect: 'manual' })
    assert.equal(status, 308)
    assert.equal(headers.get('location'), 'https://127.0.0.1/console?a=b')
  })

  it(`${nginxDrill.ci} ${nginxDrill.unit}: ${nginxDrill.promise}`, { timeout: 240_000 }, async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'penstock-nginx-'))
    test.after(() => rmSync(folder, { recursive: true, force: true }))
    const { isKept, measurements, toLookAt } = await nginxDrill.run({ seed: 1, size: nginxDrill.ci, folder })
    test.diagnostic(JSON.stringify(measurements))
    assert.ok(isKept, `${JSON.stringify(measurements)}: ${toLookAt}`)
    assert.ok(Number(measurements.writes) > 100, `only ${measurements.writes} writes: the kills met an idle Penstock`)
  })
})
