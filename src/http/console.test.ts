// S1 for console actions. Generated from their list, so that new actions are covered.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { consoleActions } from '../execution/console-actions.ts'

onBothDatabases('actions of the console', (app) => {
  const session = async (more: { expireAt?: string } = {}) => app().addSession(app().sample.adminUserId, more)
  const origin = 'https://penstock.example.com'

  for (const action of consoleActions) {
    const send = (headers: Record<string, string>, body?: unknown) =>
      app().request(action.method, action.path, {
        key: null,
        headers: { ...headers, accept: 'application/problem+json' },
        address: freshAddress(),
        ...(body === undefined ? {} : { body }),
      })

    it(`S1 ${action.id} is for ${action.access === 'anyone' ? 'everyone' : 'people who are signed in'}`, async () => {
      const { 'x-csrf-token': _token, ...withoutToken } = (await session()).headers
      const ended = await session({ expireAt: new Date().toISOString() })
      const unknown = { ...withoutToken, cookie: `__Host-penstock-session=ses_${'0'.repeat(43)}` }
      for (const headers of [{ origin }, ended.headers, unknown]) {
        const response = await send(headers as Record<string, string>)
        if (action.access === 'anyone') assert.notEqual(response.body.code, 'unauthorized')
        else {
          assert.equal(response.status, 401)
          assert.equal(response.headers['www-authenticate'], undefined)
        }
      }
      if (action.access === 'person' && action.method !== 'GET') {
        assert.equal((await send(withoutToken)).body.code, 'csrf_token_mismatch')
        const another = { ...withoutToken, 'x-csrf-token': (await session()).csrfToken }
        assert.equal((await send(another)).body.code, 'csrf_token_mismatch')
      }
    })

    it(`S1 ${action.id} is not for other sites`, async () => {
      const { headers } = await session()
      const { origin: _origin, ...withoutOrigin } = headers
      const foreign: Record<string, string>[] = [
        { ...headers, 'sec-fetch-site': 'cross-site' },
        { ...headers, 'sec-fetch-site': 'same-site' },
      ]
      if (action.method !== 'GET') {
        foreign.push(withoutOrigin, { ...headers, origin: 'null' }, { ...headers, origin: 'https://attacker.example' })
      }
      for (const each of foreign) {
        const response = await send(each)
        assert.equal(response.status, 403)
        assert.equal(response.body.code, 'cross_origin')
        assert.equal(response.headers['set-cookie'], undefined)
      }
    })

    it(`S2 ${action.id} accepts the fields of its shape only`, async () => {
      const { headers } = await session()
      if (action.method === 'GET') return
      const refused = action.body ? [{ notAField: 1 }, [], 'text', 7, null] : [{}]
      for (const body of refused) assert.equal((await send(headers, body)).status, 400, JSON.stringify(body))
      if (action.body) assert.equal((await send(headers)).status, 400)
      const response = await app().request(action.method, `${action.path}?a=b`, { session: await session(), body: {} })
      assert.equal(response.status, 400)
    })
  }

  it('S2 accept bodies of up to 8 KiB', async () => {
    const send = (bytes: number) =>
      app().request('POST', '/console/api/session', {
        key: null,
        headers: { origin },
        address: freshAddress(),
        text: JSON.stringify({ email: 'a@northwind.example', password: 'x' }).padEnd(bytes),
      })
    assert.equal((await send(8_192)).status, 401)
    const { status, body } = await send(8_193)
    assert.equal(status, 413)
    assert.equal(body.error, 'PAYLOAD_TOO_LARGE: the body is larger than 8192 bytes')
  })

  it('accept the longest texts that their shapes allow, also JSON-escaped', async () => {
    const spelt = (count: number) => '\\ud83d\\ude00'.repeat(count)
    const { headers } = await session()
    const text = `{"currentPassword":"${spelt(256)}","newPassword":"${spelt(256)}"}`
    const { status } = await app().request('POST', '/console/api/account/password', { key: null, headers, text })
    assert.equal(status, 400)
  })

  it('are not in the OpenAPI document', async () => {
    const { text } = await app().request('GET', '/v1', { key: null })
    assert.doesNotMatch(text, /\/console\/api/)
  })

  it('are counted and logged by name', async () => {
    const { headers } = await session()
    await app().request('GET', '/console/api/session', { key: null, headers })
    const metrics = await app().request('GET', '/metrics', { key: null })
    assert.match(metrics.text, /penstock_http_requests_total\{operation="getSession",status="200"\} \d/)
    assert.match(app().logged.join(''), new RegExp(`"operation":"getSession".*"userId":"${app().sample.adminUserId}"`))
  })
})
