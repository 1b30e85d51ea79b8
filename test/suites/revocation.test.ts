// A key that loses its rights during its request does not get the request through.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { basic, type Key, onBothDatabases } from '../harness/test-app.ts'
import { freshAddress } from '../harness/world.ts'

const races = 50

onBothDatabases('revocation', (app) => {
  let port: number
  before(async () => {
    port = Number(new URL(await app().app.listen()).port)
  })

  async function makeKeys(count: number) {
    const { organizationId, admin } = await app().addOrganization()
    const path = `/v1/organizations/${organizationId}/keys`
    const keys: { id: string; key: Key }[] = []
    for (let made = 0; made < count; made++) {
      const { body } = await app().request('POST', path, {
        key: admin,
        body: { name: `key ${made}`, roles: ['admin'] },
      })
      keys.push({ id: body.result.key.id, key: { keyId: body.result.keyId, secret: body.result.keySecret } })
    }
    const { body } = await app().request('GET', `${path}/current`, { key: admin })
    return { organizationId, path, keys, admin, adminId: body.result.id as string }
  }

  it(`leaves an admin key when two keys revoke each other, ${races} times`, async () => {
    for (let race = 0; race < races; race++) {
      const { path, keys, adminId } = await makeKeys(2)
      const [one, other] = keys as [(typeof keys)[0], (typeof keys)[0]]
      assert.equal((await app().request('DELETE', `${path}/${adminId}`, { key: one.key })).status, 200)
      const blow = (by: Key, id: string) =>
        race % 3 === 0
          ? app().request('DELETE', `${path}/${id}`, { key: by, address: freshAddress() })
          : app().request('PATCH', `${path}/${id}`, {
              key: by,
              address: freshAddress(),
              body: race % 3 === 1 ? { roles: ['developer'] } : { state: 'disabled' },
            })
      const answers = await Promise.all([blow(one.key, other.id), blow(other.key, one.id)])
      const statuses = answers.map(({ status }) => status).toSorted()
      assert.equal(statuses[0], 200)
      assert.ok([401, 403].includes(statuses[1]!), String(statuses))
    }
  })

  describe('of a key during its request', () => {
    for (const [what, change, status] of [
      ['deleted', undefined, 401],
      ['disabled', { state: 'disabled' }, 401],
      ['expired', { expireAt: '2020-01-01T00:00:00Z' }, 401],
      ['demoted', { roles: ['developer'] }, 403],
    ] as const) {
      it(`refuses the write when the key was ${what} during the request`, async () => {
        const { organizationId, path, keys, admin } = await makeKeys(1)
        const [{ id, key }] = keys as [(typeof keys)[0]]
        const body = '{"name": "Renamed"}'
        const socket = connect(port, '127.0.0.1')
        let answer = ''
        socket.on('data', (chunk) => {
          answer += chunk.toString()
        })
        const ended = new Promise((resolve) => socket.on('close', resolve))
        socket.write(
          `PATCH /v1/organizations/${organizationId} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic(key)}\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body.slice(0, 5)}`,
        )
        await sleep(100)
        const method = change ? 'PATCH' : 'DELETE'
        const revoked = await app().request(method, `${path}/${id}`, {
          key: admin,
          ...(change ? { body: change } : {}),
        })
        assert.equal(revoked.status, 200)
        socket.write(body.slice(5))
        await ended
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
        const after = await app().request('GET', `/v1/organizations/${organizationId}`, { key: admin })
        assert.equal(after.body.result.name, 'Another')
      })
    }
  })
})
