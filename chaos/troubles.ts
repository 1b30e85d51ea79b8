// What goes wrong in a run, each at a moment of its own: the processes die, the network breaks, answers are lost, and requests
// arrive when nobody waits for them any more.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fate, Moment } from './meddler.ts'
import type { PipeWorld } from './pipe-world.ts'
import type { Random } from './random.ts'

export interface Trouble {
  name: string
  /** Everything runs again when it resolves. */
  happen(world: PipeWorld, random: Random): Promise<void>
}

type Victim = 'penstock' | 'engine' | 'network'

/** Inserts come every half second or so; a pipe that waits before its next attempt may take longer. */
const strikeTimeoutMs = 8_000

async function kill(world: PipeWorld, victim: Victim): Promise<void> {
  if (victim === 'penstock') await Promise.all(world.penstocks.map((penstock) => penstock.kill()))
  if (victim === 'engine') await world.engine.kill()
}

async function revive(world: PipeWorld, victim: Victim): Promise<void> {
  if (victim === 'penstock') await Promise.all(world.penstocks.map((penstock) => penstock.start()))
  if (victim === 'engine') await world.engine.restart()
}

/** Strikes at the moment, or, when it does not come, whenever. */
async function strike(
  world: PipeWorld,
  random: Random,
  { victim, moment, fate }: { victim: Victim; moment: Moment; fate: Fate },
): Promise<void> {
  let killed: Promise<void> | undefined
  const act = (request: string): void => {
    killed ??= kill(world, victim)
    world.history.note(`struck: ${request.slice(0, 150) || 'a statement'}`)
  }
  const lateMs = random.between(200, 2_500)
  const isMet = await world.meddler.strikeOnce({ moment, fate, lateMs, act }, AbortSignal.timeout(strikeTimeoutMs))
  if (!isMet) act('the moment did not come')
  await killed
  await sleep(random.between(0, 400))
  await revive(world, victim)
}

/** Into the table itself: what can be lost, or be there twice. */
export const insertOfRows = /^INSERT INTO `\w+`\.`rows` /
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

function striking(name: string, victim: Victim, when: Moment['when'], fate: Fate): Trouble {
  return { name, happen: (world, random) => strike(world, random, { victim, moment: at(when, random), fate }) }
}

async function blockFor(way: { breakOff(): void; restore(): void }, waitMs: number): Promise<void> {
  way.breakOff()
  await sleep(waitMs)
  way.restore()
}

export const troubles: Trouble[] = [
  {
    name: 'Penstock dies at any moment',
    async happen(world, random) {
      await sleep(random.between(0, 1_500))
      await kill(world, 'penstock')
      await revive(world, 'penstock')
    },
  },
  striking('Penstock dies before the engine hears of the insert', 'penstock', 'begin', 'cut'),
  striking('Penstock dies within an insert', 'penstock', 'middle', 'cut'),
  striking('Penstock dies when all is sent', 'penstock', 'end', 'pass'),
  striking('Penstock dies before it hears the answer', 'penstock', 'answer', 'cut'),
  striking('Penstock dies as it hears the answer', 'penstock', 'answered', 'pass'),
  striking('Penstock dies, and its insert arrives after its successor', 'penstock', 'end', 'late'),
  {
    name: 'the engine dies at any moment',
    async happen(world, random) {
      await sleep(random.between(0, 1_500))
      await kill(world, 'engine')
      await sleep(random.between(0, 400))
      await revive(world, 'engine')
    },
  },
  striking('the engine dies within an insert', 'engine', 'middle', 'pass'),
  striking('the engine dies when it has all', 'engine', 'end', 'pass'),
  striking('the engine dies after it has answered, and the answer is lost', 'engine', 'answer', 'cut'),
  striking('the connection breaks before an insert', 'network', 'begin', 'cut'),
  striking('the connection breaks within an insert', 'network', 'middle', 'cut'),
  striking('the connection breaks before the answer', 'network', 'end', 'cut'),
  striking('the answer is lost', 'network', 'answer', 'cut'),
  striking('the connection breaks, and the insert arrives late', 'network', 'end', 'late'),
  {
    name: 'the engine cannot be reached for a while',
    happen: (world, random) => blockFor(world.meddler, random.between(200, 1_500)),
  },
  {
    name: 'the source cannot be reached for a while',
    happen: (world, random) => blockFor(world.feed, random.between(200, 1_500)),
  },
]

/** After each trouble the pipe must come back within this time. */
const recoveryTimeoutMs = 120_000

/** A trouble that meets a pipe at rest proves nothing. */
export async function untilRowsCome(world: PipeWorld, before: number): Promise<void> {
  const deadlineMs = Date.now() + recoveryTimeoutMs
  while ((await world.countRows()) <= before) {
    if (Date.now() > deadlineMs) throw new Error(`no row came within ${recoveryTimeoutMs / 1000} s after a trouble`)
    const { state, stateReason } = await world.metrics()
    if (state === 'Completed') return
    if (state === 'Failed' || state === 'InternalError') throw new Error(`the pipe is ${state}: ${stateReason}`)
    await sleep(100)
  }
}
