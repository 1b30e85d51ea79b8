// Replaces the credentials of a pipe while rows flow and revokes the old ones as soon as the new ones are in effect. Rows keep
// flowing through crashes, and none is lost or duplicated.
import { setTimeout as sleep } from 'node:timers/promises'
import { untilRowsCome } from './faults.ts'
import { inWorld, type Run } from './in-world.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'
import { changeBadly, credentialsOf, untilInEffect } from './updates.ts'

const shareOfKills = 0.3

export async function runRotations(options: WorldOptions, rotations: number): Promise<Run> {
  const { random, feed } = options
  const { next, forgetOthers } = credentialsOf(feed)
  return inWorld(options, async (world) => {
    await world.begin()
    const stopFlow = world.flow(80)
    try {
      await untilRowsCome(world, 0)
      for (let number = 0; number < rotations; number++) {
        world.history.note(`${number + 1}. new credentials`)
        await world.call('PATCH', world.pipePath, { source: next() })
        if (random.happens(shareOfKills)) await restart(world, random.between(0, 1_000))
        await untilInEffect(world)
        forgetOthers?.()
        world.history.note('the old credentials are revoked')
        await untilRowsCome(world, await world.countRows())
      }
      await changeBadly(world)
    } finally {
      await stopFlow()
    }
  })
}

async function restart({ penstocks }: PipeWorld, afterMs: number): Promise<void> {
  await sleep(afterMs)
  for (const penstock of penstocks) {
    await penstock.kill()
    await penstock.start()
  }
}
