// The HTTP server: 401, 403 and 429.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { comparable, nobody, problemJson, serverRequests, uuidV4 } from '../../test/harness/server.ts'
import { stopClock } from '../../test/harness/stopped-clock.ts'
import { basic, type Key, onBothDatabases, type TestResponse } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { hashSecret, newKey } from '../keys/key.ts'
import { Secret } from '../lib/secret.ts'

onBothDatabases('the server', (app) => {
  const { memberPath, patch } = serverRequests(app)

  describe('401', () => {
    it('is the same response for every error in the credentials', async () => {
      const { organizationId } = app().sample
      const { admin } = app()
      const yesterday = new Date(Date.now() - 86_400_000).toISOString()
      const send = (authorization: string | undefined) =>
        app().request('GET', memberPath(), {
          key: null,
          address: freshAddress(),
          headers: authorization === undefined ? {} : { authorization },
        })
      const encoded = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
      const wrong: Record<string, string | undefined> = {
        'no header': undefined,
        'an empty header': '',
        'an unknown key': basic({ ...admin, keyId: 'x'.repeat(20) }),
        'a wrong secret': basic({ ...admin, secret: newKey(app().app.vault).secret.reveal() }),
        'another key’s secret': basic({ ...admin, secret: app().developer.secret }),
        'a secret cut short': basic({ ...admin, secret: admin.secret.slice(0, -1) }),
        'a secret with more': basic({ ...admin, secret: `${admin.secret} ` }),
        'no secret': encoded(`${admin.keyId}:`),
        'no key id': encoded(`:${admin.secret}`),
        'no colon': encoded(admin.keyId),
        'a key id in other letters': basic({ ...admin, keyId: swapCase(admin.keyId) }),
        'a disabled key': basic(await app().addKey(organizationId, 'admin', { state: 'disabled' })),
        'an expired key': basic(await app().addKey(organizationId, 'admin', { expireAt: yesterday })),
        Bearer: `Bearer ${admin.secret}`,
        'another scheme with the same value': basic(admin).replace('Basic', 'Digest'),
        'no scheme': basic(admin).replace('Basic ', ''),
        'nothing after the scheme': 'Basic',
        'bad base64': `${basic(admin)}!`,
        'base64 without its padding': 'Basic YTpiYw',
        'base64 in two pieces': basic(admin).replace(/.{4}$/, ' $&'),
        'bytes that are not UTF-8': `Basic ${Buffer.from([0x61, 0x3a, 0xff]).toString('base64')}`,
        'a NUL in the secret': encoded(`${admin.keyId}:${admin.secret}\u0000`),
        'a key id of a thousand characters': encoded(`${'a'.repeat(1_000)}:b`),
        'a header of three thousand': encoded(`${admin.keyId}:${'a'.repeat(2_000)}`),
        'a NUL in the key id': encoded(`a\u0000b:${admin.secret}`),
      }
      const expected = comparable(await send(undefined))
      assert.equal(expected.status, 401)
      assert.equal(expected.headers['www-authenticate'], 'Basic realm="penstock"')
      for (const [name, authorization] of Object.entries(wrong)) {
        assert.deepEqual(comparable(await send(authorization)), expected, name)
      }
    })

    it('is not answered to a key that expires later', async () => {
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
      const key = await app().addKey(app().sample.organizationId, 'developer', { expireAt: tomorrow })
      assert.equal((await app().request('GET', memberPath(), { key })).status, 200)
    })

    it('is answered from the next request on when a key is disabled', async () => {
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const send = () => app().request('GET', memberPath(), { key, address: '198.18.255.1' })
      assert.equal((await send()).status, 200)
      await app().query(`UPDATE api_keys SET state = 'disabled' WHERE key_id = '${key.keyId}'`)
      assert.equal((await send()).status, 401)
    })

    it('is not answered for the scheme in other letters, or for more spaces', async () => {
      for (const scheme of ['basic ', 'BASIC ', 'bAsIc ', 'Basic   ']) {
        const headers = { authorization: basic(app().admin).replace('Basic ', scheme) }
        assert.equal((await app().request('GET', memberPath(), { key: null, headers })).status, 200, scheme)
      }
    })

    it('is not answered for a secret with colons in it', async () => {
      const secret = 'pst_:with:colons::'
      const made = newKey(app().app.vault)
      const key = { ...made, secret: new Secret(secret), secretHash: hashSecret(app().app.vault, secret) }
      await app().addKey(app().sample.organizationId, 'developer', { key })
      const send = (text: string) =>
        app().request('GET', memberPath(), { key: { keyId: made.keyId, secret: text }, address: '198.18.255.2' })
      assert.equal((await send(secret)).status, 200)
      assert.equal((await send('pst_')).status, 401)
      assert.equal((await send('pst_:with:colons:')).status, 401)
    })
  })

  describe('403', () => {
    it('is for addresses outside the key’s IP access list', async () => {
      const { organizationId } = app().sample
      const sources = ['192.0.2.7', '10.20.0.0/16', '2001:db8::1', 'fd00:1234::/32']
      const ipAccessList = sources.map((source) => ({ source, description: 'test' }))
      const key = await app().addKey(organizationId, 'admin', { ipAccessList })
      const send = (address: string) => app().request('GET', memberPath(), { key, address })
      for (const address of [
        '192.0.2.7',
        '10.20.0.0',
        '10.20.255.255',
        '2001:db8::1',
        '2001:db8:0:0:0:0:0:1',
        'fd00:1234:ffff::9',
        '::ffff:192.0.2.7',
        '::ffff:10.20.3.4',
      ]) {
        assert.equal((await send(address)).status, 200, address)
      }
      for (const [address, told] of [
        ['192.0.2.8', '192.0.2.8'],
        ['10.21.0.1', '10.21.0.1'],
        ['2001:db8::2', '2001:db8::2'],
        ['fd00:1235::1', 'fd00:1235::1'],
        ['::ffff:192.0.2.8', '192.0.2.8'],
        ['127.0.0.1', '127.0.0.1'],
        ['::1', '::1'],
      ] as const) {
        const { status, body } = await send(address)
        assert.equal(status, 403, address)
        assert.equal(
          body.error,
          `FORBIDDEN: the key may not be used from ${told}: the address is not in its IP access list`,
        )
      }
    })

    it('does not believe X-Forwarded-For of a proxy that the operator has not named', async () => {
      const ipAccessList = [{ source: '192.0.2.7', description: 'test' }]
      const key = await app().addKey(app().sample.organizationId, 'admin', { ipAccessList })
      const headers = { 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.7', 'x-real-ip': '192.0.2.7' }
      assert.equal((await app().request('GET', memberPath(), { key, headers })).status, 403)
    })

    it('is not returned for a wrong secret', async () => {
      const ipAccessList = [{ source: '192.0.2.7', description: 'test' }]
      const key = await app().addKey(app().sample.organizationId, 'admin', { ipAccessList })
      const send = (address: string) =>
        app().request('GET', memberPath(), { key: { ...key, secret: 'pst_wrong' }, address })
      assert.equal((await send(freshAddress())).status, 401)
      assert.equal((await send('192.0.2.7')).status, 401)
    })
  })

  describe('the rate limit', () => {
    it('is off by default, without rate-limit headers', async () => {
      for (const answer of [await app().request('GET', memberPath()), await patch({ body: {} })]) {
        assert.deepEqual(
          Object.keys(answer.headers).filter((name) => name.includes('ratelimit')),
          [],
        )
      }
    })
  })

  describe('failed authentications', () => {
    const guess = (key: Key | null, address: string) => app().request('GET', memberPath(), { key, address })
    const wrong = () => ({ keyId: newKey(app().app.vault).keyId, secret: 'pst_wrong' })

    it('are counted by address: 20 at once, then one per second', async (t) => {
      const clock = stopClock(t)
      const address = freshAddress()
      for (let count = 0; count < 20; count++) {
        assert.equal((await guess(wrong(), address)).status, 401, `guess ${count}`)
      }
      const { status, body, headers } = await guess(wrong(), address)
      assert.equal(status, 429)
      assert.match(body.error, /^TOO_MANY_REQUESTS: too many failed authentications/)
      assert.equal(headers['retry-after'], '1')
      assert.match(String(headers['x-request-id']), uuidV4)
      assert.equal((await guess(wrong(), freshAddress())).status, 401)

      clock.advance(1_000)
      assert.equal((await guess(wrong(), address)).status, 401)
      assert.equal((await guess(wrong(), address)).status, 429)
    })

    it('do not block valid keys or sessions', async (t) => {
      stopClock(t)
      const address = freshAddress()
      const session = await app().addSession(app().sample.userId)
      const guesses = Array.from({ length: 60 }, () => guess(wrong(), address))
      const right = Array.from({ length: 5 }, () => guess(app().admin, address))
      const inConsole = app().request('GET', memberPath(), { session, address })
      const statuses = (await Promise.all(guesses)).map(({ status }) => status)
      assert.deepEqual(statuses.toSorted(), [...Array(20).fill(401), ...Array(40).fill(429)])
      for (const answer of await Promise.all([...right, inConsole, guess(app().admin, address)])) {
        assert.equal(answer.status, 200)
      }
    })

    it('expire by the monotonic clock, not by the system time', async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
      const clock = stopClock(t)
      const address = freshAddress()
      for (let count = 0; count < 20; count++) await guess(wrong(), address)
      t.mock.timers.setTime(Date.now() - 3_600_000)
      clock.advance(1_000)
      assert.equal((await guess(wrong(), address)).status, 401)
      t.mock.timers.setTime(Date.now() + 7_200_000)
      assert.equal((await guess(wrong(), address)).status, 429)
    })

    it('are counted for an IPv4 address and its IPv6 form together', async (t) => {
      stopClock(t)
      const address = freshAddress()
      for (let count = 0; count < 20; count++) await guess(wrong(), count % 2 ? address : `::ffff:${address}`)
      assert.equal((await guess(wrong(), address)).status, 429)
      assert.equal((await guess(wrong(), `::ffff:${address}`)).status, 429)
    })

    it('are counted by key id too, without blocking the valid secret', async (t) => {
      stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const attack = () => guess({ ...key, secret: 'pst_wrong' }, freshAddress())
      for (let count = 0; count < 20; count++) assert.equal((await attack()).status, 401, `guess ${count}`)
      assert.equal((await attack()).status, 429)
      assert.equal((await guess(key, freshAddress())).status, 200)
      assert.equal((await attack()).status, 429)
    })

    it('do not include requests without credentials', async (t) => {
      stopClock(t)
      const address = freshAddress()
      const sent = async (authorization: string) =>
        (await app().request('GET', memberPath(), { key: null, address, headers: { authorization } })).status
      for (let count = 0; count < 25; count++) assert.equal((await guess(null, address)).status, 401)
      for (let count = 0; count < 20; count++) assert.equal(await sent(count % 2 ? '' : 'Bearer x'), 401)
      assert.equal(await sent('Bearer x'), 429)
      assert.equal((await guess(null, address)).status, 401)
    })

    it('do not include requests that were authenticated and then refused', async () => {
      const address = freshAddress()
      for (let count = 0; count < 25; count++) {
        assert.equal((await patch({ key: app().developer, address })).status, 403)
      }
      assert.equal((await guess(app().developer, address)).status, 200)
    })
  })
})

onBothDatabases(
  'the server with a rate limit',
  (app) => {
    const memberPath = (organizationId = app().sample.organizationId, userId = app().sample.userId) =>
      `/v1/organizations/${organizationId}/members/${userId}`
    const rateOf = ({ headers }: TestResponse) =>
      ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`])

    it('has headers in every response, also in errors', async (t) => {
      const clock = stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const ok = await app().request('GET', memberPath(), { key })
      assert.equal(ok.status, 200)
      assert.deepEqual(rateOf(ok), ['3', '2', '10'])
      assert.equal(ok.headers['retry-after'], undefined)
      clock.advance(3_500)
      const notFound = await app().request('GET', memberPath(undefined, nobody), { key })
      assert.equal(notFound.status, 404)
      assert.deepEqual(rateOf(notFound), ['3', '1', '7'])
      const forbidden = await app().request('PATCH', memberPath(), { key, body: {} })
      assert.equal(forbidden.status, 403)
      assert.deepEqual(rateOf(forbidden), ['3', '0', '7'])
    })

    it('answers 429 when the limit is used up, until the window ends', async (t) => {
      const clock = stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      const send = (headers = {}) => app().request('GET', memberPath(), { key, headers })
      for (let count = 0; count < 3; count++) assert.equal((await send()).status, 200)
      clock.advance(6_000)
      const limited = await send()
      assert.equal(limited.status, 429)
      assert.deepEqual(limited.body, {
        error: 'TOO_MANY_REQUESTS: the key may make 3 requests in 10 s; try again in 4 s',
        status: 429,
      })
      assert.deepEqual(rateOf(limited), ['3', '0', '4'])
      assert.equal(limited.headers['retry-after'], '4')
      assert.match(String(limited.headers['x-request-id']), uuidV4)
      assert.equal((await send(problemJson)).body.code, 'too_many_requests')

      clock.advance(3_999)
      assert.equal((await send()).status, 429)
      clock.advance(1)
      const again = await send()
      assert.equal(again.status, 200)
      assert.deepEqual(rateOf(again), ['3', '2', '10'])
    })

    it('counts each key separately, from all addresses together', async (t) => {
      stopClock(t)
      const { organizationId } = app().sample
      const keys = [await app().addKey(organizationId, 'developer'), await app().addKey(organizationId, 'developer')]
      const send = (key: Key) => app().request('GET', memberPath(), { key, address: freshAddress() })
      for (let count = 0; count < 3; count++) await send(keys[0]!)
      assert.equal((await send(keys[0]!)).status, 429)
      assert.deepEqual(rateOf(await send(keys[1]!)).slice(0, 2), ['3', '2'])
    })

    it('comes after authentication and before everything else', async (t) => {
      stopClock(t)
      const key = await app().addKey(app().sample.organizationId, 'developer')
      for (let count = 0; count < 3; count++) await app().request('GET', memberPath(), { key })
      for (const url of [memberPath(nobody), memberPath(undefined, 'malformed')]) {
        assert.equal((await app().request('PATCH', url, { key, text: '{' })).status, 429)
      }
      const guess = await app().request('GET', memberPath(), {
        key: { ...key, secret: 'pst_wrong' },
        address: freshAddress(),
      })
      assert.equal(guess.status, 401)
      assert.deepEqual(rateOf(guess), [undefined, undefined, undefined])
    })

    it('does not count guesses against the key', async () => {
      const key = await app().addKey(app().sample.organizationId, 'developer')
      for (let count = 0; count < 5; count++) {
        await app().request('GET', memberPath(), { key: { ...key, secret: 'pst_wrong' }, address: freshAddress() })
      }
      assert.equal((await app().request('GET', memberPath(), { key })).headers['x-ratelimit-remaining'], '2')
    })
  },
  { rateLimit: { requests: 3, windowSeconds: 10 } },
)

onBothDatabases(
  'the server behind a proxy',
  (app) => {
    it('uses the address from the trusted proxy only', async () => {
      const { organizationId, userId } = app().sample
      const ipAccessList = [{ source: '192.0.2.7', description: 'test' }]
      const key = await app().addKey(organizationId, 'developer', { ipAccessList })
      const send = (address: string, forwardedFor: string) =>
        app().request('GET', `/v1/organizations/${organizationId}/members/${userId}`, {
          key,
          address,
          headers: { 'x-forwarded-for': forwardedFor },
        })
      assert.equal((await send('10.0.0.1', '192.0.2.7')).status, 200)
      assert.equal((await send('10.0.0.1', '203.0.113.1, 192.0.2.7')).status, 200)
      assert.equal((await send('10.0.0.1', '192.0.2.7, 203.0.113.1')).status, 403)
      assert.equal((await send('10.0.0.2', '192.0.2.7')).status, 403)
      for (const nonsense of ['unknown', '192.0.2.7:4711', '', ',', '[', '999.0.0.1']) {
        assert.equal((await send('10.0.0.1', nonsense)).status, 403, nonsense)
      }
    })
  },
  { trustedProxies: ['10.0.0.1'] },
)

function swapCase(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}
