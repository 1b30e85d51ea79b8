// A service to update, and what was recorded of it.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { passwordContext } from '../../src/services/service.ts'
import type { RequestOptions, TestApp, TestResponse } from './test-app.ts'

export function serviceUpdates(app: () => TestApp) {
  /** An organization of its own for each test, with a service that is running. */
  async function setUp() {
    const { organizationId, admin, serviceId: bareId } = await app().addOrganization()
    const services = `/v1/organizations/${organizationId}/services`
    const created = await app().request('POST', services, {
      key: admin,
      body: {
        name: 'analytics',
        provider: 'aws',
        region: 'eu-west-1',
        endpoint: { url: 'https://clickhouse.example:8443', username: 'penstock', password: 'first-secret' },
        ipAccessList: [{ source: '10.0.0.0/8', description: 'office' }],
      },
    })
    assert.equal(created.status, 200)
    const serviceId: string = created.body.result.id
    const url = `${services}/${serviceId}`
    await app().query(
      `UPDATE services SET state = 'running', engine_version = '26.5.1.882', next_check_at = '2099-01-01T00:00:00.000Z'
       WHERE id = '${serviceId}'`,
    )
    const attach = async (id: string, service = serviceId) => {
      const path = `${services}/${service}/privateEndpoint`
      assert.equal((await app().request('POST', path, { key: admin, body: { id } })).status, 200)
      await sleep(2)
    }
    const patch = (body: unknown, options: RequestOptions = {}, service = serviceId) =>
      app().request('PATCH', `${services}/${service}`, { key: admin, body, ...options })
    const get = (service = serviceId) => app().request('GET', `${services}/${service}`, { key: admin })
    const row = async () =>
      (
        await app().query<{ version: number; endpoint_password: string; next_check_at: string; state: string }>(
          `SELECT * FROM services WHERE id = '${serviceId}'`,
        )
      )[0]!
    const password = async () =>
      app().app.vault.open((await row()).endpoint_password, passwordContext({ id: serviceId, organizationId }))
    const activities = async () =>
      (
        await app().query<{ type: string; target: string; changes: string }>(
          `SELECT type, target, changes FROM activities
           WHERE organization_id = '${organizationId}' AND type = 'service_updated' ORDER BY id`,
        )
      ).map(({ target, changes }) => ({ target: JSON.parse(target), changes: JSON.parse(changes) }))
    const registered = async () =>
      (
        await app().query<{ id: string }>(
          `SELECT id FROM private_endpoints WHERE organization_id = '${organizationId}' ORDER BY id`,
        )
      ).map(({ id }) => id)
    return { organizationId, admin, serviceId, bareId, url, attach, patch, get, row, password, activities, registered }
  }

  async function assertUntouched({ get, activities }: Awaited<ReturnType<typeof setUp>>, before: TestResponse) {
    const after = await get()
    assert.deepEqual(after.body.result, before.body.result)
    assert.equal(after.headers.etag, before.headers.etag)
    assert.deepEqual(await activities(), [])
  }

  return { setUp, assertUntouched }
}
