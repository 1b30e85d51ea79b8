// Life cycle of a run: create a world, use it, drain it. The folder with logs and databases is kept when the run fails.
import { makePipeWorld, type Outcome, type PipeWorld, type WorldOptions } from './pipe-world.ts'
import type { Stage } from './stage.ts'

export interface Run {
  outcome: Outcome
  /** Folder that is kept when rows are lost or duplicated. */
  kept: string | undefined
}

const drainTimeoutMs = 180_000

export function isExact({ rows, badRows, left = 0 }: Outcome): boolean {
  return rows.lost + rows.extra + badRows.lost + badRows.extra + left === 0
}

export async function inWorld(options: WorldOptions, use: (world: PipeWorld) => Promise<void>): Promise<Run> {
  return runIn(await makePipeWorld(options), use)
}

export async function runIn<World extends Stage & { drain(timeoutMs: number): Promise<Outcome> }>(
  world: World,
  use: (world: World) => Promise<void>,
): Promise<Run> {
  try {
    await use(world)
    const outcome = await world.drain(drainTimeoutMs)
    return { outcome, kept: await world.close(!isExact(outcome)) }
  } catch (error) {
    world.history.note(`failed: ${error instanceof Error ? error.stack : error}`)
    const kept = await world.close(true)
    throw new Error(`the run failed; look in ${kept}`, { cause: error })
  }
}
