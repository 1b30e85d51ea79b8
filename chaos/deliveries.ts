// R18: after any crash, every row of the source is in the table exactly as often as in the source.
import { setTimeout as sleep } from 'node:timers/promises'
import { faults, injectAll, untilRowsCome } from './faults.ts'
import { inWorld, type Run } from './in-world.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'

const completionTimeoutMs = 240_000
const rowsOfLargeObject = 40_000
const rowsOfSmallObject = 3_000
const objectsBefore = 8

/** Continuous pipe: faults follow one another while rows flow. */
export async function runContinuous(options: WorldOptions, kills: number): Promise<Run> {
  return runFlowing(options, (world) => injectAll(world, faults, { random: options.random, kills }))
}

/**
 * Splits or merges shards, once or several times, before each fault, so that the fault hits the pipe while it moves to the new
 * shards.
 */
export async function runReshards(options: WorldOptions, rounds: number): Promise<Run> {
  const { random, feed } = options
  return runFlowing(options, async (world) => {
    const before = async (): Promise<void> => {
      for (let left = random.between(1, 3); left > 0; left--) {
        world.history.note((await feed.reshard?.()) ?? 'this source cannot be resharded')
        await sleep(random.between(0, 1_000))
      }
    }
    await injectAll(world, faults, { random, kills: rounds, before })
  })
}

async function runFlowing(options: WorldOptions, use: (world: PipeWorld) => Promise<void>): Promise<Run> {
  const { feed, random } = options
  return inWorld(options, async (world) => {
    for (let object = 0; feed.putBefore && object < objectsBefore; object++) {
      await feed.putBefore(world.expected.next(object === 0 ? rowsOfLargeObject : random.between(1, rowsOfSmallObject)))
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

/** All objects exist before the pipe starts; at the end the pipe must be completed. */
export async function runOnce(
  options: WorldOptions,
  { kills, objects }: { kills: number; objects: number },
): Promise<Run> {
  const { feed, random } = options
  return inWorld({ batchesWithBadRows: 7, ...options }, async (world) => {
    for (let object = 0; object < objects; object++) {
      // Some objects are larger than one insert.
      const isLarge = object % 4 === 0
      await feed.put(world.expected.next(isLarge ? rowsOfLargeObject : random.between(1, rowsOfSmallObject)))
    }
    await world.begin()
    await injectAll(world, faults, { random, kills })
    const deadlineMs = Date.now() + completionTimeoutMs
    while ((await world.metrics()).state !== 'Completed') {
      if (Date.now() > deadlineMs) throw new Error('the pipe did not complete')
      await sleep(200)
    }
  })
}
