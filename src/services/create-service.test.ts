import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEngine } from '../../test/fakes/engine.ts'
import { onBothDatabases, type RequestOptions } from '../../test/harness/test-app.ts'

const body = {
  name: 'analytics',
  provider: 'gcp',
  region: 'europe-west4',
  endpoint: { url: 'https://ClickHouse.northwind.example', username: 'penstock', password: 'pa55 wörd' },
}

onBothDatabases('createService', (app) => {
  async function setUp() {
    const { organizationId, admin } = await app().addOrganization()
    const url = `/v1/organizations/${organizationId}/services`
    const create = (sent: unknown, options: RequestOptions = {}) =>
      app().request('POST', url, { key: admin, body: sent, ...options })
    const get = (id: string) => app().request('GET', `${url}/${id}`, { key: admin })
    const stored = async () =>
      (await app().query<{ id: string }>(`SELECT * FROM services WHERE organization_id = '${organizationId}'`)).length
    const activities = () =>
      app().query<{ type: string; target: string; changes: string }>(
        `SELECT type, target, changes FROM activities WHERE organization_id = '${organizationId}' ORDER BY id`,
      )
    return { organizationId, admin, url, create, get, stored, activities }
  }

  describe('200', () => {
    it('gives the whole service in the envelope, as it is read afterwards', async () => {
      const { create, get } = await setUp()
      const ipAccessList = [{ source: '10.0.0.0/8', description: 'office' }, { source: '2001:db8::1' }]
      const { status, body: answer, headers } = await create({ ...body, ipAccessList })
      assert.equal(status, 200)
      const { id, createdAt } = answer.result
      assert.deepEqual(answer, {
        requestId: headers['x-request-id'],
        result: {
          id,
          name: 'analytics',
          provider: 'gcp',
          region: 'europe-west4',
          state: 'provisioning',
          stateReason: 'the engine has not been checked yet',
          engineVersion: null,
          endpoints: [{ protocol: 'https', host: 'clickhouse.northwind.example', port: 8443, username: 'penstock' }],
          privateEndpointIds: [],
          ipAccessList: [
            { source: '10.0.0.0/8', description: 'office' },
            { source: '2001:db8::1', description: '' },
          ],
          createdAt,
        },
        status: 200,
      })
      assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.deepEqual((await get(id)).body.result, answer.result)
    })

    it('accepts URLs, with the default ports of ClickHouse', async () => {
      const { create } = await setUp()
      for (const [url, protocol, host, port] of [
        ['http://clickhouse', 'http', 'clickhouse', 8123],
        ['http://clickhouse/', 'http', 'clickhouse', 8123],
        ['https://a.b-c.example:443', 'https', 'a.b-c.example', 443],
        ['http://10.1.2.3:80/', 'http', '10.1.2.3', 80],
        ['http://[2001:db8::1]', 'http', '2001:db8::1', 8123],
        ['https://[2001:DB8::1]:9440/', 'https', '2001:db8::1', 9440],
        ['http://click_house_1:65535', 'http', 'click_house_1', 65535],
      ]) {
        const answer = await create({ ...body, endpoint: { ...body.endpoint, url } })
        assert.equal(answer.status, 200, `${url}: ${answer.text}`)
        assert.deepEqual(answer.body.result.endpoints, [{ protocol, host, port, username: 'penstock' }])
      }
    })

    it('keeps the password sealed, and shows it to nobody', async () => {
      const { organizationId, create, activities } = await setUp()
      const { body: answer, text } = await create(body)
      const { id } = answer.result
      assert.ok(!text.includes('pa55'))
      const [row] = await app().query<{ endpoint_password: string }>(`SELECT * FROM services WHERE id = '${id}'`)
      assert.ok(!JSON.stringify(row).includes('pa55'))
      const context = { organizationId, table: 'services', row: id, field: 'endpoint_password' }
      assert.equal(app().app.vault.open(row!.endpoint_password, context), 'pa55 wörd')
      assert.ok(!JSON.stringify(await activities()).includes('pa55'))
    })

    it('is recorded', async () => {
      const { create, activities } = await setUp()
      const { id } = (await create(body)).body.result
      const [activity] = await activities()
      assert.equal(activity!.type, 'service_created')
      assert.deepEqual(JSON.parse(activity!.target), { type: 'service', id })
      assert.deepEqual(JSON.parse(activity!.changes), [
        {
          field: 'service',
          to: {
            name: 'analytics',
            provider: 'gcp',
            region: 'europe-west4',
            endpoint: { url: 'https://clickhouse.northwind.example:8443', username: 'penstock' },
            ipAccessList: [],
          },
        },
        { field: 'endpoint.password', to: 'changed' },
      ])
    })

    it('accepts the longest and the shortest values, and the same name again', async () => {
      const { create, stored } = await setUp()
      const longest = {
        name: '名'.repeat(50),
        region: 'r'.repeat(64),
        endpoint: { url: `http://${'a'.repeat(63)}.example`, username: 'u'.repeat(255), password: 'p'.repeat(4096) },
        ipAccessList: Array.from({ length: 100 }, (_, index) => ({
          source: `10.0.0.${index}`,
          description: 'd'.repeat(255),
        })),
      }
      assert.equal((await create({ ...body, ...longest })).status, 200)
      const shortest = { name: 'n', region: 'r', endpoint: { url: 'http://a', username: 'u', password: '' } }
      assert.equal((await create({ ...body, ...shortest, ipAccessList: [] })).status, 200)
      assert.equal((await create({ ...body, ...shortest })).status, 200)
      assert.equal(await stored(), 4)
    })

    it('makes one service of two requests with the same idempotency key', async () => {
      const { create, stored } = await setUp()
      const headers = { 'idempotency-key': 'once' }
      const first = await create(body, { headers })
      const second = await create(body, { headers })
      assert.deepEqual(second.body.result, first.body.result)
      assert.equal(await stored(), 2)
    })
  })

  describe('400', () => {
    it('names every missing, unknown or invalid field at once', async () => {
      const { create, stored, activities } = await setUp()
      const empty = await create({})
      assert.equal(empty.status, 400)
      assert.equal(
        empty.body.error,
        'BAD_REQUEST: name is required; provider is required; region is required; endpoint is required',
      )
      for (const [sent, sentence] of [
        [{ name: '' }, 'name must have 1 to 50 characters, not 0'],
        [{ name: 'n'.repeat(51) }, 'name must have 1 to 50 characters, not 51'],
        [{ provider: 'ibm' }, 'provider must be one of aws, gcp, azure, not "ibm"'],
        [
          { region: 'US-East' },
          'region must be lower-case letters, digits and hyphens such as us-east-1, not "US-East"',
        ],
        [{ state: 'running' }, 'state is not a known field'],
        [{ endpoint: null }, 'endpoint must be an object, not null'],
        [{ endpoint: { url: 'http://a', username: 'u' } }, 'endpoint.password is required'],
        [{ endpoint: { ...body.endpoint, username: '' } }, 'endpoint.username must have 1 to 255 characters, not 0'],
        [
          { endpoint: { ...body.endpoint, username: 'a\nb' } },
          'endpoint.username must be text without control characters',
        ],
        [
          { endpoint: { ...body.endpoint, password: 'x\r\ny' } },
          'endpoint.password must be text without control characters',
        ],
        [{ ipAccessList: [{ source: 'x' }] }, 'ipAccessList[0].source must be an IP address or a range'],
        [
          { ipAccessList: [{ source: '10.0.0.1' }, { source: '10.0.0.1', description: 'x' }] },
          'ipAccessList[1].source repeats "10.0.0.1"; send each source once',
        ],
        [{ ipAccessList: [{ description: 'x' }] }, 'ipAccessList[0].source is required'],
        [{ ipAccessList: null }, 'ipAccessList must be a list, not null'],
      ] as const) {
        const { status, body: answer } = await create({ ...body, ...sent })
        assert.equal(status, 400, sentence)
        assert.ok(answer.error.startsWith(`BAD_REQUEST: ${sentence}`), answer.error)
        assert.ok(!answer.error.includes('pa55') && !answer.error.includes('x\r'))
      }
      assert.equal(await stored(), 1)
      assert.deepEqual(await activities(), [])
    })

    it('rejects URLs that are not exactly a host and a port', async () => {
      const { create } = await setUp()
      for (const url of [
        'clickhouse',
        'http://\u212aube.example',
        'ftp://clickhouse',
        'HTTP://clickhouse',
        'http://',
        'http://user@clickhouse',
        'http://user:secret@clickhouse',
        'user:secret@clickhouse',
        'http://clickhouse/path',
        'http://clickhouse//',
        'http://clickhouse?x=1',
        'http://clickhouse#x',
        'http://clickhouse:0',
        'http://clickhouse:65536',
        'http://clickhouse:',
        'http://clickhouse:80:80',
        'http://click house',
        'http://clickhouse.',
        'http://-clickhouse',
        'http://clickhouse..example',
        'http://2130706433',
        'http://0x7f000001',
        'http://127.1',
        'http://0177.0.0.1',
        'http://１２７.0.0.1',
        'http://[::1%25lo]',
        'http://[127.0.0.1]',
        'http://[clickhouse]',
        'http://::1',
        'http://2001:db8::1:8123',
        ' http://clickhouse',
        'http://clickhouse\n',
        'http://ch\u0131ckhouse',
      ]) {
        const { status, body: answer } = await create({ ...body, endpoint: { ...body.endpoint, url } })
        assert.equal(status, 400, url)
        assert.match(answer.error, /^BAD_REQUEST: endpoint\.url must be an http or https URL of a host/, url)
        assert.ok(!answer.error.includes('secret'), answer.error)
      }
    })
  })

  describe('403', () => {
    it('refuses a developer key', async () => {
      const { organizationId, create, stored } = await setUp()
      const key = await app().addKey(organizationId, 'developer')
      assert.equal((await create(body, { key })).status, 403)
      assert.equal(await stored(), 1)
    })
  })
})

onBothDatabases(
  'services with checks',
  (app) => {
    it('have a checked state within a second of being created or changed', async () => {
      const engine = await startEngine()
      engine.password = 'opens'
      await app().query('UPDATE services SET endpoint_url = NULL')
      const { organizationId, admin } = await app().addOrganization()
      const url = `/v1/organizations/${organizationId}/services`
      const endpoint = { url: engine.url, username: 'default', password: 'opens' }
      const created = await app().request('POST', url, { key: admin, body: { ...body, endpoint } })
      assert.equal(created.body.result.state, 'provisioning')
      const path = `${url}/${created.body.result.id}`
      const settled = async () => {
        // There is no periodic lookup here: only immediate checks run.
        for (let tries = 0; tries < 3_000; tries++) {
          const { body: answer, headers } = await app().request('GET', path, { key: admin })
          if (answer.result.state !== 'provisioning') return { ...answer.result, etag: headers.etag }
          await sleep(10)
        }
        return assert.fail('the service was not checked')
      }
      const running = await settled()
      assert.equal(running.state, 'running')
      assert.equal(running.stateReason, null)
      assert.equal(running.engineVersion, '26.5.1.882')

      const patched = await app().request('PATCH', path, { key: admin, body: { endpoint: { password: 'wrong' } } })
      assert.equal(patched.body.result.state, 'provisioning')
      assert.equal(patched.body.result.engineVersion, '26.5.1.882')
      const failed = await settled()
      assert.equal(failed.state, 'failed')
      assert.equal(failed.stateReason, `the engine at 127.0.0.1:${engine.port} refused the user name or the password`)
      assert.equal(failed.etag, patched.headers.etag, 'a check does not change the version')
      await engine.stop()
    })
  },
  { serviceChecks: true, allowLoopback: true },
)

onBothDatabases(
  'createService without the permission for plaintext',
  (app) => {
    it('takes http with an empty password only', async () => {
      const { organizationId, admin } = await app().addOrganization()
      const path = `/v1/organizations/${organizationId}/services`
      const create = (url: string, password: string) =>
        app().request('POST', path, {
          key: admin,
          body: { ...body, endpoint: { url, username: 'penstock', password } },
        })
      const refused = await create('http://clickhouse.example', 'canary-secret')
      assert.equal(refused.status, 400)
      assert.equal(
        refused.body.error,
        'BAD_REQUEST: endpoint.url must begin with https: http sends the password in the clear; ' +
          'the operator of Penstock can allow that with PENSTOCK_ALLOW_PLAINTEXT=true',
      )
      assert.equal((await create('http://clickhouse.example', '')).status, 200)
      assert.equal((await create('https://clickhouse.example', 'canary-secret')).status, 200)
    })
  },
  { allowPlaintext: false },
)
