import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import { insertPipe } from '../pipes/store.ts'
import { insertService } from '../services/store.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

/** The samples of a family, in the order of the text. */
function samplesOf(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`))
}

/** Checks that every line is a HELP, a TYPE or a sample, and that every family is declared once, before its samples. */
function assertExposition(text: string): void {
  assert.ok(text.endsWith('\n'))
  const announced = new Set<string>()
  let family = ''
  let type = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const help = /^# HELP (\w+) \S.*$/.exec(line)
    if (help) {
      family = help[1]!
      assert.ok(!announced.has(family), family)
      announced.add(family)
      type = family.endsWith('_total') ? 'counter' : 'gauge'
    } else if (line.startsWith('#')) assert.equal(line, `# TYPE ${family} ${type}`)
    else {
      const label = '[a-z]+="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
      assert.match(line, new RegExp(`^${family}\\{${label}(?:,${label})*\\} \\d+$`))
    }
  }
}

onBothDatabases('Prometheus', (app) => {
  async function setUp() {
    const { organizationId, admin, serviceId } = await app().addOrganization()
    const path = `/v1/organizations/${organizationId}`
    const get = (key = admin) => app().request('GET', `${path}/prometheus`, { key })
    const getService = (id = serviceId, key = admin) =>
      app().request('GET', `${path}/services/${id}/prometheus`, { key })
    const addPipe = async (name: string, state: string, service = serviceId) => {
      const id = newId()
      const now = new Date().toISOString()
      await insertPipe(app().sql, {
        id,
        organizationId,
        serviceId: service,
        name,
        kind: 'kinesis',
        state: state as 'Stopped',
        source: {},
        sealedSecrets: null,
        destination: { database: 'd', table: 't', columns: [] },
        fieldMappings: [],
        scaling: { concurrency: 0, replicas: 1, replicaCpuMillicores: 125, replicaMemoryGb: 0.5 },
        settings: {},
        createdAt: now,
        updatedAt: now,
      })
      await sleep(2)
      return id
    }
    const addCounters = async (pipeId: string, [read, written, refused]: [number, number, number]) => {
      await app().query(
        `INSERT INTO pipe_figures (pipe_id, rows_read, bytes_read, rows_written, bytes_written, rows_refused, inserts, retries)
         VALUES ('${pipeId}', ${read}, ${read * 100}, ${written}, ${written * 50}, ${refused}, 7, 2)`,
      )
    }
    const addWorker = async (pipeId: string, slot: number, { lag, aliveMs }: { lag: string; aliveMs: number }) => {
      const expiresAt = new Date(Date.now() + aliveMs).toISOString()
      await app().query(
        `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at, lag_records)
         VALUES ('${pipeId}', ${slot}, 2, 'r', 1, '${expiresAt}', ${lag})`,
      )
    }
    return { organizationId, admin, serviceId, get, getService, addPipe, addCounters, addWorker }
  }

  describe('getOrganizationPrometheus', () => {
    it('counts services, pipes, members and keys of the organization, and of no other', async () => {
      const { organizationId, serviceId, get, addPipe } = await setUp()
      const other = await setUp()
      await other.addPipe('theirs', 'Running')
      const secondId = newId()
      const now = new Date(Date.now() + 1000).toISOString()
      const second = {
        id: secondId,
        organizationId,
        name: 'second',
        provider: 'gcp',
        region: 'europe-west4',
        now,
      } as const
      await insertService(app().sql, second)
      await app().query(`UPDATE services SET state = 'running' WHERE id = '${secondId}'`)
      for (const state of ['Running', 'Running', 'Stopped']) await addPipe('p', state)
      await addPipe('p', 'Paused', secondId)
      await app().addMember(organizationId, 'developer')
      await app().addMember(organizationId, 'developer')
      await app().query(`UPDATE organizations SET admin_count = 1 WHERE id = '${organizationId}'`)
      await app().addKey(organizationId, 'admin', { state: 'disabled' })
      await app().addKey(organizationId, 'admin', { expireAt: '2020-01-01T00:00:00.000Z' })
      await app().addKey(organizationId, 'admin', { expireAt: '2099-01-01T00:00:00.000Z' })
      const { status, text, headers } = await get()
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
      assert.equal(headers.etag, undefined)
      assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/)
      assertExposition(text)
      assert.deepEqual(samplesOf(text, 'penstock_service_up'), [
        `penstock_service_up{service="${secondId}",name="second",provider="gcp",region="europe-west4"} 1`,
        `penstock_service_up{service="${serviceId}",name="test",provider="aws",region="eu-west-1"} 0`,
      ])
      assert.deepEqual(samplesOf(text, 'penstock_service_state'), [
        `penstock_service_state{service="${secondId}",name="second",state="running"} 1`,
        `penstock_service_state{service="${serviceId}",name="test",state="provisioning"} 1`,
      ])
      assert.deepEqual(
        samplesOf(text, 'penstock_pipes').sort(),
        [
          `penstock_pipes{service="${serviceId}",state="Running"} 2`,
          `penstock_pipes{service="${serviceId}",state="Stopped"} 1`,
          `penstock_pipes{service="${secondId}",state="Paused"} 1`,
        ].sort(),
      )
      assert.deepEqual(samplesOf(text, 'penstock_members'), [
        'penstock_members{role="admin"} 1',
        'penstock_members{role="developer"} 2',
      ])
      assert.deepEqual(samplesOf(text, 'penstock_api_keys'), [
        'penstock_api_keys{state="enabled"} 2',
        'penstock_api_keys{state="disabled"} 1',
        'penstock_api_keys{state="expired"} 1',
      ])
    })

    it('has the counters and the lag of each pipe, also of those that never ran', async () => {
      const { organizationId, serviceId, get, getService, addPipe, addCounters, addWorker } = await setUp()
      const idle = await addPipe('idle', 'Stopped')
      const busy = await addPipe('busy', 'Running')
      await addCounters(busy, [5_000_000_000, 4_999_999_990, 10])
      await app().query(
        `UPDATE pipe_figures SET retained_bytes = 6000000000, delivered_until = '${new Date(Date.now() - 3_600_000).toISOString()}', last_insert_at = '2026-11-02T16:40:07.310Z' WHERE pipe_id = '${busy}'`,
      )
      const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
      const rejected = [0, 1, 6, 7].map((ago) => `('${busy}', '${day(ago)}', ${10 ** ago})`)
      await app().query(`INSERT INTO pipe_rejections (pipe_id, day, rejected) VALUES ${rejected.join(', ')}`)
      await addWorker(busy, 0, { lag: '4000000000', aliveMs: 3_600_000 })
      await addWorker(busy, 1, { lag: '2', aliveMs: 3_600_000 })
      await addWorker(busy, 2, { lag: '99', aliveMs: -1 })
      await addWorker(idle, 0, { lag: 'NULL', aliveMs: 3_600_000 })
      const other = await setUp()
      await other.addCounters(await other.addPipe('theirs', 'Running'), [1, 1, 0])
      for (const { text } of [await get(), await getService()]) {
        assertExposition(text)
        const labels = (id: string, name: string) =>
          `{organization="${organizationId}",service="${serviceId}",pipe="${id}",name="${name}"}`
        const expected: [string, number][] = [
          ['penstock_pipe_rows_read_total', 5_000_000_000],
          ['penstock_pipe_bytes_read_total', 500_000_000_000],
          ['penstock_pipe_rows_written_total', 4_999_999_990],
          ['penstock_pipe_bytes_written_total', 249_999_999_500],
          ['penstock_pipe_rows_refused_total', 10],
          // Rows rejected within the 7 days that they are kept.
          ['penstock_pipe_rejected_rows', 1_000_011],
          ['penstock_pipe_inserts_total', 7],
          ['penstock_pipe_retries_total', 2],
        ]
        for (const [name, value] of expected) {
          const samples = [`${name}${labels(busy, 'busy')} ${value}`, `${name}${labels(idle, 'idle')} 0`]
          assert.deepEqual(samplesOf(text, name), samples)
        }
        assert.deepEqual(
          samplesOf(text, 'penstock_pipe_state'),
          [
            { id: busy, name: 'busy', state: 'Running' },
            { id: idle, name: 'idle', state: 'Stopped' },
          ].map(({ id, name, state }) => {
            return `penstock_pipe_state${labels(id, name).slice(0, -1)},kind="kinesis",state="${state}"} 1`
          }),
        )
        const lag = `penstock_pipe_lag${labels(busy, 'busy')} 4000000002`
        assert.deepEqual(samplesOf(text, 'penstock_pipe_lag'), [lag])
        const retained = `penstock_pipe_retained_bytes${labels(busy, 'busy')} 6000000000`
        assert.deepEqual(samplesOf(text, 'penstock_pipe_retained_bytes'), [retained])
        const inserted = `penstock_pipe_last_insert_timestamp_seconds${labels(busy, 'busy')} 1793637607`
        assert.deepEqual(samplesOf(text, 'penstock_pipe_last_insert_timestamp_seconds'), [inserted])
        const [fresh = '', ...others] = samplesOf(text, 'penstock_pipe_freshness_seconds')
        assert.ok(fresh.startsWith(`penstock_pipe_freshness_seconds${labels(busy, 'busy')} 36`), fresh)
        assert.deepEqual(others, [])
      }
    })

    it('escapes names', async () => {
      const { organizationId, get } = await setUp()
      const name = 'a "b" \\ c\nd {e="f"} é'
      const now = new Date().toISOString()
      await insertService(app().sql, { id: newId(), organizationId, name, provider: 'aws', region: 'r', now })
      const { text } = await get()
      assertExposition(text)
      assert.ok(text.includes('name="a \\"b\\" \\\\ c\\nd {e=\\"f\\"} é"'), text)
    })

    it('lets a developer read, and nobody of another organization', async () => {
      const { organizationId, get } = await setUp()
      const other = await setUp()
      assert.equal((await get(await app().addKey(organizationId, 'developer'))).status, 200)
      const { status, body } = await get(other.admin)
      assert.equal(status, 404)
      assert.equal(body.error, `NOT_FOUND: organization ${organizationId} was not found`)
    })

    it('takes no query', async () => {
      const { organizationId, admin } = await setUp()
      const { status } = await app().request('GET', `/v1/organizations/${organizationId}/prometheus?limit=1`, {
        key: admin,
      })
      assert.equal(status, 400)
    })
  })

  describe('getServicePrometheus', () => {
    it('has the state of the service and of each of its pipes, the newest first', async () => {
      const { organizationId, serviceId, getService, addPipe } = await setUp()
      const secondId = await app().addService(organizationId)
      await addPipe('of another service', 'Running', secondId)
      const first = await addPipe('first', 'Running')
      const second = await addPipe('second', 'Stopped')
      const { status, text, headers } = await getService()
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
      assertExposition(text)
      assert.deepEqual(samplesOf(text, 'penstock_service_up'), [
        `penstock_service_up{service="${serviceId}",name="test",provider="aws",region="eu-west-1"} 0`,
      ])
      assert.deepEqual(samplesOf(text, 'penstock_pipes'), [
        `penstock_pipes{service="${serviceId}",state="Running"} 1`,
        `penstock_pipes{service="${serviceId}",state="Stopped"} 1`,
      ])
      const owner = `organization="${organizationId}",service="${serviceId}"`
      assert.deepEqual(samplesOf(text, 'penstock_pipe_state'), [
        `penstock_pipe_state{${owner},pipe="${second}",name="second",kind="kinesis",state="Stopped"} 1`,
        `penstock_pipe_state{${owner},pipe="${first}",name="first",kind="kinesis",state="Running"} 1`,
      ])
      assert.ok(!text.includes('penstock_members') && !text.includes(secondId))
    })

    it('answers for a foreign service as for none', async () => {
      const { organizationId, getService } = await setUp()
      const other = await setUp()
      for (const serviceId of [nobody, other.serviceId]) {
        const { status, body } = await getService(serviceId)
        assert.equal(status, 404)
        assert.equal(body.error, `NOT_FOUND: service ${serviceId} was not found in organization ${organizationId}`)
      }
    })
  })
})
