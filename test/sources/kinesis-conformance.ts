// Conformance suite for Kinesis sources: against kinesalite in `npm test`, against others in `npm run test:real`.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type { KinesisSource } from '../../src/source-shapes/kinesis-source.ts'
import { makeKinesisSource } from '../../src/sources/kinesis/kinesis.ts'
import type { ReadableSource, SourceContext } from '../../src/sources/source.ts'
import { loopbackEgress, probe, probeFails, strictEgress } from './conformance.ts'
import { kinesisReaderConformance } from './kinesis-reader-conformance.ts'
import { kinesisSelectionConformance } from './kinesis-selection-conformance.ts'
import type { AccessKey, AssumableRole, KinesisServer, StreamRecord } from './kinesis-server.ts'
import { withOperator } from './operator.ts'

export interface KinesisUnderTest {
  server: KinesisServer
  /** A new stream for this test. */
  newStream(shards?: number): Promise<string>
  source(config: Partial<KinesisSource>, more?: { key?: AccessKey; context?: Partial<SourceContext> }): ReadableSource
}

export function jsonRecords(count: number, first = 0): StreamRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    key: `key-${first + index}`,
    value: Buffer.from(JSON.stringify({ number: first + index })),
  }))
}

/** Runs the suite against the server, which it stops at the end. */
export function kinesisConformance(
  start: () => Promise<KinesisServer>,
  { hasReader = true, hasFanOut = false } = {},
): void {
  describe('a Kinesis source', () => {
    const test = {} as KinesisUnderTest
    before(async () => {
      Object.assign(test, underTest(await start(), hasFanOut))
    })
    after(() => test.server.stop())

    describe('samples', () => samples(test))
    describe('reports failures', () => failures(test))
    describe('assumes a role', () => roles(test))
    if (hasReader) describe('reads a selection', () => kinesisSelectionConformance(test))
    // Last, because it stops the server.
    if (hasReader) describe('reads', () => kinesisReaderConformance(test))
  })
}

function underTest(server: KinesisServer, hasFanOut: boolean): KinesisUnderTest {
  let streams = 0
  return {
    server,
    async newStream(shards = 1) {
      streams += 1
      const name = `stream_${process.pid}-${streams}`
      await server.createStream(name, shards)
      return name
    },
    source(config, { key = server.credentials, context } = {}) {
      const source: KinesisSource = {
        authentication: 'IAM_USER',
        format: 'JSONEachRow',
        iteratorType: 'TRIM_HORIZON',
        region: server.region,
        streamName: 'missing',
        useEnhancedFanOut: hasFanOut,
        ...config,
      }
      return makeKinesisSource(
        source,
        { accessKey: { accessKeyId: key.accessKeyId, secretKey: key.secretKey } },
        {
          organizationId: 'an-organization',
          pipeId: 'a-pipe',
          caCertificates: server.ca,
          allowPlaintext: false,
          awsEndpoints: { kinesis: server.endpoint },
          ...context,
        },
      )
    },
  }
}

const numbersOf = (rows: Record<string, unknown>[] | undefined): number[] =>
  (rows ?? []).map(({ number }) => Number(number)).toSorted((a, b) => a - b)
const range = (count: number, first = 0): number[] => Array.from({ length: count }, (_, index) => first + index)

function samples(test: KinesisUnderTest): void {
  it('all shards, with the steps in order', async () => {
    const streamName = await test.newStream(3)
    await test.server.put(streamName, jsonRecords(30))
    const { samples, steps } = await probe(test.source({ streamName }))
    const tls = test.server.ca ? ['tls'] : []
    assert.deepEqual(steps, ['connect', ...tls, 'authenticate', 'describe', 'read', 'decode'])
    assert.deepEqual(numbersOf(samples[0]?.rows), range(30))
    assert.deepEqual(
      samples[0]?.fields.map(({ name, isOptional }) => ({ name, isOptional })),
      [{ name: 'number', isOptional: false }],
    )
  })

  it('without waiting', async () => {
    const streamName = await test.newStream(2)
    await test.server.put(streamName, jsonRecords(100))
    // The first run loads the AWS client. A real server may share the machine with other tests.
    const durationsMs = [Infinity]
    for (let run = 0; run < 10 && Math.min(...durationsMs) >= 300; run += 1)
      durationsMs.push((await probe(test.source({ streamName }))).durationMs)
    assert.ok(Math.min(...durationsMs) < 300, `${durationsMs.join(', ')} ms`)
  })

  it('at most as many records as requested', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(10))
    const { samples } = await probe(test.source({ streamName }), { maxRecords: 3 })
    assert.deepEqual(numbersOf(samples[0]?.rows), range(3))
  })

  it('the newest records, for a pipe with LATEST', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(10))
    const { samples } = await probe(test.source({ streamName, iteratorType: 'LATEST' }), { maxRecords: 4 })
    assert.deepEqual(numbersOf(samples[0]?.rows), range(4, 6))
  })

  it('records from a timestamp on', async () => {
    const streamName = await test.newStream(2)
    await test.server.put(streamName, jsonRecords(10))
    await wait(1_100)
    const timestamp = Math.floor(Date.now() / 1_000)
    await test.server.put(streamName, jsonRecords(10, 100))
    const { samples } = await probe(test.source({ streamName, iteratorType: 'AT_TIMESTAMP', timestamp }))
    assert.deepEqual(numbersOf(samples[0]?.rows), range(10, 100))
  })

  it('an empty stream', async () => {
    const streamName = await test.newStream(2)
    for (const iteratorType of ['TRIM_HORIZON', 'LATEST'] as const) {
      const { samples } = await probe(test.source({ streamName, iteratorType }))
      assert.deepEqual(samples, [{ rows: [], fields: [] }])
    }
  })

  it('records with different compressions', async () => {
    const streamName = await test.newStream()
    const [plain, zipped, zstandard] = jsonRecords(3) as [StreamRecord, StreamRecord, StreamRecord]
    await test.server.put(streamName, [
      plain,
      { ...zipped, value: gzipSync(zipped.value) },
      { ...zstandard, value: zstdCompressSync(zstandard.value) },
    ])
    const { samples } = await probe(test.source({ streamName }))
    assert.deepEqual(numbersOf(samples[0]?.rows), range(3))
  })
}

function failures(test: KinesisUnderTest): void {
  it('a wrong secret', async () => {
    const { accessKeyId } = test.server.credentials
    const key = { accessKeyId, secretKey: 'not-the-secret-of-this-key' }
    await probeFails(
      test.source({ streamName: await test.newStream() }, { key }),
      { step: 'authenticate', code: 'credentials_refused', field: 'accessKey' },
      { secrets: [key.secretKey, accessKeyId] },
    )
  })

  it('an unknown access key', async () => {
    const key = { accessKeyId: 'AKIANOBODYKNOWSTHIS0', secretKey: 'a-secret-without-a-key' }
    await probeFails(
      test.source({ streamName: await test.newStream() }, { key }),
      { step: 'authenticate', code: 'credentials_refused', field: 'accessKey' },
      { secrets: [key.secretKey, key.accessKeyId] },
    )
  })

  it('a missing permission', async (t) => {
    const key = test.server.powerless
    if (!key) return t.skip('the server does not check permissions')
    const streamName = await test.newStream()
    const { remedy } = await probeFails(
      test.source({ streamName }, { key }),
      { step: 'describe', code: 'permission_missing', field: 'accessKey' },
      { secrets: [key.secretKey, key.accessKeyId] },
    )
    assert.match(remedy, /kinesis:ListShards/)
  })

  it('a stream that does not exist', async () => {
    const { reason, remedy } = await probeFails(
      test.source({ streamName: 'no-such-stream' }),
      { step: 'describe', code: 'not_found', field: 'streamName' },
      { secrets: [test.server.credentials.secretKey] },
    )
    assert.ok(reason.includes('"no-such-stream"') && reason.includes(test.server.region))
    assert.match(remedy, /region/)
  })

  it('records in another format', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, [{ key: 'a', value: Buffer.from('neither {json} nor anything') }])
    for (const format of ['JSONEachRow', 'Avro'] as const) {
      await probeFails(
        test.source({ streamName, format }),
        { step: 'decode', code: 'undecodable', field: 'format' },
        { secrets: [test.server.credentials.secretKey] },
      )
    }
  })

  it('a record with a gzip header and invalid data', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, [{ key: 'a', value: Buffer.from([0x1f, 0x8b, 1, 2, 3, 4]) }])
    const { reason } = await probeFails(
      test.source({ streamName }),
      { step: 'decode', code: 'undecodable', field: 'format' },
      { secrets: [test.server.credentials.secretKey] },
    )
    assert.match(reason, /gzip/)
  })

  it('an aggregated record', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, [{ key: 'a', value: Buffer.from('f3899ac20a0161', 'hex') }])
    const { remedy } = await probeFails(
      test.source({ streamName }),
      { step: 'decode', code: 'undecodable', field: 'format' },
      { secrets: [test.server.credentials.secretKey] },
    )
    assert.match(remedy, /AggregationEnabled/)
  })

  it('a format that needs a registry, which a Kinesis source does not have', async () => {
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(1))
    const source = test.source({ streamName, format: 'AvroConfluent' })
    const failure = { step: 'decode', code: 'not_set_up', field: 'format' } as const
    await probeFails(source, failure, { secrets: [test.server.credentials.secretKey] })
    // A pipe fails when it opens, not at the first record.
    const connectOptions = { egress: loopbackEgress, signal: AbortSignal.timeout(10_000) }
    await assert.rejects(source.open({}, connectOptions), { name: 'ProbeFailure', ...failure })
  })

  it('a timestamp in the future', async () => {
    const streamName = await test.newStream()
    const timestamp = Math.floor(Date.now() / 1_000) + 3_600
    await probeFails(
      test.source({ streamName, iteratorType: 'AT_TIMESTAMP', timestamp }),
      { step: 'read', code: 'not_set_up', field: 'timestamp' },
      { secrets: [test.server.credentials.secretKey] },
    )
  })

  it('an address that the operator does not allow', async () => {
    await probeFails(
      test.source({ streamName: 'any' }),
      { step: 'connect', code: 'address_denied' },
      { secrets: [test.server.credentials.secretKey], egress: strictEgress },
    )
  })
}

function roles(test: KinesisUnderTest): void {
  const sourceOf = (role: AssumableRole, more: { iamRole?: string; organizationId?: string } = {}) => {
    const { iamRole = role.roleArn, organizationId = role.organizationId } = more
    const awsEndpoints = { kinesis: test.server.endpoint, sts: role.stsEndpoint }
    return (streamName: string): ReadableSource =>
      test.source({ streamName, authentication: 'IAM_ROLE', iamRole }, { context: { organizationId, awsEndpoints } })
  }

  it('and reads with its credentials', async (t) => {
    const { role } = test.server
    if (!role) return t.skip('the server has no roles')
    const streamName = await test.newStream()
    await test.server.put(streamName, jsonRecords(5))
    await withOperator(role.operator, async () => {
      const { samples } = await probe(sourceOf(role)(streamName))
      assert.deepEqual(numbersOf(samples[0]?.rows), range(5))
    })
  })

  it('only for the organization that the role trusts', async (t) => {
    const { role } = test.server
    if (!role) return t.skip('the server has no roles')
    const streamName = await test.newStream()
    await withOperator(role.operator, async () => {
      const { remedy } = await probeFails(
        sourceOf(role, { organizationId: 'another-organization' })(streamName),
        { step: 'authenticate', code: 'permission_missing', field: 'iamRole' },
        { secrets: [role.operator.secretKey, role.operator.accessKeyId] },
      )
      assert.match(remedy, /external id another-organization/)
    })
  })
}
