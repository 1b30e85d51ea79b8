import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, it } from 'node:test'
import { Problem } from '../lib/problem.ts'
import { SessionGuard } from './session-guard.ts'

const lifetimeSeconds = 604_800
const secure = new SessionGuard({ publicUrl: 'https://penstock.example.com/', isOnlyOrigin: false, lifetimeSeconds })
const plain = new SessionGuard({ publicUrl: 'http://127.0.0.1:8080', isOnlyOrigin: false, lifetimeSeconds })
const only = new SessionGuard({ publicUrl: 'https://penstock.example.com/', isOnlyOrigin: true, lifetimeSeconds })

function codeOf(work: () => void): string {
  try {
    work()
    return 'passes'
  } catch (error) {
    assert.ok(error instanceof Problem)
    assert.equal(error.status, 403)
    return error.code
  }
}

describe('the cookie of a session', () => {
  it('is unavailable to scripts and other sites, and with TLS to other hosts and plain connections', () => {
    assert.deepEqual(secure.cookies({ sessionToken: 'ses_1' }), [
      '__Host-penstock-session=ses_1; Max-Age=604800; Path=/; HttpOnly; SameSite=Strict; Secure',
    ])
    assert.deepEqual(plain.cookies({ sessionToken: 'ses_1', deviceToken: 'dev_1' }), [
      'penstock-session=ses_1; Max-Age=604800; Path=/; HttpOnly; SameSite=Strict',
      'penstock-device=dev_1; Max-Age=34560000; Path=/; HttpOnly; SameSite=Strict',
    ])
  })

  it('is deleted with the attributes that it was set with', () => {
    assert.deepEqual(secure.cookies({ sessionToken: null }), [
      '__Host-penstock-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure',
    ])
  })

  it('is found among others, and ignored when there are two', () => {
    const cases: [string | undefined, string | undefined][] = [
      [undefined, undefined],
      ['', undefined],
      ['penstock-session=a', 'a'],
      ['theme=dark; penstock-session=a; other=b', 'a'],
      ['theme=dark;penstock-session=a', 'a'],
      ['penstock-session=a; penstock-session=b', undefined],
      ['penstock-session=a; penstock-session=a', undefined],
      ['__Host-penstock-session=a', undefined],
      ['xpenstock-session=a', undefined],
      ['Penstock-Session=a', undefined],
      ['penstock-session', undefined],
      ['=penstock-session=a', undefined],
      ['penstock-session=a=b', 'a=b'],
    ]
    for (const [cookie, token] of cases) {
      assert.equal(plain.readToken(cookie === undefined ? {} : { cookie }), token, cookie)
    }
    assert.equal(secure.readToken({ cookie: 'penstock-session=a' }), undefined)
    assert.equal(secure.readToken({ cookie: '__Host-penstock-session=a; penstock-session=b' }), 'a')
  })
})

describe('the origin of a request with a session', () => {
  const cases: [method: string, headers: IncomingHttpHeaders, expected: string][] = [
    ['POST', { host: 'penstock.example.com', origin: 'https://penstock.example.com' }, 'passes'],
    // A proxy may send the host name of the machine behind it.
    ['POST', { host: '10.0.0.7:8080', origin: 'https://penstock.example.com' }, 'passes'],
    ['POST', { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' }, 'passes'],
    ['POST', { host: 'localhost:80', origin: 'http://localhost' }, 'passes'],
    ['POST', { host: 'localhost:443', origin: 'https://localhost' }, 'passes'],
    ['DELETE', { host: '[::1]:8080', origin: 'http://[::1]:8080', 'sec-fetch-site': 'same-origin' }, 'passes'],
    ['POST', { host: 'penstock.example.com' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', 'sec-fetch-site': 'same-origin' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', origin: '' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', origin: 'null' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', origin: 'https://attacker.example' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', origin: 'https://x.penstock.example.com' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', origin: 'https://penstock.example.com.attacker.example' }, 'cross_origin'],
    ['POST', { host: 'penstock.example.com', origin: 'https://penstock.example.com:8443' }, 'cross_origin'],
    ['POST', { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8081' }, 'cross_origin'],
    ['POST', { host: '127.0.0.1:8080', origin: 'http://localhost:8080' }, 'cross_origin'],
    ['POST', { host: 'a', origin: 'chrome-extension://a' }, 'cross_origin'],
    ['POST', { origin: 'http://' }, 'cross_origin'],
    ['POST', { origin: 'https://attacker.example' }, 'cross_origin'],
    ['GET', { host: 'penstock.example.com' }, 'passes'],
    ['GET', { host: 'penstock.example.com', 'sec-fetch-site': 'same-origin' }, 'passes'],
    ['GET', { host: 'penstock.example.com', 'sec-fetch-site': 'none' }, 'passes'],
    ['GET', { host: 'penstock.example.com', 'sec-fetch-site': 'same-site' }, 'cross_origin'],
    ['GET', { host: 'penstock.example.com', 'sec-fetch-site': 'cross-site' }, 'cross_origin'],
    ['GET', { host: 'penstock.example.com', 'sec-fetch-site': 'same-origin, same-origin' }, 'cross_origin'],
  ]
  for (const [method, headers, expected] of cases) {
    it(`${method} with ${JSON.stringify(headers)}: ${expected}`, () => {
      assert.equal(
        codeOf(() => secure.requireSameOrigin(method, headers)),
        expected,
      )
    })
  }
  const underOneAddress: [host: string, origin: string, expected: string][] = [
    ['penstock.example.com', 'https://penstock.example.com', 'passes'],
    ['10.0.0.7:8080', 'https://penstock.example.com', 'passes'],
    ['10.0.0.7:8080', 'http://10.0.0.7:8080', 'cross_origin'],
    ['127.0.0.1:8080', 'http://127.0.0.1:8080', 'cross_origin'],
    ['penstock.example.com', 'http://penstock.example.com', 'cross_origin'],
    // A foreign name that resolves to this machine.
    ['rebound.attacker.example', 'https://rebound.attacker.example', 'cross_origin'],
  ]
  for (const [host, origin, expected] of underOneAddress) {
    it(`with an address that the operator has set, ${origin} at ${host}: ${expected}`, () => {
      assert.equal(
        codeOf(() => only.requireSameOrigin('POST', { host, origin })),
        expected,
      )
    })
  }
  for (const site of ['cross-site', 'same-site', 'none', '']) {
    it(`a change with Sec-Fetch-Site ${site} is refused whatever the Origin is`, () => {
      const headers = { origin: 'https://penstock.example.com', 'sec-fetch-site': site }
      assert.equal(
        codeOf(() => secure.requireSameOrigin('PATCH', headers)),
        'cross_origin',
      )
    })
  }
})

describe('the CSRF token', () => {
  it('is required for every method except GET, exactly', () => {
    const expected = 'f'.repeat(64)
    assert.equal(
      codeOf(() => secure.requireCsrfToken('GET', {}, expected)),
      'passes',
    )
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      assert.equal(
        codeOf(() => secure.requireCsrfToken(method, { 'x-csrf-token': expected }, expected)),
        'passes',
      )
      for (const sent of [undefined, '', 'f'.repeat(63), 'F'.repeat(64), `${expected}f`, 'é'.repeat(32)]) {
        const headers = sent === undefined ? {} : { 'x-csrf-token': sent }
        assert.equal(
          codeOf(() => secure.requireCsrfToken(method, headers, expected)),
          'csrf_token_mismatch',
        )
      }
    }
  })
})
