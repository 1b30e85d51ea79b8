// What is done to a postgres pipe while its tables change: R18 with a source that dies as well, tables that come and go, and
// everything loaded anew. At the end no row is missing, old, or there although it is gone.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Run, runIn } from './in-world.ts'
import { guest } from './postgres-tables.ts'
import { makePostgresWorld, mappingOf, type PostgresWorld, type PostgresWorldOptions } from './postgres-world.ts'
import { dying, happenAll, striking, type Trouble, troubles, untilRowsCome, type Victim } from './troubles.ts'

const followTimeoutMs = 240_000

const source: Victim<PostgresWorld> = {
  async kill(world) {
    world.history.note('PostgreSQL is killed')
    await world.source.kill()
  },
  revive: (world) => world.source.restart(),
}

const sourceTroubles: Trouble<PostgresWorld>[] = [
  dying('PostgreSQL dies at any moment', source),
  striking('PostgreSQL dies within an insert', source, 'middle', 'pass'),
  striking('PostgreSQL dies as the answer comes', source, 'answered', 'pass'),
  {
    name: 'the connections to PostgreSQL break',
    async happen({ feed }, random) {
      await sleep(random.between(0, 1_500))
      feed.breakOff()
      feed.restore()
    },
  },
]

/** Of one cycle, those of the source come as often as all others. */
const postgresTroubles: Trouble<PostgresWorld>[] = [...troubles, ...sourceTroubles, ...sourceTroubles]

export async function runReplication(options: PostgresWorldOptions, kills: number): Promise<Run> {
  const { random } = options
  return runIn(await makePostgresWorld(options), async (world) => {
    const stopWriting = world.write()
    try {
      await world.begin()
      await happenAll(world, postgresTroubles, {
        random,
        kills,
        // The first one meets the first load; later ones some other.
        async before() {
          if (!random.happens(0.25)) return
          const { state } = await world.metrics()
          if (state !== 'Running' && state !== 'Degraded') return
          world.history.note('everything is loaded anew')
          await world.resync()
          await sleep(random.between(0, 800))
        },
      })
    } finally {
      await stopWriting()
    }
  })
}

/** The table is another one each time, as its user may want it, or the same one again, with what was left in it. */
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
        world.history.note(`${round}. ${target} comes`)
        await patch({ tableMappingsToAdd: [mappingOf(guest, target)] })
        // Some go before they are loaded.
        if (random.happens(0.6)) await world.untilFollowing(followTimeoutMs)
        else await sleep(random.between(0, 1_500))
        if (round === rounds) {
          world.targets.set(target, guest)
          break
        }
        world.history.note(`${target} goes`)
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
        world.history.note(`${round}. everything is loaded anew`)
        await world.resync()
      }
      await world.untilFollowing(followTimeoutMs)
      await untilRowsCome(world, await world.countRows())
    } finally {
      await stopWriting()
    }
  })
}
