// A complete Penstock removes the consumer that a deleted pipe has left at its stream.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '../../test/fakes/fake-workers.ts'
import { leastPipes, type ServiceOfPipes, serviceOfPipes, withField } from '../../test/harness/pipes.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { loopbackEgress } from '../../test/sources/conformance.ts'
import { type FanOutServer, startFanOut } from '../../test/sources/kinesis-fan-out.ts'
import { type KinesisServer, startKinesis } from '../../test/sources/kinesis-server.ts'
import { accessKey, kinesisConfig, kinesisContext } from '../../test/sources/kinesis-source-at.ts'
import { makeKinesisSource } from '../sources/kinesis/kinesis.ts'
import { remedyFor } from './kinesis-cleanup.ts'

describe('the stream of a kinesis pipe that is deleted', () => {
  let behind: KinesisServer
  let stream: FanOutServer
  let app: TestApp
  let service: ServiceOfPipes
  before(async () => {
    behind = await startKinesis()
    stream = await startFanOut(behind)
    await behind.createStream(kinesisConfig.streamName, 1)
    app = await openTestApp('sqlite', { role: 'all', awsEndpoints: { kinesis: stream.endpoint } })
    service = await serviceOfPipes(app)
    await app.app.listen()
  })
  after(async () => {
    await app?.close()
    await stream?.stop()
    await behind?.stop()
  })

  /** A pipe that has run before and has a consumer. */
  async function makePausedPipe(more: object = {}): Promise<string> {
    const source = { ...kinesisConfig, accessKey, useEnhancedFanOut: true, ...more }
    const body = withField(leastPipes.kinesis, 'source.kinesis', source)
    const { id } = await service.create({ ...body, startPaused: true })
    await app.query(`UPDATE pipes SET epoch = 1 WHERE id = '${id}'`)
    return id
  }

  async function readFor(pipeId: string): Promise<void> {
    const context = { ...kinesisContext(stream.endpoint), pipeId }
    const source = makeKinesisSource({ ...kinesisConfig, useEnhancedFanOut: true }, { accessKey }, context)
    const signal = AbortSignal.timeout(20_000)
    const reader = await source.open({}, { egress: loopbackEgress, signal })
    try {
      await until(async () => {
        await reader.read({ maxRecords: 1, maxBytes: 1, waitMs: 20, signal })
        return stream.subscriptions() === 1
      }, 'it is subscribed to')
    } finally {
      await reader.close()
    }
    // The next pipe must not use this consumer as its own.
    await until(() => stream.subscriptions() === 0, 'the subscription has ended')
  }

  const left = () =>
    app.query<{ pipe_id: string; tries: number; last_reason: string | null }>('SELECT * FROM source_leftovers')
  const removed = 'what a deleted pipe had left at its source was removed'
  const isLogged = (pipeId: string): boolean =>
    app.logged.some((line) => line.includes(removed) && line.includes(pipeId))
  const consumers = (): string[] => [...stream.consumers.values()].map(({ name }) => name)

  it('loses the consumer of the pipe, and no other', async () => {
    const [deleted, kept] = [await makePausedPipe(), await makePausedPipe()]
    await readFor(deleted)
    await readFor(kept)
    assert.deepEqual(consumers(), [`penstock-${deleted}`, `penstock-${kept}`])
    assert.equal((await service.send('DELETE', `/${deleted}`)).status, 200)
    await until(async () => (await left()).length === 0, 'nothing waits')
    assert.deepEqual(consumers(), [`penstock-${kept}`])
    assert.ok(!app.logged.some((line) => line.includes(accessKey.secretKey)))
    await until(() => isLogged(deleted), 'it is logged')
    assert.equal(app.logged.filter((line) => line.includes(removed)).length, 1)
  })

  it('needs nothing when the consumer, or the stream, is not there', async () => {
    for (const more of [{}, { streamName: 'never-made' }]) {
      const id = await makePausedPipe(more)
      assert.equal((await service.send('DELETE', `/${id}`)).status, 200)
      // The runner may have removed it already.
      const isLeft = (await left()).some(({ pipe_id }) => pipe_id === id)
      if (!isLeft) await until(() => isLogged(id), 'it was left, and is removed')
    }
    await until(async () => (await left()).length === 0, 'nothing waits')
  })

  for (const [what, refusal] of [
    ['has never heard of consumers', { code: 'UnknownOperationException' }],
    ['has not made them', { code: 'NotImplemented', status: 501 }],
  ] as const) {
    it(`needs nothing when what speaks like Kinesis ${what}`, async () => {
      const id = await makePausedPipe()
      // The client repeats some requests.
      for (let count = 0; count < 8; count++) {
        stream.refusals.push({ operation: 'DeregisterStreamConsumer', ...refusal })
      }
      assert.equal((await service.send('DELETE', `/${id}`)).status, 200)
      await until(async () => (await left()).length === 0, 'nothing waits')
      stream.refusals.length = 0
    })
  }

  it('is left alone when the pipe had no consumer', async () => {
    await service.send('DELETE', `/${await makePausedPipe({ useEnhancedFanOut: false })}`)
    assert.deepEqual(await left(), [])
  })

  it('is tried again when access is denied, and reports what is left to do', async () => {
    const id = await makePausedPipe()
    stream.refusals.push({ operation: 'DeregisterStreamConsumer', code: 'AccessDeniedException' })
    assert.equal((await service.send('DELETE', `/${id}`)).status, 200)
    await until(async () => (await left())[0]?.tries === 1, 'it was tried')
    const [row] = await left()
    assert.equal(
      row?.last_reason,
      'the credentials do not allow kinesis:DeregisterStreamConsumer on the stream "clicks"',
    )
    const { region, streamName, authentication } = kinesisConfig
    const source = { kind: 'kinesis' as const, region, streamName, authentication }
    const times = { since: '', nextTryAt: '', tries: 1 }
    assert.equal(
      remedyFor({ pipeId: id, organizationId: 'o', sealedSecrets: null, source, ...times }),
      `remove the consumer penstock-${id} from the stream "clicks" in eu-west-1`,
    )
    await app.query(`UPDATE source_leftovers SET next_try_at = since WHERE pipe_id = '${id}'`)
    await until(async () => (await left()).length === 0, 'it is removed')
  })
})
