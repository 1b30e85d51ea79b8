// S2: twenty thousand requests with damaged bytes.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { operations } from '../../src/operations.ts'
import { drillSeed, drillSize } from '../harness/drill.ts'
import { randomNumbers } from '../harness/fuzz.ts'
import { basic, openTestApp, type TestApp } from '../harness/test-app.ts'
import { asksEngine, freshAddress, makeIds, pathOf } from '../harness/world.ts'

const size = drillSize(100_000)
const damagedRequests = 0.2 * size
const connectionsAtOnce = 16
const seed = drillSeed()

describe(`S2 damaged bytes (PENSTOCK_DRILL_SEED=${seed})`, () => {
  let app: TestApp
  before(async () => {
    // Each request has another client address: otherwise the throttle of failed authentications would answer.
    app = await openTestApp('sqlite', { logLevel: 'silent', trustedProxies: ['127.0.0.1'] })
  })
  after(() => app?.close())

  it(`S2 survives ${damagedRequests} damaged requests, and answers none with a 5xx`, {
    timeout: 6 * size + 60_000,
  }, async () => {
    const url = new URL(await app.app.listen())
    const chance = randomNumbers(seed)
    const { organizationId, userId, serviceId } = app.sample
    const ids = await makeIds(app, app.admin, { organizationId, userId, serviceId })
    const answered = operations.filter(({ id }) => !asksEngine.includes(id))
    const whole = answered.map((operation) => () => {
      const body = operation.example.body === undefined ? '' : JSON.stringify(operation.example.body)
      return Buffer.from(
        `${operation.method} ${pathOf(operation, ids)} HTTP/1.1\r\nHost: ${url.host}\r\n` +
          `Authorization: ${basic(app.admin)}\r\nContent-Type: application/json\r\nConnection: close\r\nX-Forwarded-For: ${freshAddress()}\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    })
    const statuses: Record<string, number> = {}
    let sent = 0
    const client = async (): Promise<void> => {
      while (sent++ < damagedRequests) {
        const bytes = damaged(whole[Math.floor(chance() * whole.length)]!(), chance)
        const answer = await exchange(Number(url.port), bytes)
        const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none'
        statuses[status] = (statuses[status] ?? 0) + 1
        assert.ok(!status.startsWith('5'), `${JSON.stringify(bytes.toString('latin1'))} → ${answer}`)
      }
    }
    await Promise.all(Array.from({ length: connectionsAtOnce }, client))
    console.log(`S2 damaged: ${JSON.stringify(statuses)}`)
    const health = await fetch(new URL('/ready', url), { signal: AbortSignal.timeout(30_000) })
    assert.equal(health.status, 200)
    assert.ok(statuses['400']! > 100, 'the damage was noticed')
  })
})

/** Changes, removes, duplicates or inserts a few bytes anywhere. */
function damaged(bytes: Buffer, chance: () => number): Buffer {
  let result = Buffer.from(bytes)
  for (let times = 1 + Math.floor(chance() * 3); times > 0; times--) {
    const at = Math.floor(chance() * result.length)
    const random = Buffer.from([Math.floor(chance() * 256)])
    const kind = Math.floor(chance() * 4)
    if (kind === 0) result[at] = random[0]!
    else if (kind === 1) result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1)])
    else if (kind === 2) result = Buffer.concat([result.subarray(0, at), random, result.subarray(at)])
    else result = Buffer.concat([result.subarray(0, at), result.subarray(Math.max(0, at - 20))])
  }
  return result
}

/** The answer until the server closes the connection or evidently waits for more. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    const done = (): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(200, done)
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('close', done)
    socket.on('error', done)
    socket.end(bytes)
  })
}
