import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kinds, leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('deletePipe', (app) => {
  describe('200', () => {
    it('deletes a pipe of every kind with its secrets, and leaves the others', async () => {
      const service = await serviceOfPipes(app())
      const kept = await service.create(leastPipes.kafka)
      for (const kind of kinds) {
        const { id } = await service.create(leastPipes[kind])
        const { status, body, headers } = await service.send('DELETE', `/${id}`)
        assert.equal(status, 200)
        assert.deepEqual(body, { requestId: headers['x-request-id'], status: 200 })
        assert.equal((await service.send('GET', `/${id}`)).status, 404)
        assert.deepEqual(await app().query(`SELECT id FROM pipes WHERE id = '${id}'`), [])
      }
      assert.deepEqual((await service.send('GET', '')).body.result, [kept])
    })

    it('records the name, the kind and the state', async () => {
      const service = await serviceOfPipes(app())
      const { id } = await service.create(leastPipes.postgres)
      const { body } = await service.send('DELETE', `/${id}`)
      const [, deleted, ...more] = await service.activities()
      assert.deepEqual(more, [])
      assert.deepEqual(deleted, {
        type: 'pipe_deleted',
        request_id: body.requestId,
        target: { type: 'pipe', id, serviceId: service.serviceId },
        changes: [{ field: 'pipe', from: { name: 'shop', kind: 'postgres', state: 'Provisioning' } }],
      })
    })
  })

  describe('404', () => {
    it('does not find it twice, nor a pipe of another organization', async () => {
      const service = await serviceOfPipes(app())
      const { id } = await service.create(leastPipes.kafka)
      const { kafka } = app().sample.pipeIds
      assert.equal((await service.send('DELETE', `/${id}`)).status, 200)
      for (const pipeId of [id, kafka]) {
        const { status, body } = await service.send('DELETE', `/${pipeId}`)
        assert.equal(status, 404)
        assert.equal(body.detail, `pipe ${pipeId} was not found in service ${service.serviceId}`)
      }
      assert.equal((await app().query(`SELECT id FROM pipes WHERE id = '${kafka}'`)).length, 1)
      assert.equal((await service.activities()).length, 2)
    })
  })

  describe('412', () => {
    it('keeps a pipe that has changed since it was read', async () => {
      const service = await serviceOfPipes(app())
      const { id } = await service.create(leastPipes.kafka)
      const { etag } = (await service.send('GET', `/${id}`)).headers
      await service.send('PATCH', `/${id}`, { name: 'renamed' })
      const headers = { 'if-match': String(etag) }
      assert.equal((await service.send('DELETE', `/${id}`, undefined, { headers })).status, 412)
      assert.equal((await service.send('GET', `/${id}`)).status, 200)
    })
  })
})
