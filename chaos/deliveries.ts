// R18: whatever dies at whatever moment, every row of the source is in the table exactly as often as in the source.
import { setTimeout as sleep } from 'node:timers/promises'
import { inWorld, type Run } from './in-world.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'
import { happenAll, troubles, untilRowsCome } from './troubles.ts'

const completionTimeoutMs = 240_000
const rowsOfLargeObject = 40_000
const rowsOfSmallObject = 3_000
const objectsBefore = 8

/** The pipe goes on for ever: troubles come one after the other while rows flow. */
export async function runContinuous(options: WorldOptions, kills: number): Promise<Run> {
  return runFlowing(options, (world) => happenAll(world, troubles, { random: options.random, kills }))
}

/** Before each trouble the source is split or merged, once or several times: it strikes at a pipe that is about to go over. */
export async function runReshards(options: WorldOptions, rounds: number): Promise<Run> {
  const { random, feed } = options
  return runFlowing(options, async (world) => {
    const before = async (): Promise<void> => {
      for (let left = random.between(1, 3); left > 0; left--) {
        world.history.note((await feed.reshard?.()) ?? 'this source stays as it is')
        await sleep(random.between(0, 1_000))
      }
    }
    await happenAll(world, troubles, { random, kills: rounds, before })
  })
}

async function runFlowing(options: WorldOptions, use: (world: PipeWorld) => Promise<void>): Promise<Run> {
  const { feed, random } = options
  return inWorld(options, async (world) => {
    for (let object = 0; feed.putBefore && object < objectsBefore; object++) {
      await feed.putBefore(world.tally.next(object === 0 ? rowsOfLargeObject : random.between(1, rowsOfSmallObject)))
    }
    await world.begin()
    const stopFlow = world.flow(80)
    try {
      await untilRowsCome(world, 0)
      await use(world)
    } finally {
      await stopFlow()
    }
  })
}

/** Everything is there when the pipe begins; at its end it says that it is complete. */
export async function runOnce(
  options: WorldOptions,
  { kills, objects }: { kills: number; objects: number },
): Promise<Run> {
  const { feed, random } = options
  return inWorld({ batchesWithBadRows: 7, ...options }, async (world) => {
    for (let object = 0; object < objects; object++) {
      // Some are larger than what goes into one insert.
      const isLarge = object % 4 === 0
      await feed.put(world.tally.next(isLarge ? rowsOfLargeObject : random.between(1, rowsOfSmallObject)))
    }
    await world.begin()
    await happenAll(world, troubles, { random, kills })
    const deadlineMs = Date.now() + completionTimeoutMs
    while ((await world.metrics()).state !== 'Completed') {
      if (Date.now() > deadlineMs) throw new Error('the pipe did not complete')
      await sleep(200)
    }
  })
}
