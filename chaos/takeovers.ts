// R19: two processes on one PostgreSQL. The one that holds the pipe is frozen past its lease, the other one takes over, and then
// the first wakes up in the middle of what it was doing: nothing is lost, nothing is there twice, and it gets nothing back.
import { setTimeout as sleep } from 'node:timers/promises'
import { inWorld, type Run } from './in-world.ts'
import type { Fate, Moment } from './meddler.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'
import type { Random } from './random.ts'
import { untilRowsCome } from './troubles.ts'

/** A lease of 15 s, and what a busy machine adds. */
const takeoverTimeoutMs = 60_000
const strikeTimeoutMs = 10_000
/** What a frozen process has on its way must have failed by then. */
const afterwardsMs = 3_000

export async function runTakeovers(options: WorldOptions, rounds: number): Promise<Run> {
  return inWorld({ ...options, processes: 2 }, async (world) => {
    await world.begin()
    const stopFlow = world.flow(80)
    try {
      await untilRowsCome(world, 0)
      const runners = await startSecond(world)
      for (let round = 0; round < rounds; round++) await freezeOwner(world, options.random, runners)
    } finally {
      await stopFlow()
    }
  })
}

interface Held {
  runner: string
  workers: number | string
}

const holders = (world: PipeWorld): Promise<Held[]> =>
  world.select<Held>('SELECT runner_id AS runner, count(*) AS workers FROM pipe_workers GROUP BY runner_id')

/** The ids of the runners in the order of the processes. */
async function startSecond(world: PipeWorld): Promise<string[]> {
  const [first] = await holders(world)
  if (!first) throw new Error('nobody runs the pipe')
  await world.penstocks[1]?.start()
  const deadlineMs = Date.now() + takeoverTimeoutMs
  for (;;) {
    const all = await world.select<{ id: string }>('SELECT id FROM runners')
    const second = all.find(({ id }) => id !== first.runner)
    if (second) return [first.runner, second.id]
    if (Date.now() > deadlineMs) throw new Error('the second process does not run pipes')
    await sleep(100)
  }
}

async function freezeOwner(world: PipeWorld, random: Random, runners: string[]): Promise<void> {
  const { penstocks, meddler, history } = world
  const held = random.pick(await holders(world))
  const owner = penstocks[runners.indexOf(held.runner)]
  if (!owner) throw new Error('the pipe is run by a process that is not known')
  const fate: Fate = random.pick(['pass', 'late'])
  const moment: Moment = {
    of: 'insert',
    skip: random.below(3),
    when: random.pick(['begin', 'middle', 'end', 'answer', 'answered']),
    afterBytes: random.between(100, 5_000),
  }
  history.note(`the owner freezes: ${fate}, ${moment.when}`)
  // Late: after the other one has taken over and repeated it.
  const strike = { moment, fate, lateMs: random.between(16_000, 20_000), act: () => owner.freeze() }
  await meddler.strikeOnce(strike, AbortSignal.timeout(strikeTimeoutMs))
  owner.freeze()
  await untilTakenFrom(world, held.runner)
  await untilRowsCome(world, await world.countRows())
  owner.thaw()
  await sleep(afterwardsMs)
}

async function untilTakenFrom(world: PipeWorld, runner: string): Promise<void> {
  const deadlineMs = Date.now() + takeoverTimeoutMs
  while ((await holders(world)).some((held) => held.runner === runner)) {
    if (Date.now() > deadlineMs) throw new Error('nobody took over')
    await sleep(200)
  }
  world.history.note('the other one has taken over')
}
