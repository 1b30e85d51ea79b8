import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, kinds, leastPipes, serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const unknownId = '00000000-0000-4000-8000-000000000000'

onBothDatabases('listPipes', (app) => {
  describe('200', () => {
    it('is empty for a service without pipes', async () => {
      const service = await serviceOfPipes(app())
      const { status, body, headers } = await service.send('GET', '')
      assert.equal(status, 200)
      assert.deepEqual(body, { requestId: headers['x-request-id'], result: [], status: 200 })
      assert.equal(headers.link, undefined)
    })

    it('gives the pipes as each is read alone, the newest first, and no secret', async () => {
      const service = await serviceOfPipes(app())
      const created: Json[] = []
      for (const kind of kinds) created.unshift(await service.create(leastPipes[kind]))
      const { body, text } = await service.send('GET', '')
      assert.deepEqual(body.result.map(byId), inOrder(created).map(byId))
      for (const pipe of body.result) {
        assert.deepEqual((await service.send('GET', `/${pipe.id}`)).body.result, pipe)
      }
      assert.doesNotMatch(text, /hush|credentials/)
    })

    it('leads from page to page by its Link header, without repeats or gaps while pipes are created and deleted', async () => {
      const service = await serviceOfPipes(app())
      const created: Json[] = []
      for (let count = 0; count < 7; count++) created.push(await service.create(leastPipes.objectStorage))
      const expected = inOrder(created).map(({ id }) => id)
      const seen: unknown[] = []
      let path: string | undefined = '?limit=3'
      const sizes: number[] = []
      while (path !== undefined) {
        const { status, body, headers } = await service.send('GET', path)
        assert.equal(status, 200)
        seen.push(...body.result.map(({ id }: { id: string }) => id))
        sizes.push(body.result.length)
        path = /pipes(\?[^>]*)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
        await service.create(leastPipes.kinesis)
        // The last pipe of the page may be deleted: the cursor has its values, not a count.
        await service.send('DELETE', `/${seen.at(-1)}`)
      }
      assert.deepEqual(sizes, [3, 3, 1])
      assert.deepEqual(seen, expected)
    })

    it('gives only the pipes of the service, and to a developer too', async () => {
      const { sample } = app()
      const path = `/v1/organizations/${sample.organizationId}/services`
      const listed = await app().request('GET', `${path}/${sample.serviceId}/pipes`, { key: app().developer })
      assert.equal(listed.status, 200)
      assert.deepEqual(
        listed.body.result.map(({ id }: { id: string }) => id).sort(),
        Object.values(sample.pipeIds).sort(),
      )
      const serviceId = await app().addService(sample.organizationId)
      assert.deepEqual((await app().request('GET', `${path}/${serviceId}/pipes`)).body.result, [])
    })
  })

  it('200: those in a state', async () => {
    const service = await serviceOfPipes(app())
    const [first, second] = [await service.create(leastPipes.kafka), await service.create(leastPipes.kafka)]
    await service.create(leastPipes.kafka)
    for (const { id } of [first, second]) {
      await app().query(`UPDATE pipes SET state = 'Failed' WHERE id = '${id}'`)
    }
    const { body, headers } = await service.send('GET', '?state=Failed&limit=1')
    assert.equal(body.result.length, 1)
    const next = /<[^?]+(\?[^>]+)>; rel="next"/.exec(String(headers.link))![1]!
    const rest = await service.send('GET', next)
    assert.equal(rest.headers.link, undefined)
    const ids = [...body.result, ...rest.body.result].map(byId)
    assert.deepEqual(ids.toSorted(), [first.id, second.id].toSorted())
    assert.deepEqual((await service.send('GET', '?state=Degraded')).body.result, [])
  })

  describe('400', () => {
    it('refuses a limit out of bounds, a made-up cursor and other parameters', async () => {
      const service = await serviceOfPipes(app())
      for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=x', 'cursor=', 'state=running', 'kind=kafka']) {
        const { status, body } = await service.send('GET', `?${query}`)
        assert.equal(status, 400, query)
        assert.equal(body.code, 'invalid_query')
      }
    })
  })

  describe('404', () => {
    it('names a service that does not exist, and reveals nothing of another organization', async () => {
      const other = await serviceOfPipes(app())
      await other.create(leastPipes.kafka)
      const { organizationId } = app().sample
      for (const serviceId of [unknownId, other.serviceId]) {
        const path = `/v1/organizations/${organizationId}/services/${serviceId}/pipes`
        const { status, body } = await app().request('GET', path)
        assert.equal(status, 404)
        assert.equal(body.error, `NOT_FOUND: service ${serviceId} was not found in organization ${organizationId}`)
      }
    })
  })
})

const byId = ({ id }: Json) => id

/** Pipes created in the same millisecond are ordered by id. */
function inOrder(pipes: Json[]): Json[] {
  const keyOf = ({ createdAt, id }: Json) => `${createdAt} ${id}`
  return pipes.toSorted((one, two) => (keyOf(one) < keyOf(two) ? 1 : -1))
}
