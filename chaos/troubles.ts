// What goes wrong in a run, each at a moment of its own: the processes die, the network breaks, answers are lost, and requests
// arrive when nobody waits for them any more.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fate, Moment } from './meddler.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

/** What troubles need of a world. */
export interface Troubled extends Pick<Stage, 'engine' | 'meddler' | 'penstocks' | 'history' | 'metrics'> {
  /** The way to the source. */
  feed: { breakOff(): void; restore(): void }
  /** That have come so far: more of them show that the pipe goes on. */
  countRows(): Promise<number>
}

export interface Trouble<World extends Troubled = Troubled> {
  name: string
  /** Everything runs again when it resolves. */
  happen(world: World, random: Random): Promise<void>
}

export interface Victim<World extends Troubled = Troubled> {
  kill(world: World): Promise<unknown>
  revive(world: World): Promise<unknown>
}

/** Inserts come every half second or so; a pipe that waits before its next attempt may take longer. */
const strikeTimeoutMs = 8_000

const penstock: Victim = {
  kill: ({ penstocks }) => Promise.all(penstocks.map((one) => one.kill())),
  revive: ({ penstocks }) => Promise.all(penstocks.map((one) => one.start())),
}
const engine: Victim = { kill: (world) => world.engine.kill(), revive: (world) => world.engine.restart() }
const network: Victim = { kill: async () => undefined, revive: async () => undefined }

/** Strikes at the moment, or, when it does not come, whenever. */
async function strike<World extends Troubled>(
  world: World,
  random: Random,
  { victim, moment, fate }: { victim: Victim<World>; moment: Moment; fate: Fate },
): Promise<void> {
  let killed: Promise<unknown> | undefined
  const act = (request: string): void => {
    killed ??= victim.kill(world)
    world.history.note(`struck: ${request.slice(0, 150) || 'a statement'}`)
  }
  const lateMs = random.between(200, 2_500)
  const isMet = await world.meddler.strikeOnce({ moment, fate, lateMs, act }, AbortSignal.timeout(strikeTimeoutMs))
  if (!isMet) act('the moment did not come')
  await killed
  await sleep(random.between(0, 400))
  await victim.revive(world)
}

/** Into the table itself, or into the one that takes its place: what can be lost, or be there twice. */
export const insertOfRows = /^INSERT INTO `\w+`\.`rows\d?(?:_penstock_resync)?` /
/** Also into what stands beside the table, but for trials, of which there are many. */
const anyInsert = /^INSERT INTO (?!.*_check_)/
const anyStatement = /^/

function at(when: Moment['when'], random: Random): Moment {
  const of = random.pick([insertOfRows, insertOfRows, insertOfRows, anyInsert, anyInsert, anyStatement])
  return {
    of,
    skip: of === insertOfRows ? random.below(2) : random.below(4),
    when,
    // Small ones meet the statement and the beginning of the rows, large ones their end.
    afterBytes: Math.floor(10 ** (1 + random.below(400) / 100)),
  }
}

export function striking<World extends Troubled>(
  name: string,
  victim: Victim<World>,
  when: Moment['when'],
  fate: Fate,
): Trouble<World> {
  return { name, happen: (world, random) => strike(world, random, { victim, moment: at(when, random), fate }) }
}

/** And a while later it runs again. */
export function dying<World extends Troubled>(name: string, victim: Victim<World>): Trouble<World> {
  return {
    name,
    async happen(world, random) {
      await sleep(random.between(0, 1_500))
      await victim.kill(world)
      await sleep(random.between(0, 400))
      await victim.revive(world)
    },
  }
}

async function blockFor(way: { breakOff(): void; restore(): void }, waitMs: number): Promise<void> {
  way.breakOff()
  await sleep(waitMs)
  way.restore()
}

export const troubles: Trouble[] = [
  dying('Penstock dies at any moment', penstock),
  striking('Penstock dies before the engine hears of the insert', penstock, 'begin', 'cut'),
  striking('Penstock dies within an insert', penstock, 'middle', 'cut'),
  striking('Penstock dies when all is sent', penstock, 'end', 'pass'),
  striking('Penstock dies before it hears the answer', penstock, 'answer', 'cut'),
  striking('Penstock dies as it hears the answer', penstock, 'answered', 'pass'),
  striking('Penstock dies, and its insert arrives after its successor', penstock, 'end', 'late'),
  dying('the engine dies at any moment', engine),
  striking('the engine dies within an insert', engine, 'middle', 'pass'),
  striking('the engine dies when it has all', engine, 'end', 'pass'),
  striking('the engine dies after it has answered, and the answer is lost', engine, 'answer', 'cut'),
  striking('the connection breaks before an insert', network, 'begin', 'cut'),
  striking('the connection breaks within an insert', network, 'middle', 'cut'),
  striking('the connection breaks before the answer', network, 'end', 'cut'),
  striking('the answer is lost', network, 'answer', 'cut'),
  striking('the connection breaks, and the insert arrives late', network, 'end', 'late'),
  {
    name: 'the engine cannot be reached for a while',
    happen: (world, random) => blockFor(world.meddler, random.between(200, 1_500)),
  },
  {
    name: 'the source cannot be reached for a while',
    happen: (world, random) => blockFor(world.feed, random.between(200, 1_500)),
  },
]

/** One after the other, each of them before any comes again. */
export async function happenAll<World extends Troubled>(
  world: World,
  of: readonly Trouble<World>[],
  { random, kills, before = async () => undefined }: { random: Random; kills: number; before?: () => Promise<void> },
): Promise<void> {
  let left: Trouble<World>[] = []
  for (let kill = 0; kill < kills; kill++) {
    if (left.length === 0) left = random.shuffle(of)
    const trouble = left.pop()
    if (!trouble) return
    await before()
    world.history.note(`${kill + 1}. ${trouble.name}`)
    const rows = await world.countRows()
    await trouble.happen(world, random)
    await untilRowsCome(world, rows)
  }
}

/** After each trouble the pipe must come back within this time. */
const recoveryTimeoutMs = 120_000

/** A trouble that meets a pipe at rest proves nothing. */
export async function untilRowsCome(world: Troubled, before: number): Promise<void> {
  const deadlineMs = Date.now() + recoveryTimeoutMs
  while ((await world.countRows()) <= before) {
    if (Date.now() > deadlineMs) throw new Error(`no row came within ${recoveryTimeoutMs / 1000} s after a trouble`)
    const { state, stateReason } = await world.metrics()
    if (state === 'Completed') return
    if (state === 'Failed' || state === 'InternalError') throw new Error(`the pipe is ${state}: ${stateReason}`)
    await sleep(100)
  }
}
