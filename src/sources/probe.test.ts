import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { forbiddenHosts } from '../../test/harness/forbidden-hosts.ts'
import { loopbackEgress, strictEgress } from '../../test/sources/conformance.ts'
import type { Egress } from '../lib/egress.ts'
import { Log } from '../lib/log.ts'
import { Problem } from '../lib/problem.ts'
import type { ProbeRequest } from '../source-shapes/probe.ts'
import { Prober, type ProberParts } from './probe.ts'
import type { Source } from './source.ts'

const organizationId = '00000000-0000-4000-8000-000000000000'
const secret = 'C4nary-of-the-probe'

let accepted = 0
const sockets = new Set<Socket>()
const servers: Server[] = []
let port = 0

/** Accepts and counts connections, and never answers. */
async function listen(host: string): Promise<void> {
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.resume()
    socket.on('close', () => sockets.delete(socket))
    server.emit('accepted')
  })
  server.listen({ host, port })
  await once(server, 'listening')
  port ||= (server.address() as AddressInfo).port
  servers.push(server)
}

function makeProber(
  egress: Egress,
  {
    timeoutMs = 1_000,
    lines = [],
    ...more
  }: { timeoutMs?: number; lines?: string[] } & Pick<ProberParts, 'makeSource'> = {},
): Prober {
  const log = new Log('debug', { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream)
  const context = { caCertificates: undefined, allowPlaintext: true, awsEndpoints: {} }
  return new Prober({ egress, context, timeoutMs, log, ...more })
}

const postgresAt = (host: string, of = organizationId): ProbeRequest => ({
  kind: 'postgres',
  organizationId: of,
  source: {
    shown: { host, port, database: 'shop', settings: { replicationMode: 'snapshot' }, tableMappings: [] },
    secrets: { credentials: { username: 'reader', password: secret } },
  },
})

const accessKey = { accessKeyId: 'AKIA000000EXAMPLE', secretKey: secret }

/** Every field of a source that has an address. */
const sourcesAt: [field: string, (host: string) => ProbeRequest][] = [
  ['source.postgres.host', postgresAt],
  [
    'source.kafka.brokers',
    (host) => ({
      kind: 'kafka',
      organizationId,
      source: {
        shown: {
          type: 'kafka',
          authentication: 'PLAIN',
          brokers: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
          topics: 'orders',
          format: 'JSONEachRow',
          consumerGroup: 'penstock',
          offset: { strategy: 'from_beginning' },
        },
        secrets: { credentials: { username: 'reader', password: secret } },
      },
    }),
  ],
  [
    'source.objectStorage.url',
    (host) => ({
      kind: 'objectStorage',
      organizationId,
      source: {
        shown: {
          type: 's3',
          authentication: 'IAM_USER',
          format: 'JSONEachRow',
          compression: 'auto',
          isContinuous: false,
          url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/bucket/*.json`,
        },
        secrets: { accessKey },
      },
    }),
  ],
  [
    'source.objectStorage.connectionString',
    (host) => ({
      kind: 'objectStorage',
      organizationId,
      source: {
        shown: {
          type: 'azureblobstorage',
          authentication: 'CONNECTION_STRING',
          format: 'JSONEachRow',
          compression: 'auto',
          isContinuous: false,
          azureContainerName: 'orders',
          path: '*.json',
        },
        secrets: {
          connectionString: [
            'AccountName=shop',
            `AccountKey=${Buffer.from(secret).toString('base64')}`,
            `BlobEndpoint=http://${host.includes(':') ? `[${host}]` : host}:${port}/shop`,
          ].join(';'),
        },
      },
    }),
  ],
  [
    'source.kinesis.region',
    (host) => ({
      kind: 'kinesis',
      organizationId,
      source: {
        shown: {
          authentication: 'IAM_USER',
          format: 'JSONEachRow',
          iteratorType: 'TRIM_HORIZON',
          region: `${host}:${port}/#`,
          streamName: 'orders',
        },
        secrets: { accessKey },
      },
    }),
  ],
]

async function refusalOf(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(
    () => assert.fail('the probe passed'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Problem, String(error))
  assert.ok(!error.message.includes(secret) && !error.message.includes(Buffer.from(secret).toString('base64')))
  return error
}

describe('Prober', () => {
  before(async () => {
    await listen('127.0.0.1')
    await listen('127.0.0.2')
    await listen('::1').catch(() => undefined)
  })
  after(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })

  for (const [field, sourceAt] of sourcesAt) {
    it(`S8 reaches none of ${forbiddenHosts.length} forbidden targets through ${field}`, async () => {
      const lines: string[] = []
      accepted = 0
      for (const host of forbiddenHosts) {
        const prober = makeProber(strictEgress, { timeoutMs: 5_000, lines })
        const { code } = await refusalOf(prober.probeFor(undefined)(sourceAt(host)))
        assert.equal(code, 'source_not_validated', host)
      }
      assert.equal(accepted, 0)
      // An invalid region fails before any request.
      if (!field.endsWith('region')) assert.deepEqual(lines, [], 'each is a failure that is known')
    })
  }

  it('S8 reaches the listener when the operator allows it, which verifies the counting', async () => {
    for (const [, sourceAt] of sourcesAt.slice(0, 4)) {
      accepted = 0
      await refusalOf(makeProber(loopbackEgress).probeFor(undefined)(sourceAt('127.0.0.1')))
      assert.ok(accepted > 0)
    }
  })

  it('gives up after the time limit, names the step, and leaves no connection', async () => {
    for (const [, sourceAt] of sourcesAt.slice(0, 4)) {
      const startedAtMs = performance.now()
      const { message } = await refusalOf(makeProber(loopbackEgress).probeFor(undefined)(sourceAt('127.0.0.1')))
      assert.match(message, /the step "(?:connect|tls|authenticate|describe)" failed: /)
      assert.ok(performance.now() - startedAtMs < 8_000)
      for (let wait = 0; sockets.size > 0 && wait < 500; wait++) await new Promise((next) => setTimeout(next, 10))
      assert.equal(sockets.size, 0)
    }
  })

  it('ends when the caller disconnects', async () => {
    const gone = new AbortController()
    const reached = once(servers[0]!, 'accepted')
    const probing = refusalOf(
      makeProber(loopbackEgress, { timeoutMs: 30_000 }).probeFor(gone.signal)(postgresAt('127.0.0.1')),
    )
    await reached
    const goneAtMs = performance.now()
    gone.abort()
    await probing
    assert.ok(performance.now() - goneAtMs < 15_000)
  })

  it('runs eight at once, and rejects those that wait too long with retry-after', async () => {
    const prober = makeProber(loopbackEgress, { timeoutMs: 30_000 })
    const begin = (_?: unknown, index = 0) => {
      const gone = new AbortController()
      const request = postgresAt('127.0.0.1', `organization ${index % 4}`)
      return { end: () => gone.abort(), refusal: refusalOf(prober.probeFor(gone.signal)(request)) }
    }
    const untilAccepted = async (count: number): Promise<void> => {
      while (accepted < count) await new Promise((next) => setTimeout(next, 5))
    }
    accepted = 0
    const first = Array.from({ length: 8 }, begin)
    await untilAccepted(8)
    const [abandoned, waiting] = [begin(), begin()]
    abandoned.end()
    const { code, headers } = await abandoned.refusal
    assert.deepEqual([code, headers['retry-after']], ['unavailable', '5'])
    assert.equal(accepted, 8)
    for (const { end, refusal } of first) {
      end()
      assert.equal((await refusal).code, 'source_not_validated')
    }
    await untilAccepted(9)
    waiting.end()
    assert.equal((await waiting.refusal).code, 'unavailable')
    // The freed capacity is used: the next one starts immediately.
    accepted = 0
    const next = begin()
    await untilAccepted(1)
    next.end()
    await next.refusal
  })

  it('runs four of one organization at once, and does not block other organizations', async () => {
    const prober = makeProber(loopbackEgress, { timeoutMs: 30_000 })
    const gone = new AbortController()
    const begin = (of: string) => refusalOf(prober.probeFor(gone.signal)(postgresAt('127.0.0.1', of)))
    accepted = 0
    const ours = Array.from({ length: 6 }, () => begin('ours'))
    while (accepted < 4) await new Promise((next) => setTimeout(next, 5))
    const theirs = begin('theirs')
    while (accepted < 5) await new Promise((next) => setTimeout(next, 5))
    gone.abort()
    const codes = (await Promise.all(ours)).map(({ code }) => code)
    assert.deepEqual(codes.toSorted(), [...Array(4).fill('source_not_validated'), 'unavailable', 'unavailable'])
    assert.equal((await theirs).code, 'source_not_validated')
    assert.equal(accepted, 5)
  })

  it('does not report waiting time as a failure of the source', async () => {
    const prober = makeProber(loopbackEgress, { timeoutMs: 4_000 })
    const first = Array.from({ length: 4 }, () => refusalOf(prober.probeFor(undefined)(postgresAt('127.0.0.1'))))
    await new Promise((next) => setTimeout(next, 300))
    const late = refusalOf(prober.probeFor(undefined)(postgresAt('127.0.0.1')))
    assert.deepEqual([...new Set((await Promise.all(first)).map(({ code }) => code))], ['source_not_validated'])
    assert.equal((await late).code, 'unavailable')
  })

  it('gives up on a source that ignores its signal, and starts the next probe', async () => {
    const stuck: Source = { probe: ({ begin }) => new Promise(() => begin('describe')) }
    const prober = makeProber(loopbackEgress, { timeoutMs: 100, makeSource: async () => stuck })
    const refusals = await Promise.all(
      Array.from({ length: 4 }, () => refusalOf(prober.probeFor(undefined)(postgresAt('127.0.0.1')))),
    )
    for (const { message } of refusals)
      assert.match(message, /the step "describe" failed: .* did not finish within 0\.1 s/)
    const next = await refusalOf(prober.probeFor(undefined)(postgresAt('127.0.0.1')))
    assert.equal(next.code, 'source_not_validated')
  })

  it('hides the message of an unknown error, but logs its type', async () => {
    const lines: string[] = []
    const broken: Source = {
      probe: async ({ begin }) => {
        begin('read')
        throw new TypeError(`password ${secret} of 10.0.0.7`)
      },
    }
    const prober = makeProber(loopbackEgress, { lines, makeSource: async () => broken })
    const { message } = await refusalOf(prober.probeFor(undefined)(postgresAt('127.0.0.1')))
    assert.match(message, /^source\.postgres: the step "read" failed: the source failed with an unknown error; /)
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /postgres, read.*TypeError/)
    assert.doesNotMatch(lines[0]!, new RegExp(`${secret}|10\\.0\\.0\\.7`))
  })

  it('ends at once when Penstock is shutting down', async () => {
    const prober = makeProber(loopbackEgress, { timeoutMs: 30_000 })
    accepted = 0
    const probing = refusalOf(prober.probeFor(undefined)(postgresAt('127.0.0.1')))
    while (accepted < 1) await new Promise((next) => setTimeout(next, 5))
    prober.close()
    const { code, message } = await probing
    assert.deepEqual([code, message], ['unavailable', 'Penstock is shutting down; try again in a few seconds'])
  })
})

describe('whether files fit', () => {
  const fields = [{ name: 'id', type: 'Int64', isOptional: false }]
  const makeSource = async (): Promise<Source> => ({
    probe: async () => ({ samples: [{ fields, rows: [{ id: 1 }] }] }),
  })
  const misfitsOf = async (format: string): Promise<string[]> => {
    const columns = [
      { name: 'id', type: 'Int64' },
      { name: '_path', type: 'String' },
    ]
    const { misfits } = await makeProber(strictEgress, { makeSource }).probeFor(undefined)({
      kind: 'objectStorage',
      organizationId,
      source: { shown: { type: 's3', format }, secrets: {} },
      destination: { columns, fieldMappings: [], mustFit: false },
    })
    return misfits
  }

  it('depends on who decodes them: metadata of the store can be added to rows, but not to Parquet', async () => {
    assert.deepEqual(await misfitsOf('CSVWithNames'), [])
    assert.deepEqual(await misfitsOf('Parquet'), [
      'the column "_path" takes from "_path", which cannot be put into Parquet',
    ])
  })
})
