// Kafka topics that change randomly while workers read them and are killed: every record is in the table once, or the pipe reports
// how many are missing.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRandom, type Random } from '../../chaos/random.ts'
import { drillSeed, drillSize } from '../../test/harness/drill.ts'
import { Faults, faultModes } from '../../test/runner-world/faults.ts'
import { lineEncoders } from '../../test/runner-world/line-rows.ts'
import { makeRunnerWorld, type RunnerWorld } from '../../test/runner-world/runner-world.ts'
import { loopbackEgress } from '../../test/sources/conformance.ts'
import { startKafkaBroker } from '../../test/sources/kafka-broker/broker.ts'
import { deleteRecordsBefore, growTopic } from '../../test/sources/kafka-changes.ts'
import { recreateTopic } from '../../test/sources/kafka-recreation.ts'
import type { KafkaServer } from '../../test/sources/kafka-server.ts'
import { configOf, numbers, plaintextContext, sourceOf, topicWith } from '../../test/sources/kafka-world.ts'
import { makeAccess } from '../sources/kafka/kafka-connection.ts'
import { openKafkaReader } from '../sources/kafka/kafka-reader.ts'
import type { ReadableSource } from '../sources/source.ts'
import type { Worker } from './worker.ts'

const batchSize = { rows: 20, bytes: 10_000, note: () => undefined }
const longestWaitMs = 20_000
const stepsOfRound = 14

interface Round {
  random: Random
  server: KafkaServer
  topic: string
  world: RunnerWorld
  /** Records of the present topic by partition and offset; deleted records are undefined. */
  logs: (string | undefined)[][]
  written: string[]
  isOver: boolean
  worker: Worker | undefined
}

/** Looks for new partitions more often than by default. */
function topicSource(server: KafkaServer, topic: string): ReadableSource {
  const config = configOf(server, topic, { config: { brokers: server.listeners.saslPlain } })
  const secrets = { credentials: { ...server.user } }
  return {
    probe: sourceOf(server, topic).probe,
    open(positions, { signal }, selection = {}) {
      const access = makeAccess(config, secrets, plaintextContext, { egress: loopbackEgress, signal })
      return openKafkaReader(access, positions, { selection, refreshMs: 100 })
    },
  }
}

type Step = (round: Round) => Promise<void>

const steps: Record<string, Step> = {
  async produce(round) {
    const { random, server, topic, logs, written } = round
    const records = Array.from({ length: random.between(1, 60) }, () => {
      const partition = random.below(logs.length)
      const value = `record ${written.length}`
      logs[partition]!.push(value)
      written.push(value)
      return { partition, value: Buffer.from(value) }
    })
    await server.produce(topic, records)
  },
  async recreate(round) {
    const { random, server, topic } = round
    const partitions = random.between(1, 4)
    await recreateTopic(server, topic, partitions)
    round.logs = Array.from({ length: partitions }, () => [])
    // Often longer than the part of the earlier topic that was read.
    for (let more = random.below(4); more > 0; more--) await steps.produce!(round)
  },
  async grow({ random, server, topic, logs }) {
    if (logs.length > 6) return
    const count = logs.length + random.between(1, 2)
    await growTopic(server, topic, count)
    while (logs.length < count) logs.push([])
  },
  async deleteRecords({ random, server, topic, logs }) {
    const log = logs[0]!
    const before = random.between(0, log.length)
    await deleteRecordsBefore(server, topic, BigInt(before))
    log.fill(undefined, 0, before)
  },
  async kill({ worker }) {
    worker?.abort()
  },
  async stop({ worker }) {
    worker?.stop()
  },
  async pause({ random }) {
    await sleep(random.below(80))
  },
}

/** Runs one worker after the other: each is killed, stopped, or dies of a fault. */
async function supervise(round: Round): Promise<void> {
  while (!round.isOver) {
    round.worker = round.world.newWorker()
    const end = await round.worker.run()
    assert.notEqual(end.end, 'failed', JSON.stringify(end))
  }
}

/** Records that the topic has and the table does not. */
function awaited({ logs, world }: Round): string[] {
  const stored = new Set(world.engine.lines)
  return logs.flat().filter((record) => record !== undefined && !stored.has(record)) as string[]
}

function missingOf({ written, world }: Round): number {
  const stored = new Set(world.engine.lines)
  return written.filter((record) => !stored.has(record)).length
}

function reportedOf({ world }: Round): number {
  const counts = world.store.losses.map(({ records }) =>
    records && 'atMost' in records ? records.atMost : Number.POSITIVE_INFINITY,
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Every record of the topic is in the table, and missing ones are reported. */
async function settle(round: Round): Promise<void> {
  const deadlineMs = Date.now() + longestWaitMs
  for (;;) {
    const left = awaited(round)
    const [missing, reported] = [missingOf(round), reportedOf(round)]
    if (left.length === 0 && missing <= reported) return
    const found = `${left.length} not delivered, such as ${left[0]}; ${missing} missing, ${reported} reported`
    assert.ok(Date.now() < deadlineMs, found)
    await sleep(20)
  }
}

async function runRound(server: KafkaServer, seed: number): Promise<{ lost: number; losses: number }> {
  const random = makeRandom(seed)
  const partitions = random.between(1, 3)
  const topic = await topicWith(server, [], partitions)
  const faultAt = Array.from({ length: 4 }, () => random.between(5, 150))
  const world = makeRunnerWorld({
    kind: 'kafka',
    faults: new Faults(faultAt, random.pick(faultModes.filter((mode) => mode !== 'late'))),
    scaling: { concurrency: random.pick([0, 1, 3]) },
    options: { batchSize, encoders: lineEncoders({ pieceBytes: [10] }) },
    makeSource: () => topicSource(server, topic),
  })
  const logs = Array.from({ length: partitions }, (): string[] => [])
  const round: Round = { random, server, topic, world, logs, written: [], isOver: false, worker: undefined }
  const history: string[] = []
  const supervised = supervise(round)
  try {
    // Changes before the first look at the topic cannot be detected.
    await steps.produce!(round)
    await settle(round)
    for (let step = 0; step < stepsOfRound; step++) {
      const name = step % 2 === 0 ? 'produce' : random.pick(Object.keys(steps))
      history.push(name)
      await steps[name]!(round)
      if (random.happens(0.5)) await sleep(random.below(60))
    }
    await settle(round).catch((error: unknown) => {
      throw new Error(history.join(', '), { cause: error })
    })
  } finally {
    round.isOver = true
    round.worker?.stop()
    await supervised
  }
  const { lines } = world.engine
  assert.equal(new Set(lines).size, lines.length, `doubled; ${history}`)
  return { lost: missingOf(round), losses: world.store.losses.length }
}

describe('a Kafka pipe whose topic changes', () => {
  let server: KafkaServer
  before(async () => {
    server = await startKafkaBroker()
  })
  after(() => server.stop())

  const rounds = drillSize(40)
  const seed = drillSeed()
  it(`R21 delivers every record once, or reports how many are missing (${rounds} rounds, seed ${seed})`, {
    timeout: 1_000 * rounds + 300_000,
  }, async (test) => {
    let lost = 0
    let losses = 0
    for (let round = 0; round < rounds; round++) {
      const result = await runRound(server, seed + round).catch((error: unknown) => {
        throw new Error(`round with the seed ${seed + round}`, { cause: error })
      })
      lost += result.lost
      losses += result.losses
    }
    test.diagnostic(`${lost} records lost, ${losses} losses reported`)
  })

  const worldOf = (topic: string): RunnerWorld =>
    makeRunnerWorld({
      kind: 'kafka',
      options: { batchSize, encoders: lineEncoders({ pieceBytes: [10] }) },
      makeSource: () => topicSource(server, topic),
    })
  const produce = (topic: string, texts: string[]): Promise<void> =>
    server.produce(
      topic,
      texts.map((text) => ({ partition: 0, value: Buffer.from(text) })),
    )
  const until = async (isSo: () => boolean): Promise<void> => {
    const deadlineMs = Date.now() + longestWaitMs
    while (!isSo() && Date.now() < deadlineMs) await sleep(10)
  }
  const work = async (worker: Worker, use: () => Promise<void>, end: 'stop' | 'abort' = 'stop'): Promise<void> => {
    const running = worker.run()
    await use()
    worker[end]()
    assert.deepEqual(await running, { end: 'stopped' })
  }

  it('delivers all of a topic that was deleted and created again, by the worker that reads it and by the next one', async () => {
    const topic = await topicWith(server, [])
    const world = worldOf(topic)
    const texts = (name: string, count: number): string[] => numbers(0, count).map((number) => `${name}${number}`)
    const expected: string[] = []
    // The same offsets each time: batches at equal offsets must not be mistaken for the same batch.
    const deliver = async (name: string, count: number): Promise<void> => {
      expected.push(...texts(name, count))
      await produce(topic, texts(name, count))
      await until(() => world.engine.lines.length === expected.length)
      assert.deepEqual(world.engine.lines, expected)
    }
    await work(
      world.newWorker(),
      async () => {
        await deliver('a', 10)
        await recreateTopic(server, topic, 1)
        await deliver('b', 10)
        await recreateTopic(server, topic, 1)
        await deliver('c', 15)
      },
      'abort',
    )
    await recreateTopic(server, topic, 2)
    await work(world.newWorker(), () => deliver('d', 15))
    assert.deepEqual(world.store.losses.length, 3)
    assert.match(world.store.losses[0]?.reason ?? '', /was deleted and created again/)
  })

  it('reports when the brokers have lost records that were read', async () => {
    const topic = await topicWith(server, [])
    const world = worldOf(topic)
    const { engine, store } = world
    await work(world.newWorker(), async () => {
      await produce(topic, ['a'])
      await produce(topic, ['b', 'c'])
      await until(() => engine.lines.length === 3)
      assert.equal(server.truncate?.(topic, 0, 2), 1)
      await until(() => store.losses.length > 0)
      assert.match(store.losses[0]?.reason ?? '', /ends before what was read of it: the brokers have lost records/)
      // At offsets that were read before with other records.
      await produce(topic, ['d', 'e'])
      await until(() => engine.lines.length === 5)
    })
    assert.deepEqual(engine.lines, ['a', 'b', 'c', 'd', 'e'])
  })
})
