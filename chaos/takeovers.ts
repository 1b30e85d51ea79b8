// R19: two processes on one PostgreSQL. The one that holds the pipe is frozen past its lease, the other one takes over, and then
// the first wakes up in the middle of what it was doing: nothing is lost, nothing is there twice, and it gets nothing back.
import { setTimeout as sleep } from 'node:timers/promises'
import { inWorld, type Run } from './in-world.ts'
import type { Fate, Moment } from './meddler.ts'
import type { PenstockProcess } from './penstock-process.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'
import type { Random } from './random.ts'
import { insertOfRows, untilRowsCome } from './troubles.ts'

/** A lease of 15 s, and what a busy machine adds. */
const takeoverTimeoutMs = 120_000
const strikeTimeoutMs = 10_000
/** What a frozen process has on its way must have failed by then. */
const afterwardsMs = 3_000

export async function runTakeovers(options: WorldOptions, rounds: number): Promise<Run> {
  return inWorld({ ...options, processes: 2 }, async (world) => {
    await world.begin()
    const stopFirstFlow = world.flow(80)
    await untilRowsCome(world, 0).finally(stopFirstFlow)
    const ids: RunnerIds = new Map()
    const [first, second] = world.penstocks
    const [held] = await holders(world)
    if (!first || !second || !held) throw new Error('nobody runs the pipe')
    ids.set(first, held.runner)
    await start(world, second, ids)
    for (let round = 0; round < rounds; round++) await freezeOwner(world, options.random, ids)
  })
}

const holders = (world: PipeWorld): Promise<{ runner: string }[]> =>
  world.select('SELECT DISTINCT runner_id AS runner FROM pipe_workers')

/** Which runner a process is, is not to be seen from outside: it is the one that comes when the process is started. */
type RunnerIds = Map<PenstockProcess, string>

async function start(world: PipeWorld, penstock: PenstockProcess, ids: RunnerIds): Promise<void> {
  const list = async (): Promise<string[]> =>
    (await world.select<{ id: string }>('SELECT id FROM runners')).map(({ id }) => id)
  // The other one may have been frozen for so long that it is not in the list any more, and come back later than this one.
  const known = new Set([...(await list()), ...ids.values()])
  await penstock.start()
  const id = await until('the process runs no pipes', async () => (await list()).find((one) => !known.has(one)))
  ids.set(penstock, id)
}

interface Owner {
  owner: PenstockProcess
  other: PenstockProcess
  runner: string
}

async function findOwner(world: PipeWorld, ids: RunnerIds): Promise<Owner> {
  return until('nobody runs the pipe', async () => {
    const [held] = await holders(world)
    const owner = world.penstocks.find((penstock) => ids.get(penstock) === held?.runner)
    const other = world.penstocks.find((penstock) => penstock !== owner)
    return owner && other && held && { owner, other, runner: held.runner }
  })
}

async function until<Found>(otherwise: string, look: () => Promise<Found | undefined>): Promise<Found> {
  const deadlineMs = Date.now() + takeoverTimeoutMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadlineMs) throw new Error(otherwise)
    await sleep(100)
  }
}

async function freezeOwner(world: PipeWorld, random: Random, ids: RunnerIds): Promise<void> {
  const { meddler, history } = world
  const { owner, other, runner } = await findOwner(world, ids)
  const fate: Fate = random.pick(['pass', 'late'])
  const moment: Moment = {
    of: insertOfRows,
    skip: random.below(2),
    when: random.pick(['begin', 'middle', 'end', 'answer', 'answered']),
    afterBytes: random.between(100, 5_000),
  }
  history.note(`the owner freezes: ${fate}, ${moment.when}`)
  const stopFlow = world.flow(80)
  try {
    // Late: after the other one has taken over and repeated it.
    const strike = { moment, fate, lateMs: random.between(16_000, 20_000), act: () => owner.freeze() }
    await meddler.strikeOnce(strike, AbortSignal.timeout(strikeTimeoutMs))
    owner.freeze()
    await untilTakenFrom(world, runner)
    await untilRowsCome(world, await world.countRows())
  } finally {
    await stopFlow()
  }
  // When nobody else writes any more, what the first one writes stays, if it is let.
  await world.arrival(takeoverTimeoutMs)
  owner.thaw()
  await sleep(afterwardsMs)
  await other.stop()
  await start(world, other, ids)
}

async function untilTakenFrom(world: PipeWorld, runner: string): Promise<void> {
  await until('nobody took over', async () =>
    (await holders(world)).some((held) => held.runner === runner) ? undefined : true,
  )
  world.history.note('the other one has taken over')
}
