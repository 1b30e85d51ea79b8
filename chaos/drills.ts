// Pipe drills by id: the source, the engine, and the largest number of faults in one run.
import { runContinuous, runOnce, runReshards } from './deliveries.ts'
import { type Feed, makeKafkaFeed, makeObjectFeed } from './feeds.ts'
import type { Run } from './in-world.ts'
import { makeKinesisFeed } from './kinesis-feed.ts'
import type { WorldOptions } from './pipe-world.ts'
import { runReplication, runResyncs, runTables } from './postgres-runs.ts'
import type { PostgresWorldOptions } from './postgres-world.ts'
import { makeGuardedObjectFeed, makeQueueFeed } from './queue-feed.ts'
import { makeRandom, type Random } from './random.ts'
import { runRotations } from './rotations.ts'
import { type EngineName, type Servers, secondLogin } from './servers.ts'
import { runTakeovers } from './takeovers.ts'
import { runUpdates } from './updates.ts'

export interface DrillOptions {
  /** Number of the run; names on the shared servers are derived from it. */
  number: number
  engine: EngineName
  faults: number
  seed: number
  /** Uses Apache Kafka and an object store in a separate process. */
  isReal?: boolean
}

export interface Drill {
  /** Most faults in one run. */
  most: number
  run(servers: Servers, options: DrillOptions): Promise<Run>
}

type SourceName = 'kafka' | 'objects' | 'objects once' | 'guarded objects' | 'Kinesis' | 'queue'

/** Makes names unique on servers that several ids, or several runs of an id, share. */
let worlds = 0

async function makeFeed(
  servers: Servers,
  source: SourceName,
  { random, isReal = false }: { random: Random; isReal?: boolean | undefined },
): Promise<Feed> {
  const name = `rows-${++worlds}`
  switch (source) {
    case 'kafka':
      return makeKafkaFeed(await servers.kafka(isReal), { name, random, otherLogins: isReal ? [] : [secondLogin] })
    case 'Kinesis':
      return makeKinesisFeed(await servers.kinesis(), { name, random })
    case 'queue':
      return makeQueueFeed(await servers.bareObjects(), { name, random })
    case 'guarded objects':
      return makeGuardedObjectFeed(await servers.bareObjects(), { name, random })
    default:
      return makeObjectFeed(await servers.objects(isReal), { name, random, isContinuous: source === 'objects' })
  }
}

/** Options of every run of an insert-only pipe. */
async function makeOptions(servers: Servers, source: SourceName, options: DrillOptions): Promise<WorldOptions> {
  const { engine: engineName, seed, isReal } = options
  const random = makeRandom(seed)
  const feed = await makeFeed(servers, source, { random, isReal })
  const engine = await servers.engine(engineName)
  return { engine, database: `chaos_${worlds}`, feed, random }
}

export async function runDeliveries(servers: Servers, source: SourceName, options: DrillOptions): Promise<Run> {
  const { faults } = options
  const world = withScaling(await makeOptions(servers, source, options))
  return source === 'objects once' ? runOnce(world, { kills: faults, objects: 16 }) : runContinuous(world, faults)
}

/** Random replicas and concurrent inserts. */
function withScaling(options: WorldOptions): WorldOptions {
  const { random } = options
  return { ...options, scaling: { replicas: random.between(1, 2), concurrency: random.pick([0, 0, 3]) } }
}

/** The old engine is combined with the old PostgreSQL. */
async function makePostgresOptions(servers: Servers, options: DrillOptions): Promise<PostgresWorldOptions> {
  const [engine, source] = await Promise.all([
    servers.engine(options.engine),
    servers.postgres(options.engine === 'old' ? '15' : '18'),
  ])
  return { engine, source, database: `chaos_${++worlds}`, random: makeRandom(options.seed) }
}

const sources: SourceName[] = ['kafka', 'objects', 'kafka', 'objects once']
const runsWithOneSource = 2
const updatedSources: SourceName[] = ['kafka', 'Kinesis', 'guarded objects']
const rotatedSources: SourceName[] = ['Kinesis', 'guarded objects', 'queue']

export const drills: Record<string, Drill> = {
  R18: {
    most: 18,
    // The engine changes with every run, the source with every second run.
    run: (servers, options) => {
      const source = sources[Math.floor(options.number / runsWithOneSource) % sources.length] ?? 'kafka'
      return runDeliveries(servers, source, { isReal: options.number % 5 === 4, ...options })
    },
  },
  R19: {
    most: 4,
    async run(servers, options) {
      const world = await makeOptions(servers, 'kafka', options)
      const databaseUrl = await servers.newDatabase()
      const scaling = { replicas: world.random.between(1, 2) }
      return runTakeovers({ ...world, databaseUrl, scaling }, options.faults)
    },
  },
  updates: {
    most: 50,
    async run(servers, options) {
      const source = updatedSources[options.number % updatedSources.length] ?? 'kafka'
      return runUpdates(await makeOptions(servers, source, options), options.faults)
    },
  },
  rotation: {
    most: 10,
    async run(servers, options) {
      const source = rotatedSources[options.number % rotatedSources.length] ?? 'Kinesis'
      return runRotations(withScaling(await makeOptions(servers, source, options)), options.faults)
    },
  },
  'R18-kinesis': { most: 18, run: (servers, options) => runDeliveries(servers, 'Kinesis', options) },
  'R18-queue': { most: 18, run: (servers, options) => runDeliveries(servers, 'queue', options) },
  reshard: {
    most: 18,
    run: async (servers, options) =>
      runReshards(withScaling(await makeOptions(servers, 'Kinesis', options)), options.faults),
  },
  'R18-postgres': {
    most: 15,
    run: async (servers, options) => runReplication(await makePostgresOptions(servers, options), options.faults),
  },
  tables: {
    most: 50,
    run: async (servers, options) => runTables(await makePostgresOptions(servers, options), options.faults),
  },
  'resync under load': {
    most: 5,
    run: async (servers, options) => runResyncs(await makePostgresOptions(servers, options), options.faults),
  },
}
