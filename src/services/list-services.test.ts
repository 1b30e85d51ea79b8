import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'

onBothDatabases('listServices', (app) => {
  it('gives the services of the organization in full, the newest first, page by page', async () => {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/services`
    const ids = [serviceId]
    for (let index = 0; index < 4; index++) {
      await sleep(2)
      ids.unshift(await app().addService(organizationId, 'azure'))
    }
    for (const [id, endpoint] of [
      [ids[0], 'x'],
      [ids[2], 'x'],
      [ids[2], 'y'],
    ]) {
      await app().request('POST', `${url}/${id}/privateEndpoint`, { key: admin, body: { id: endpoint } })
      await sleep(2)
    }
    const whole = await app().request('GET', url, { key: admin })
    assert.equal(whole.status, 200)
    assert.equal(whole.headers.link, undefined)
    const listed = whole.body.result as { id: string; privateEndpointIds: string[] }[]
    assert.deepEqual(
      listed.map(({ id, privateEndpointIds }) => [id, privateEndpointIds]),
      [
        [ids[0], ['x']],
        [ids[1], []],
        [ids[2], ['y', 'x']],
        [ids[3], []],
        [ids[4], []],
      ],
    )
    for (const service of listed) {
      assert.deepEqual(service, (await app().request('GET', `${url}/${service.id}`, { key: admin })).body.result)
    }
    const seen: unknown[] = []
    let path = `${url}?limit=2`
    while (path) {
      const page = await app().request('GET', path, { key: admin })
      assert.equal(page.status, 200)
      seen.push(...page.body.result)
      path = /^<(.+)>; rel="next"$/.exec(String(page.headers.link))?.[1] ?? ''
      // Sorted before all others, so it is on no later page.
      await app().addService(organizationId)
    }
    assert.deepEqual(seen, listed)
  })

  it('shows of each service the newest ten private endpoints, and no other organization', async () => {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/services`
    const secondId = await app().addService(organizationId)
    const other = await app().addOrganization()
    const attach = async (service: string, id: string, key = admin, services = url) => {
      const { status } = await app().request('POST', `${services}/${service}/privateEndpoint`, { key, body: { id } })
      assert.equal(status, 200)
    }
    for (let index = 10; index < 22; index++) await attach(serviceId, `e-${index}`)
    for (let index = 15; index < 25; index++) await attach(secondId, `e-${index}`)
    await attach(other.serviceId, 'theirs', other.admin, `/v1/organizations/${other.organizationId}/services`)
    const { body } = await app().request('GET', url, { key: admin })
    const shown = new Map<string, string[]>(
      body.result.map(({ id, privateEndpointIds }: { id: string; privateEndpointIds: string[] }) => [
        id,
        privateEndpointIds,
      ]),
    )
    const of = async (service: string): Promise<string[]> =>
      (await app().request('GET', `${url}/${service}`, { key: admin })).body.result.privateEndpointIds
    assert.equal((await of(serviceId)).length, 12)
    assert.deepEqual(shown.get(serviceId), (await of(serviceId)).slice(0, 10))
    assert.equal((await of(secondId)).length, 10)
    assert.deepEqual(shown.get(secondId), await of(secondId))
    assert.equal(shown.size, 2)
  })

  it('refuses a limit out of bounds and a made-up cursor', async () => {
    for (const query of ['limit=0', 'limit=1001', 'limit=a', 'cursor=x', 'offset=1']) {
      const { status } = await app().request(
        'GET',
        `/v1/organizations/${app().sample.organizationId}/services?${query}`,
      )
      assert.equal(status, 400, query)
    }
  })
})
