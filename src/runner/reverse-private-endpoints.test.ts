// A complete Penstock whose pipe reaches brokers and a schema registry only through a reverse private endpoint.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import avro from 'avsc'
import { askAgainMs, type TestEngine } from '../../test/fakes/engine-front.ts'
import { until } from '../../test/fakes/fake-workers.ts'
import { openEmbeddedEngine } from '../../test/harness/embedded-engine.ts'
import { serviceOfPipes } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { startKafkaBroker } from '../../test/sources/kafka-broker/broker.ts'
import type { KafkaServer } from '../../test/sources/kafka-server.ts'
import { topicWith } from '../../test/sources/kafka-world.ts'
import { type SchemaRegistryServer, startSchemaRegistry } from '../../test/sources/schema-registry-server.ts'
import { type ReversePrivateEndpoint, routeKey } from '../lib/reverse-private-endpoints.ts'

/** The name in the certificate of the listener `otherHost`; no test resolves it. */
const brokerName = 'elsewhere.example'
const registryName = 'registry.example'
const orderSchema: avro.Schema = { type: 'record', name: 'order', fields: [{ name: 'id', type: 'long' }] }

/** Filled when the organizations are known; an operator does this before the start. */
const reversePrivateEndpoints = new Map<string, ReversePrivateEndpoint>()

onBothDatabases(
  'a pipe with reverse private endpoints',
  (app) => {
    let engine: TestEngine
    let kafka: KafkaServer
    let registry: SchemaRegistryServer
    before(async () => {
      engine = await openEmbeddedEngine()
      kafka = await startKafkaBroker()
      kafka.advertise?.(brokerName)
      registry = await startSchemaRegistry()
      await app().app.listen()
    })
    after(async () => {
      await engine?.close()
      await kafka?.stop()
      await registry?.stop()
    })

    const recordsOf = (schemaId: number, ids: number[]) =>
      ids.map((id) => {
        const head = Buffer.alloc(5)
        head.writeInt32BE(schemaId, 1)
        return { partition: 0, value: Buffer.concat([head, avro.Type.forSchema(orderSchema).toBuffer({ id })]) }
      })

    async function makePipe(ids: string[]) {
      const service = await serviceOfPipes(app())
      const { organizationId, serviceId, admin: key } = service
      const { url, username, password, database } = engine
      const path = `/v1/organizations/${organizationId}/services/${serviceId}`
      await app().request('PATCH', path, { key, body: { endpoint: { url, username, password } } })
      const port = Number(kafka.listeners.otherHost.split(':')[1])
      const routes = new Map([
        [routeKey(brokerName), { host: '127.0.0.1', port }],
        [routeKey(registryName, 80), { host: '127.0.0.1', port: registry.port }],
      ])
      reversePrivateEndpoints.set('rpe-own', { organizationId, routes })
      reversePrivateEndpoints.set('rpe-foreign', { organizationId: app().sample.organizationId, routes })
      const schemaId = registry.register(JSON.stringify(orderSchema))
      const topic = await topicWith(kafka, recordsOf(schemaId, [1, 2]))
      const table = `orders_${topic.slice(-12)}`
      const { id } = await service.create({
        name: 'orders',
        source: {
          kafka: {
            type: 'kafka',
            authentication: 'PLAIN',
            credentials: kafka.user,
            brokers: `${brokerName}:9092`,
            topics: topic,
            format: 'AvroConfluent',
            schemaRegistry: { url: `http://${registryName}` },
            caCertificate: kafka.ca,
            reversePrivateEndpointIds: ids,
          },
        },
        destination: {
          database,
          table,
          columns: [{ name: 'id', type: 'UInt64' }],
          tableDefinition: { engine: { type: 'MergeTree' }, sortingKey: ['id'] },
        },
        settings: { streaming_max_insert_wait_ms: 500 },
      })
      const hasRows = (expected: number[]) =>
        until(
          async () => String((await engine.rowsIfAny(table)).map((row) => Number(row.id))) === String(expected),
          `the rows ${expected}`,
          { everyMs: askAgainMs },
        )
      const has = async (expected: { state: string; reason?: RegExp }) => {
        let seen: { state?: string; stateReason?: string | null } = {}
        const look = async () => {
          seen = (await service.send('GET', `/${id}/metrics`)).body.result
          return seen.state === expected.state && (expected.reason ?? /^$/).test(seen.stateReason ?? '')
        }
        await until(look, () => `${expected.state} ${expected.reason}, not ${JSON.stringify(seen)}`)
      }
      const use = async (reversePrivateEndpointIds: string[] | null) => {
        const { status, text } = await service.send('PATCH', `/${id}`, {
          source: { kafka: { reversePrivateEndpointIds } },
        })
        assert.equal(status, 200, text)
      }
      const produce = (numbers: number[]) => kafka.produce(topic, recordsOf(schemaId, numbers))
      const start = () => service.send('PATCH', `/${id}/state`, { command: 'start' })
      return { hasRows, has, use, produce, start }
    }

    it('uses the named endpoint as soon as it is changed', async () => {
      const { hasRows, has, use, produce } = await makePipe(['rpe-own'])
      await hasRows([1, 2])
      await has({ state: 'Running' })

      await use(null)
      await has({ state: 'Degraded', reason: /elsewhere\.example:9092/ })
      await produce([3])
      await use(['rpe-own', 'rpe-foreign'])
      await has({ state: 'Degraded', reason: /this organization has no reverse private endpoint "rpe-foreign"/ })
      // It continues as before.
      await hasRows([1, 2, 3])

      await use(['rpe-own'])
      await produce([4])
      await hasRows([1, 2, 3, 4])
      await has({ state: 'Running' })
    })

    it('fails with an endpoint that is not set up, and starts with another one', async () => {
      const { hasRows, has, use, start } = await makePipe(['rpe-none'])
      await has({ state: 'Failed', reason: /this organization has no reverse private endpoint "rpe-none"/ })
      await use(['rpe-own'])
      await start()
      await hasRows([1, 2])
      await has({ state: 'Running' })
    })
  },
  { role: 'all', reversePrivateEndpoints },
)
