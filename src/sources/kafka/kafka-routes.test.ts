// Brokers with unresolvable host names, reached through reverse private endpoints of the operator. Users may not use loopback.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import avro from 'avsc'
import { probe, probeFails, strictEgress } from '../../../test/sources/conformance.ts'
import { startKafkaBroker } from '../../../test/sources/kafka-broker/broker.ts'
import type { KafkaServer } from '../../../test/sources/kafka-server.ts'
import {
  jsonRecords,
  numbers,
  plaintextContext,
  readIds,
  sorted,
  sourceOf,
  strictContext,
  topicWith,
} from '../../../test/sources/kafka-world.ts'
import { startSchemaRegistry } from '../../../test/sources/schema-registry-server.ts'
import { Egress } from '../../lib/egress.ts'
import { parseReversePrivateEndpoints, type ReversePrivateEndpoints } from '../../lib/reverse-private-endpoints.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { ReadableSource, SourceContext } from '../source.ts'

/** In the certificate of the listener `otherHost`, and advertised by all listeners here. */
const brokerName = 'elsewhere.example'
const { organizationId } = strictContext
const foreignOrganizationId = '7c9e6679-7425-40de-944b-e07fc1f90ae7'

type EndpointFile = Record<string, { organizationId?: string; routes: Record<string, string> }>

function endpointsOf(file: EndpointFile): ReversePrivateEndpoints {
  const endpoints = Object.entries(file).map(([id, endpoint]) => [id, { organizationId, ...endpoint }])
  return parseReversePrivateEndpoints(JSON.stringify(Object.fromEntries(endpoints)), (problem) => assert.fail(problem))
}

const portOf = (address: string): string => address.slice(address.lastIndexOf(':') + 1)

describe('the Kafka source and reverse private endpoints', () => {
  let server: KafkaServer
  let topic: string

  before(async () => {
    server = await startKafkaBroker()
    server.advertise?.(brokerName)
    topic = await topicWith(server, jsonRecords(30, 3), 3)
  })
  after(() => server.stop())

  /** The bootstrap address has port 9092; the broker then advertises the port that it listens on. */
  const routesTo = (listener: string): Record<string, string> => ({
    [`${brokerName}:9092`]: listener,
    [`${brokerName}:${portOf(listener)}`]: '127.0.0.1',
  })

  interface Parts {
    endpoints: EndpointFile
    ids?: string[]
    context?: SourceContext
    config?: Partial<KafkaSource>
  }
  const routedSource = ({ endpoints, ids = ['rpe-1'], context = strictContext, config }: Parts): ReadableSource =>
    sourceOf(server, topic, {
      config: { brokers: `${brokerName}:9092`, reversePrivateEndpointIds: ids, ...config },
      context: { ...context, reversePrivateEndpoints: endpointsOf(endpoints) },
    })

  const read = async (source: ReadableSource, count: number): Promise<number[]> => {
    const reader = await source.open({}, { egress: strictEgress, signal: AbortSignal.timeout(20_000) })
    try {
      return sorted(await readIds(reader, count))
    } finally {
      await reader.close()
    }
  }

  for (const [how, listener, context] of [
    ['with TLS, by the name in the certificate', 'otherHost', strictContext],
    ['without TLS', 'saslPlain', plaintextContext],
  ] as const) {
    it(`probes and reads brokers whose names resolve nowhere ${how}`, async () => {
      const endpoints = { 'rpe-1': { routes: routesTo(server.listeners[listener]) } }
      const source = routedSource({ endpoints, context })
      const { samples, steps } = await probe(source, { egress: strictEgress })
      assert.equal(samples[0]?.rows.length, 30)
      assert.equal(steps.includes('tls'), listener === 'otherHost')
      assert.deepEqual(await read(source, 30), numbers(0, 30))
    })
  }

  it('combines the routes of several endpoints', async () => {
    const [[first, firstTo], [second, secondTo]] = Object.entries(routesTo(server.listeners.otherHost)) as [
      [string, string],
      [string, string],
    ]
    const endpoints = { 'rpe-1': { routes: { [first]: firstTo } }, 'rpe-2': { routes: { [second]: secondTo } } }
    const source = routedSource({ endpoints, ids: ['rpe-2', 'rpe-1'] })
    assert.deepEqual(await read(source, 30), numbers(0, 30))
  })

  it('reports a missing route with the host name that the user knows', async () => {
    const [bootstrap] = Object.entries(routesTo(server.listeners.otherHost))
    const source = routedSource({ endpoints: { 'rpe-1': { routes: Object.fromEntries([bootstrap!]) } } })
    const egress = new Egress({ allowLoopback: false, deniedAddresses: [] }, async () => [])
    const expected = { step: 'connect', code: 'host_unknown', field: 'brokers' } as const
    const { reason } = await probeFails(source, expected, { secrets: ['127.0.0.1'], egress })
    assert.ok(reason.includes(`${brokerName}:${portOf(server.listeners.otherHost)}`), reason)
  })

  it('rejects a certificate for the IP address instead of the host name', async () => {
    const source = routedSource({ endpoints: { 'rpe-1': { routes: routesTo(server.listeners.saslTls) } } })
    const expected = { step: 'tls', code: 'certificate_of_other_host', field: 'brokers' } as const
    const { reason } = await probeFails(source, expected, { secrets: ['127.0.0.1'], egress: strictEgress })
    assert.ok(reason.includes(`${brokerName}:9092`), reason)
  })

  it('does not use routes of an endpoint that the source does not name', async () => {
    const endpoints = { 'rpe-1': { routes: routesTo(server.listeners.otherHost) } }
    const egress = new Egress({ allowLoopback: false, deniedAddresses: [] }, async () => [])
    const expected = { step: 'connect', code: 'host_unknown', field: 'brokers' } as const
    await probeFails(routedSource({ endpoints, ids: [] }), expected, { secrets: ['127.0.0.1'], egress })
  })

  it('reports the same for an unknown endpoint and for one of another organization', async () => {
    const routes = routesTo(server.listeners.otherHost)
    const endpoints = { 'rpe-1': { routes }, 'rpe-2': { organizationId: foreignOrganizationId, routes } }
    const expected = { step: 'connect', code: 'not_set_up', field: 'reversePrivateEndpointIds' } as const
    const messages: string[] = []
    for (const id of ['rpe-2', 'rpe-3']) {
      const source = routedSource({ endpoints, ids: ['rpe-1', id] })
      const { reason, remedy } = await probeFails(source, expected, { secrets: ['127.0.0.1'], egress: strictEgress })
      assert.ok(reason.includes(`"${id}"`), reason)
      messages.push(`${reason}; ${remedy}`.replace(id, 'the id'))
      await assert.rejects(read(source, 1), { name: 'ProbeFailure', code: 'not_set_up', reason })
    }
    assert.equal(messages[0], messages[1])
  })

  it('never connects to our own database', async () => {
    const listener = server.listeners.otherHost
    const source = routedSource({ endpoints: { 'rpe-1': { routes: routesTo(listener) } } })
    const deniedAddresses = [{ host: '127.0.0.1', port: Number(portOf(listener)) }]
    const egress = new Egress({ allowLoopback: true, deniedAddresses })
    const expected = { step: 'connect', code: 'address_denied', field: 'brokers' } as const
    const { reason } = await probeFails(source, expected, { secrets: ['127.0.0.1'], egress })
    assert.match(reason, /is Penstock's own database/)
  })

  it('routes requests to the schema registry as well', async () => {
    const registry = await startSchemaRegistry()
    try {
      const schema = { type: 'record', name: 'order', fields: [{ name: 'id', type: 'int' }] }
      const id = registry.register(JSON.stringify(schema))
      const head = Buffer.alloc(5)
      head.writeInt32BE(id, 1)
      const value = Buffer.concat([head, avro.Type.forSchema(schema as avro.Schema).toBuffer({ id: 7 })])
      const avroTopic = await topicWith(server, [{ partition: 0, value }])
      const routes = {
        ...routesTo(server.listeners.otherHost),
        'registry.internal:80': new URL(registry.url).host,
      }
      const source = routedSource({
        endpoints: { 'rpe-1': { routes } },
        config: {
          topics: avroTopic,
          format: 'AvroConfluent',
          schemaRegistry: { url: 'http://registry.internal' },
        },
      })
      const { samples } = await probe(source, { egress: strictEgress })
      assert.deepEqual(samples[0]?.rows, [{ id: 7 }])
      assert.deepEqual(registry.requests, [`/schemas/ids/${id}`])
    } finally {
      await registry.stop()
    }
  })
})
