// The HTTP server: Idempotency-Key.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { comparable, problemJson, serverRequests } from '../../test/harness/server.ts'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'

onBothDatabases('the server', (app) => {
  const { memberPath, endpointPath, patch } = serverRequests(app)

  describe('Idempotency-Key', () => {
    const create = (body: unknown, idempotencyKey: string, options: RequestOptions = {}) =>
      app().request('POST', endpointPath(), { body, headers: { 'idempotency-key': idempotencyKey }, ...options })
    const activitiesOf = (endpointId: string) =>
      app().query(`SELECT id FROM activities WHERE target LIKE '%"${endpointId}"%'`)

    it('gives the same answer to the same POST, and applies it once', async () => {
      const id = newId()
      const key = newId()
      const first = await create({ id, description: 'Analytics' }, key)
      assert.equal(first.status, 200)
      assert.match(String(first.headers.warning), /^199 /)
      // Detached in between: running the request again would attach it again.
      await app().query(`DELETE FROM service_private_endpoints WHERE endpoint_id = '${id}'`)
      const again = await create({ id, description: 'Analytics' }, key)
      assert.equal(again.status, 200)
      assert.deepEqual(again.body.result, first.body.result)
      assert.deepEqual(comparable(again).headers, comparable(first).headers)
      assert.equal((await activitiesOf(id)).length, 1)
      const rows = await app().query(`SELECT * FROM service_private_endpoints WHERE endpoint_id = '${id}'`)
      assert.deepEqual(rows, [])
    })

    it('gives the same answer to the same PATCH, and applies it once', async () => {
      const { organizationId } = app().sample
      const url = memberPath(organizationId, await app().addMember(organizationId, 'developer'))
      const promote = () =>
        app().request('PATCH', url, {
          body: { role: 'admin' },
          headers: { 'idempotency-key': `once ${url.slice(-36)}` },
        })
      const first = await promote()
      assert.equal(first.status, 200)
      await app().request('PATCH', url, { body: { role: 'developer' } })
      const again = await promote()
      assert.equal(again.status, 200)
      assert.deepEqual(again.body.result, first.body.result)
      assert.equal(again.headers.etag, first.headers.etag)
      assert.equal((await app().request('GET', url)).body.result.role, 'developer')
    })

    it('ignores white space in a body', async () => {
      const id = newId()
      const key = newId()
      await create({ id, description: '' }, key)
      const again = await create(undefined, key, {
        text: ` { "id" : "${id}", "description": "" } `,
        headers: { 'idempotency-key': key, 'content-type': 'application/json; charset=utf-8' },
      })
      assert.equal(again.status, 200)
    })

    it('is refused with 409 for another request', async () => {
      const id = newId()
      const key = newId()
      const headers = { 'idempotency-key': key }
      await create({ id }, key)
      const secondService = await app().addService(app().sample.organizationId)
      for (const send of [
        () => create({ id: newId() }, key),
        () => create({ id, description: '' }, key),
        () => app().request('POST', `${endpointPath()}?strict=false`, { body: { id }, headers }),
        () => app().request('POST', endpointPath(secondService), { body: { id }, headers }),
        () => patch({ headers }),
      ]) {
        const { status, body } = await send()
        assert.equal(status, 409)
        assert.equal(
          body.error,
          'CONFLICT: the Idempotency-Key was used before for another request; use a new key for a new request',
        )
      }
      const rich = await create({ id: newId() }, key, { headers: { ...headers, ...problemJson } })
      assert.equal(rich.body.code, 'idempotency_key_reused')
    })

    it('belongs to the API key that used it', async () => {
      const key = newId()
      const other = await app().addKey(app().sample.organizationId, 'admin')
      const id = newId()
      assert.equal((await create({ id: newId() }, key)).status, 200)
      const { status, body } = await create({ id }, key, { key: other })
      assert.equal(status, 200)
      assert.equal(body.result.id, id)
    })

    it('is not spent by a request that failed', async () => {
      const key = newId()
      const taken = newId()
      await create({ id: taken, description: 'Analytics' }, newId())
      assert.equal((await create({ id: '' }, key)).status, 400)
      assert.equal((await create({ id: taken }, key)).status, 409)
      assert.equal((await create({ id: newId() }, key)).status, 200)
    })

    it('is forgotten after 24 hours', async () => {
      const key = newId()
      await create({ id: newId() }, key)
      const age = async (hours: number) => {
        const then = new Date(Date.now() - hours * 3_600_000).toISOString()
        await app().query(`UPDATE idempotency_records SET created_at = '${then}' WHERE idempotency_key = '${key}'`)
      }
      await age(23.9)
      assert.equal((await create({ id: newId() }, key)).status, 409)
      await age(24.1)
      assert.equal((await create({ id: newId() }, key)).status, 200)
    })

    it('is refused with 409 while the first request with it is still running', async () => {
      const id = newId()
      const key = newId()
      const hold = { sqlite: 'BEGIN IMMEDIATE', postgres: 'BEGIN; LOCK TABLE private_endpoints IN EXCLUSIVE MODE' }
      await app().query(hold[app().dialect])
      const both = [create({ id }, key), create({ id }, key)]
      const early = await Promise.race(both).finally(() => app().query('ROLLBACK'))
      assert.equal(early.status, 409)
      assert.equal(
        early.body.error,
        'CONFLICT: a request with this Idempotency-Key is still running; try again in a second',
      )
      assert.equal(early.headers['retry-after'], '1')
      const answers = await Promise.all(both)
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
      assert.equal((await create({ id }, key)).status, 200)
    })

    it('applies concurrent requests once; each gets the result or a 409', async () => {
      const id = newId()
      const key = newId()
      const answers = await Promise.all(Array.from({ length: 10 }, () => create({ id }, key)))
      for (const { status, body, headers } of answers) {
        if (status === 200) assert.equal(body.result.id, id)
        else {
          assert.equal(status, 409)
          assert.match(body.error, /^CONFLICT: a request with this Idempotency-Key is still running/)
          assert.equal(headers['retry-after'], '1')
        }
      }
      assert.ok(answers.some(({ status }) => status === 200))
      assert.equal((await activitiesOf(id)).length, 1)
      assert.equal((await create({ id }, key)).status, 200)
    })

    it('has 1 to 255 printable characters', async () => {
      for (const key of ['a', '~!@#$%^&*() with spaces', 'k'.repeat(255)]) {
        assert.equal((await create({ id: newId() }, key)).status, 200, key)
      }
      for (const key of ['', 'k'.repeat(256), 'clé', 'a\tb', ' a', 'a\u007f']) {
        const { status, body } = await create({ id: newId() }, key)
        assert.equal(status, 400, JSON.stringify(key))
        assert.equal(body.error, 'BAD_REQUEST: Idempotency-Key must have 1 to 255 printable ASCII characters')
      }
    })
  })
})
