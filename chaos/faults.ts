// Faults of a run, each at a random or an exact point: processes crash, the network fails, answers are lost, and requests arrive
// after their sender has given up.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionFault, InjectionPoint } from './fault-proxy.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

/** Parts of a world that faults need. */
export interface FaultTarget extends Pick<Stage, 'engine' | 'faultProxy' | 'penstocks' | 'history' | 'metrics'> {
  /** Network between the pipe and the source. */
  feed: { block(): void; restore(): void }
  /** Rows that have arrived so far: a growing number shows that the pipe works. */
  countRows(): Promise<number>
}

export interface Fault<World extends FaultTarget = FaultTarget> {
  name: string
  /** Injects the fault; resolves when everything runs again. */
  inject(world: World, random: Random): Promise<void>
}

export interface Victim<World extends FaultTarget = FaultTarget> {
  kill(world: World): Promise<unknown>
  revive(world: World): Promise<unknown>
}

/** Inserts come about every half second; a pipe in back-off may take longer. */
const strikeTimeoutMs = 8_000

const penstock: Victim = {
  kill: ({ penstocks }) => Promise.all(penstocks.map((one) => one.kill())),
  revive: ({ penstocks }) => Promise.all(penstocks.map((one) => one.start())),
}
const engine: Victim = { kill: (world) => world.engine.kill(), revive: (world) => world.engine.restart() }
const network: Victim = { kill: async () => undefined, revive: async () => undefined }

/** Kills the victim at the injection point, or after a timeout when that point is not reached. */
async function strike<World extends FaultTarget>(
  world: World,
  random: Random,
  {
    victim,
    point,
    connectionFault,
  }: { victim: Victim<World>; point: InjectionPoint; connectionFault: ConnectionFault },
): Promise<void> {
  let killed: Promise<unknown> | undefined
  const act = (request: string): void => {
    killed ??= victim.kill(world)
    world.history.note(`injected: ${request.slice(0, 150) || 'a statement'}`)
  }
  const lateMs = random.between(200, 2_500)
  const isReached = await world.faultProxy.injectOnce(
    { point, connectionFault, lateMs, act },
    AbortSignal.timeout(strikeTimeoutMs),
  )
  if (!isReached) act('the injection point was not reached')
  await killed
  await sleep(random.between(0, 400))
  await victim.revive(world)
}

/** Inserts into the table or into its resync table: these can lose or duplicate rows. */
export const insertOfRows = /^INSERT INTO `\w+`\.`rows\d?(?:_penstock_resync)?` /
/** Also inserts into auxiliary tables, except the frequent trial inserts. */
const anyInsert = /^INSERT INTO (?!.*_check_)/
const anyStatement = /^/

function at(when: InjectionPoint['when'], random: Random): InjectionPoint {
  const of = random.pick([insertOfRows, insertOfRows, insertOfRows, anyInsert, anyInsert, anyStatement])
  return {
    of,
    skip: of === insertOfRows ? random.below(2) : random.below(4),
    when,
    // Small values hit the statement and the first rows, large values the end of the insert.
    afterBytes: Math.floor(10 ** (1 + random.below(400) / 100)),
  }
}

export function interceptedFault<World extends FaultTarget>(
  name: string,
  victim: Victim<World>,
  when: InjectionPoint['when'],
  connectionFault: ConnectionFault,
): Fault<World> {
  return {
    name,
    inject: (world, random) => strike(world, random, { victim, point: at(when, random), connectionFault }),
  }
}

/** Kills at a random time and revives shortly after. */
export function crashFault<World extends FaultTarget>(name: string, victim: Victim<World>): Fault<World> {
  return {
    name,
    async inject(world, random) {
      await sleep(random.between(0, 1_500))
      await victim.kill(world)
      await sleep(random.between(0, 400))
      await victim.revive(world)
    },
  }
}

async function blockFor(proxy: { block(): void; restore(): void }, waitMs: number): Promise<void> {
  proxy.block()
  await sleep(waitMs)
  proxy.restore()
}

export const faults: Fault[] = [
  crashFault('Penstock dies at any point', penstock),
  interceptedFault('Penstock is killed before an insert is sent', penstock, 'begin', 'cut'),
  interceptedFault('Penstock is killed in the middle of an insert', penstock, 'middle', 'cut'),
  interceptedFault('Penstock is killed after sending an insert', penstock, 'end', 'pass'),
  interceptedFault('Penstock is killed before it receives the answer', penstock, 'answer', 'cut'),
  interceptedFault('Penstock is killed as it receives the answer', penstock, 'answered', 'pass'),
  interceptedFault('Penstock is killed, and its insert arrives after the restart', penstock, 'end', 'late'),
  crashFault('the engine dies at any point', engine),
  interceptedFault('the engine is killed in the middle of an insert', engine, 'middle', 'pass'),
  interceptedFault('the engine is killed after receiving an insert', engine, 'end', 'pass'),
  interceptedFault('the engine is killed after answering, and the answer is lost', engine, 'answer', 'cut'),
  interceptedFault('the connection breaks before an insert', network, 'begin', 'cut'),
  interceptedFault('the connection breaks in the middle of an insert', network, 'middle', 'cut'),
  interceptedFault('the connection breaks before the answer', network, 'end', 'cut'),
  interceptedFault('the answer is lost', network, 'answer', 'cut'),
  interceptedFault('the connection breaks, and the insert arrives late', network, 'end', 'late'),
  {
    name: 'the engine is unreachable for a while',
    inject: (world, random) => blockFor(world.faultProxy, random.between(200, 1_500)),
  },
  {
    name: 'the source is unreachable for a while',
    inject: (world, random) => blockFor(world.feed, random.between(200, 1_500)),
  },
]

/** Injects the faults in random order; every fault occurs before any is repeated. */
export async function injectAll<World extends FaultTarget>(
  world: World,
  of: readonly Fault<World>[],
  { random, kills, before = async () => undefined }: { random: Random; kills: number; before?: () => Promise<void> },
): Promise<void> {
  let left: Fault<World>[] = []
  for (let kill = 0; kill < kills; kill++) {
    if (left.length === 0) left = random.shuffle(of)
    const fault = left.pop()
    if (!fault) return
    await before()
    world.history.note(`${kill + 1}. ${fault.name}`)
    const rows = await world.countRows()
    await fault.inject(world, random)
    await untilRowsCome(world, rows)
  }
}

/** The pipe must recover within this time after each fault. */
const recoveryTimeoutMs = 120_000

/** Waits for new rows: a fault that hits an idle pipe proves nothing. */
export async function untilRowsCome(world: FaultTarget, before: number): Promise<void> {
  const deadlineMs = Date.now() + recoveryTimeoutMs
  while ((await world.countRows()) <= before) {
    if (Date.now() > deadlineMs) throw new Error(`no row arrived within ${recoveryTimeoutMs / 1000} s after a fault`)
    const { state, stateReason } = await world.metrics()
    if (state === 'Completed') return
    if (state === 'Failed' || state === 'InternalError') throw new Error(`the pipe is ${state}: ${stateReason}`)
    await sleep(100)
  }
}
