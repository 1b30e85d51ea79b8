import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Certificates, makeCertificates } from '../../../test/sources/certificates.ts'
import { probe, probeFails, readAll } from '../../../test/sources/conformance.ts'
import { kinesisConformance } from '../../../test/sources/kinesis-conformance.ts'
import { startKinesisWithFanOut } from '../../../test/sources/kinesis-fan-out.ts'
import { type KinesisServer, startKinesis } from '../../../test/sources/kinesis-server.ts'
import { accessKey, secrets, sourceAt } from '../../../test/sources/kinesis-source-at.ts'
import {
  closedPort,
  type OddServer,
  startBabbling,
  startSilent,
  startTls,
  startWeb,
} from '../../../test/sources/odd-servers.ts'
import { startSignatureCheck } from '../../../test/sources/signature-check.ts'
import { Egress } from '../../lib/egress.ts'
import type { KinesisSource } from '../../source-shapes/kinesis-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { type FailureCode, NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import { makeKinesisSource } from './kinesis.ts'

describe('kinesis over HTTP', () => kinesisConformance(() => startKinesis()))
describe('kinesis over TLS', () => {
  kinesisConformance(async () => startKinesis({ tls: await makeCertificates() }), { hasReader: false })
})
describe('kinesis with enhanced fan-out over HTTP', () => {
  kinesisConformance(() => startKinesisWithFanOut(), { hasFanOut: true })
})
describe('kinesis with enhanced fan-out over TLS', () => {
  kinesisConformance(async () => startKinesisWithFanOut(await makeCertificates()), { hasFanOut: true })
})

async function failsAt(server: OddServer, step: ProbeStep, code: FailureCode): Promise<void> {
  try {
    const source = sourceAt(`http://127.0.0.1:${server.port}`)
    const { reason, remedy } = await probeFails(source, { step, code }, { secrets })
    assert.doesNotMatch(`${reason} ${remedy}`, /127\.0\.0\.1|foreign/)
  } finally {
    await server.stop()
  }
}

describe('a Kinesis that cannot be reached', () => {
  it('because the port is closed', async () => {
    const source = sourceAt(`http://127.0.0.1:${await closedPort()}`)
    await probeFails(source, { step: 'connect', code: 'connection_refused', field: 'region' }, { secrets })
  })

  it('because there is no such region', async () => {
    const egress = new Egress({ allowLoopback: true, deniedAddresses: [] }, async () => [])
    const source = sourceAt(undefined, { region: 'eu-nowhere-1' })
    const expected = { step: 'connect', code: 'wrong_region', field: 'region' } as const
    const { reason } = await probeFails(source, expected, { secrets, egress })
    assert.match(reason, /eu-nowhere-1/)
    const connectOptions = { egress, signal: AbortSignal.timeout(5_000) }
    await assert.rejects(source.open({}, connectOptions), NotConnected)
  })

  it('because the host of the operator does not resolve', async () => {
    const egress = new Egress({ allowLoopback: true, deniedAddresses: [] }, async () => [])
    const source = sourceAt('http://kinesis.internal.example:4567')
    await probeFails(source, { step: 'connect', code: 'host_unknown' }, { secrets, egress })
  })

  it('because it is silent; all connections are closed', async () => {
    const server = await startSilent()
    try {
      for (const protocol of ['http', 'https']) {
        const source = sourceAt(`${protocol}://127.0.0.1:${server.port}`)
        const step = protocol === 'http' ? 'describe' : 'tls'
        const startedAtMs = performance.now()
        // The step is known only after the response or its timeout.
        const options = { secrets, timeoutMs: 1_000, timedStep: 'connect' } as const
        await probeFails(source, { step, code: 'timed_out' }, options)
        assert.ok(performance.now() - startedAtMs < 8_000)
        for (let left = 500; server.connections() > 0 && left > 0; left -= 1) await wait(10)
        assert.equal(server.connections(), 0)
      }
    } finally {
      await server.stop()
    }
  })

  it('because the server is not Kinesis', async () => {
    await failsAt(await startWeb(200, 'text/html', '<h1>foreign message</h1>'), 'describe', 'protocol_mismatch')
    await failsAt(await startWeb(404, 'text/html', '<h1>foreign message</h1>'), 'describe', 'protocol_mismatch')
    await failsAt(await startWeb(404, 'application/json', '{"message":"foreign"}'), 'describe', 'protocol_mismatch')
    await failsAt(await startWeb(200, 'application/json', '{"message":"foreign"}'), 'describe', 'protocol_mismatch')
    await failsAt(await startWeb(301, 'text/html', 'foreign'), 'describe', 'protocol_mismatch')
    // A response beyond the size limit must not become a stream without shards.
    const endless = `{"Shards":[]${' '.repeat(5_000_000)}}`
    await failsAt(await startWeb(200, 'application/x-amz-json-1.1', endless), 'describe', 'protocol_mismatch')
    await failsAt(await startBabbling('220 foreign message\r\n'), 'describe', 'protocol_mismatch')
    await failsAt(await startBabbling(''), 'describe', 'protocol_mismatch')
  })

  it('because it responds with errors', async () => {
    const answer = (__type: string) => JSON.stringify({ __type, message: 'foreign message' })
    const json = 'application/x-amz-json-1.1'
    await failsAt(await startWeb(500, json, answer('InternalFailure')), 'describe', 'source_failed')
    await failsAt(await startWeb(503, 'text/html', 'foreign'), 'describe', 'source_failed')
    await failsAt(await startWeb(400, json, answer('LimitExceededException')), 'describe', 'source_failed')
    await failsAt(await startWeb(400, json, answer('ResourceInUseException')), 'describe', 'not_set_up')
    await failsAt(await startWeb(400, json, answer('KMSAccessDeniedException')), 'describe', 'permission_missing')
  })

  describe('over TLS', () => {
    let certificates: Certificates
    before(async () => {
      certificates = await makeCertificates()
    })
    for (const [what, name, hasAuthority, code] of [
      ['because its certificate has expired', 'expired', true, 'certificate_expired'],
      ['because its certificate is of another host', 'otherHost', true, 'certificate_of_other_host'],
      ['because nobody trusts its certificate', 'server', false, 'certificate_untrusted'],
    ] as const) {
      it(what, async () => {
        const server = await startTls(certificates[name])
        try {
          const source = sourceAt(`https://127.0.0.1:${server.port}`, {}, hasAuthority ? certificates.ca : undefined)
          await probeFails(source, { step: 'tls', code }, { secrets })
        } finally {
          await server.stop()
        }
      })
    }

    it('because it does not speak TLS', async () => {
      const server = await startBabbling('HTTP/1.1 400 Bad Request\r\n\r\n')
      try {
        const source = sourceAt(`https://127.0.0.1:${server.port}`)
        await probeFails(source, { step: 'tls', code: 'tls_refused' }, { secrets })
      } finally {
        await server.stop()
      }
    })
  })
})

describe('a Kinesis that checks signatures', () => {
  let server: KinesisServer
  before(async () => {
    server = await startKinesis()
    await server.createStream('clicks', 1)
    await server.put('clicks', [{ key: 'a', value: Buffer.from('{"number":1}') }])
  })
  after(() => server.stop())

  it('reports another region', async () => {
    const source = sourceAt(server.endpoint, { region: 'us-east-2' })
    await probeFails(source, { step: 'describe', code: 'wrong_region', field: 'region' }, { secrets })
  })

  it('reports a missing permission to read', async () => {
    const keys = [{ ...accessKey, mayRead: true, denies: ['kinesis:GetRecords'] }]
    const proxy = await startSignatureCheck({ service: 'kinesis', region: 'eu-west-1', target: server.endpoint, keys })
    try {
      const expected = { step: 'read', code: 'permission_missing', field: 'accessKey' } as const
      const { remedy } = await probeFails(sourceAt(proxy.url), expected, { secrets })
      assert.match(remedy, /kinesis:GetRecords/)
    } finally {
      await proxy.stop()
    }
  })

  it('rejects an access key without a secret before anything is sent', async () => {
    const context = {
      organizationId: 'an-organization',
      caCertificates: undefined,
      allowPlaintext: false,
      awsEndpoints: { kinesis: server.endpoint },
    }
    const config: KinesisSource = {
      authentication: 'IAM_USER',
      format: 'JSONEachRow',
      iteratorType: 'TRIM_HORIZON',
      region: 'eu-west-1',
      streamName: 'clicks',
    }
    const source = makeKinesisSource(config, { accessKey: { accessKeyId: accessKey.accessKeyId } }, context)
    await probeFails(source, { step: 'authenticate', code: 'not_set_up', field: 'accessKey' }, { secrets })
  })

  it('samples by polling with enhanced fan-out', async () => {
    const { samples } = await probe(sourceAt(server.endpoint, { useEnhancedFanOut: true }))
    assert.equal(samples[0]?.rows.length, 1)
  })

  it('limits the decompressed size of a sample', async () => {
    const packed = (text: string, sizeBytes: number) => ({ key: 'a', value: gzipSync(text.padEnd(sizeBytes)) })
    const mebibytes = 1_024 * 1_024
    await server.createStream('packed', 1)
    await server.put('packed', [packed('{"number":1}', 100), packed('{"number":2}', 65 * mebibytes)])
    const { samples } = await probe(sourceAt(server.endpoint, { streamName: 'packed' }))
    assert.deepEqual(
      samples[0]?.rows.map(({ number }) => Number(number)),
      [1],
    )
    await server.createStream('swollen', 1)
    await server.put('swollen', [packed('{"number":1}', 65 * mebibytes)])
    const source = sourceAt(server.endpoint, { streamName: 'swollen' })
    const { reason } = await probeFails(source, { step: 'decode', code: 'undecodable' }, { secrets })
    assert.match(reason, /larger than 64 MiB/)
  })

  it('reports expired credentials', async () => {
    const keys = [{ ...accessKey, mayRead: true, expiresAt: new Date() }]
    const proxy = await startSignatureCheck({ service: 'kinesis', region: 'eu-west-1', target: server.endpoint, keys })
    try {
      const { reason } = await probeFails(
        sourceAt(proxy.url),
        { step: 'authenticate', code: 'credentials_refused', field: 'accessKey' },
        { secrets },
      )
      assert.match(reason, /have expired/)
    } finally {
      await proxy.stop()
    }
  })

  it('rejects the positions of another stream', async () => {
    const source = sourceAt(server.endpoint)
    const { batches } = await readAll(source, {})
    // Kinesalite distinguishes streams by their creation time in seconds.
    await wait(1_100)
    await server.createStream('others', 1)
    const positions = Object.fromEntries(batches.map(({ partition, next }) => [partition, next]))
    await assert.rejects(
      readAll(sourceAt(server.endpoint, { streamName: 'others' }), positions),
      (error) => error instanceof ProbeFailure && error.code === 'not_found' && error.field === 'streamName',
    )
  })
})
