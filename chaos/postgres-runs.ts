// Drills of postgres pipes while their tables change: R18 with a source that also crashes, tables added and removed, and resync
// under load. At the end no row is missing, outdated, or present after its deletion.
import { setTimeout as sleep } from 'node:timers/promises'
import { crashFault, type Fault, faults, injectAll, interceptedFault, untilRowsCome, type Victim } from './faults.ts'
import { type Run, runIn } from './in-world.ts'
import { guest } from './postgres-tables.ts'
import { makePostgresWorld, mappingOf, type PostgresWorld, type PostgresWorldOptions } from './postgres-world.ts'

const followTimeoutMs = 240_000

const source: Victim<PostgresWorld> = {
  async kill(world) {
    world.history.note('PostgreSQL is killed')
    await world.source.kill()
  },
  revive: (world) => world.source.restart(),
}

const sourceFaults: Fault<PostgresWorld>[] = [
  crashFault('PostgreSQL dies at any timestamp', source),
  interceptedFault('PostgreSQL is killed in the middle of an insert', source, 'middle', 'pass'),
  interceptedFault('PostgreSQL is killed as the answer arrives', source, 'answered', 'pass'),
  {
    name: 'the connections to PostgreSQL break',
    async inject({ feed }, random) {
      await sleep(random.between(0, 1_500))
      feed.block()
      feed.restore()
    },
  },
]

/** Half of the faults of a cycle are faults of the source. */
const postgresFaults: Fault<PostgresWorld>[] = [...faults, ...sourceFaults, ...sourceFaults]

export async function runReplication(options: PostgresWorldOptions, kills: number): Promise<Run> {
  const { random } = options
  return runIn(await makePostgresWorld(options), async (world) => {
    const stopWriting = world.write()
    try {
      await world.begin()
      await injectAll(world, postgresFaults, {
        random,
        kills,
        // The first fault hits the initial load; later ones may hit a resync.
        async before() {
          if (!random.happens(0.25)) return
          const { state } = await world.metrics()
          if (state !== 'Running' && state !== 'Degraded') return
          world.history.note('resync')
          await world.resync()
          await sleep(random.between(0, 800))
        },
      })
    } finally {
      await stopWriting()
    }
  })
}

/** The target table is a new one each time, or the previous one with its old rows. */
export async function runTables(options: PostgresWorldOptions, rounds: number): Promise<Run> {
  const { random } = options
  return runIn(await makePostgresWorld(options), async (world) => {
    const patch = (postgres: object): Promise<unknown> => world.call('PATCH', world.pipePath, { source: { postgres } })
    const stopWriting = world.write()
    try {
      await world.begin()
      await untilRowsCome(world, 0)
      for (let round = 1; round <= rounds; round++) {
        const target = random.happens(0.5) ? guest.name : `${guest.name}_${round}`
        world.history.note(`${round}. ${target} is added`)
        await patch({ tableMappingsToAdd: [mappingOf(guest, target)] })
        // Some tables are removed before they are loaded.
        if (random.happens(0.6)) await world.untilFollowing(followTimeoutMs)
        else await sleep(random.between(0, 1_500))
        if (round === rounds) {
          world.targets.set(target, guest)
          break
        }
        world.history.note(`${target} is removed`)
        await patch({ tableMappingsToRemove: [{ sourceSchemaName: 'public', sourceTable: guest.name }] })
        await sleep(random.between(0, 2_000))
      }
      await world.untilFollowing(followTimeoutMs)
      await untilRowsCome(world, await world.countRows())
    } finally {
      await stopWriting()
    }
  })
}

export async function runResyncs(options: PostgresWorldOptions, rounds: number): Promise<Run> {
  const { random } = options
  return runIn(await makePostgresWorld(options), async (world) => {
    const stopWriting = world.write()
    try {
      await world.begin()
      for (let round = 1; round <= rounds; round++) {
        await world.untilFollowing(followTimeoutMs)
        await sleep(random.between(0, 2_000))
        world.history.note(`${round}. resync`)
        await world.resync()
      }
      await world.untilFollowing(followTimeoutMs)
      await untilRowsCome(world, await world.countRows())
    } finally {
      await stopWriting()
    }
  })
}
