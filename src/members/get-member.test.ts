import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('getMember', (app) => {
  const path = (userId = app().sample.userId) => `/v1/organizations/${app().sample.organizationId}/members/${userId}`

  describe('200', () => {
    it('gives the member in the envelope, with an ETag', async () => {
      const { status, body, headers } = await app().request('GET', path())
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body).sort(), ['requestId', 'result', 'status'])
      assert.equal(body.status, 200)
      assert.equal(body.requestId, headers['x-request-id'])
      assert.equal(body.result.userId, app().sample.userId)
      assert.equal(body.result.role, 'developer')
      assert.equal(headers.etag, '"1.1"')
    })

    it('lets a developer read', async () => {
      assert.equal((await app().request('GET', path(), { key: app().developer })).status, 200)
    })
  })

  describe('404', () => {
    it('names the member and the organization', async () => {
      const { status, body } = await app().request('GET', path('00000000-0000-4000-8000-000000000000'))
      assert.equal(status, 404)
      assert.equal(
        body.error,
        `NOT_FOUND: member 00000000-0000-4000-8000-000000000000 was not found in organization ${app().sample.organizationId}`,
      )
    })
  })
})
