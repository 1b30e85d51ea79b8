// R18: whatever dies at whatever moment, every row of the source is in the table exactly as often as in the source.
import { setTimeout as sleep } from 'node:timers/promises'
import { inWorld, type Run } from './in-world.ts'
import type { WorldOptions } from './pipe-world.ts'
import { happenAll, troubles, untilRowsCome } from './troubles.ts'

const completionTimeoutMs = 90_000
const rowsOfLargeObject = 40_000
const rowsOfSmallObject = 3_000

/** The pipe goes on for ever: troubles come one after the other while rows flow. */
export async function runContinuous(options: WorldOptions, kills: number): Promise<Run> {
  const { random } = options
  return inWorld(options, async (world) => {
    await world.begin()
    const stopFlow = world.flow(80)
    try {
      await untilRowsCome(world, 0)
      await happenAll(world, troubles, { random, kills })
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
