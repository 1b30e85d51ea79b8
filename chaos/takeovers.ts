// R19: two processes on one PostgreSQL. The process that holds the lease is frozen until the lease expires and the other one
// takes over; then it resumes in the middle of its work. No row is lost or duplicated, and the first process does not get the
// lease back.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionFault, InjectionPoint } from './fault-proxy.ts'
import { insertOfRows, untilRowsCome } from './faults.ts'
import { inWorld, type Run } from './in-world.ts'
import type { PenstockProcess } from './penstock-process.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'
import type { Random } from './random.ts'

/** A lease of 15 s, with reserve for a busy machine. */
const takeoverTimeoutMs = 120_000
const strikeTimeoutMs = 10_000
/** Requests in flight of a frozen process have failed by then. */
const afterwardsMs = 3_000

export async function runTakeovers(options: WorldOptions, rounds: number): Promise<Run> {
  return inWorld({ ...options, processes: 2 }, async (world) => {
    await world.begin()
    const stopFirstFlow = world.flow(80)
    await untilRowsCome(world, 0).finally(stopFirstFlow)
    const ids: RunnerIds = new Map()
    const [first, second] = world.penstocks
    const [held] = await holders(world)
    if (!first || !second || !held) throw new Error('no runner has the pipe')
    ids.set(first, held.runner)
    await start(world, second, ids)
    for (let round = 0; round < rounds; round++) await freezeOwner(world, options.random, ids)
  })
}

const holders = (world: PipeWorld): Promise<{ runner: string }[]> =>
  world.select('SELECT DISTINCT runner_id AS runner FROM pipe_workers')

/** Runner id of each process. The API does not show it: it is the id that appears when the process starts. */
type RunnerIds = Map<PenstockProcess, string>

async function start(world: PipeWorld, penstock: PenstockProcess, ids: RunnerIds): Promise<void> {
  const list = async (): Promise<string[]> =>
    (await world.select<{ id: string }>('SELECT id FROM runners')).map(({ id }) => id)
  // The other runner may be missing from the list after a long freeze, and return later.
  const known = new Set([...(await list()), ...ids.values()])
  await penstock.start()
  const id = await until('the process has no runner', async () => (await list()).find((one) => !known.has(one)))
  ids.set(penstock, id)
}

interface Owner {
  owner: PenstockProcess
  other: PenstockProcess
  runner: string
}

async function findOwner(world: PipeWorld, ids: RunnerIds): Promise<Owner> {
  return until('no runner has the pipe', async () => {
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
  const { faultProxy, history } = world
  const { owner, other, runner } = await findOwner(world, ids)
  const connectionFault: ConnectionFault = random.pick(['pass', 'late'])
  const point: InjectionPoint = {
    of: insertOfRows,
    skip: random.below(2),
    when: random.pick(['begin', 'middle', 'end', 'answer', 'answered']),
    afterBytes: random.between(100, 5_000),
  }
  history.note(`the lease holder is frozen: ${connectionFault}, ${point.when}`)
  const stopFlow = world.flow(80)
  try {
    // Late: after the other process has taken over and repeated the insert.
    const strike = { point, connectionFault, lateMs: random.between(16_000, 20_000), act: () => owner.freeze() }
    await faultProxy.injectOnce(strike, AbortSignal.timeout(strikeTimeoutMs))
    owner.freeze()
    await untilTakenFrom(world, runner)
    await untilRowsCome(world, await world.countRows())
  } finally {
    await stopFlow()
  }
  // With no other writer left, a late write of the first process would be visible.
  await world.arrival(takeoverTimeoutMs)
  owner.thaw()
  await sleep(afterwardsMs)
  await other.stop()
  await start(world, other, ids)
}

async function untilTakenFrom(world: PipeWorld, runner: string): Promise<void> {
  await until('no other runner took over', async () =>
    (await holders(world)).some((held) => held.runner === runner) ? undefined : true,
  )
  world.history.note('the other process has taken over')
}
