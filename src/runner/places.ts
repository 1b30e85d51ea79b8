// The places that this runner holds, and what is kept of them in the database. States are kept at once and in the order in which
// they came; how a place ends is kept before it is forgotten, unless it is another's by then.
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { WorkerPlace } from '../progress/store.ts'
import { Place, type PlaceEnd, type PlaceParts, type PlaceStatus } from './place.ts'
import type { RunnerDatabase } from './worker-store.ts'

type Doing = Pick<PlaceStatus, 'doing' | 'lag' | 'retainedBytes' | 'deliveredUntil'>

export interface HeldPlace {
  place: Place
  /** What its configuration was last read at. */
  version: number
  serviceVersion: number
  ended: Promise<void>
  /** As it is in the database. */
  told: PlaceStatus | undefined
  telling: Promise<void> | undefined
  keptDoing: Doing | undefined
  /** Nothing more is begun here. */
  isLeaving: boolean
}

export interface PlacesParts {
  write: RunnerDatabase['write']
  log: Log
  retryEveryMs: number
  /** How often what workers do is kept. */
  doingEveryMs: number
  /** Ends what is done in a place beside its worker; resolves when that has ended. */
  endBeside(place: WorkerPlace): Promise<void>
  /** A place was left: there may be something to do. */
  left(): void
}

const keyOf = ({ pipeId, slot }: { pipeId: string; slot: number }): string => `${pipeId}/${slot}`

export class Places {
  readonly #parts: PlacesParts
  readonly #held = new Map<string, HeldPlace>()
  /** Pipes that are being claimed: what the database has of them may not be here yet. */
  readonly claiming = new Set<string>()
  #isClosing = false
  #isInTrouble = false
  #doingsKeptMs = -Infinity
  #isKeepingDoings = false

  constructor(parts: PlacesParts) {
    this.#parts = parts
  }

  get all(): HeldPlace[] {
    return [...this.#held.values()]
  }

  has(held: HeldPlace): boolean {
    return this.#held.get(keyOf(held.place.place)) === held
  }

  find(place: { pipeId: string; slot: number }): HeldPlace | undefined {
    return this.#held.get(keyOf(place))
  }

  /** Begins to work in a place that was claimed. */
  begin(parts: Omit<PlaceParts, 'changed' | 'log'>, versions: { version: number; serviceVersion: number }): void {
    const place = new Place({ ...parts, log: this.#parts.log, changed: () => this.tell(held) })
    const { version, serviceVersion } = versions
    const held: HeldPlace = {
      place,
      version,
      serviceVersion,
      ended: Promise.resolve(),
      told: undefined,
      telling: undefined,
      keptDoing: undefined,
      isLeaving: false,
    }
    const before = this.find(place.place)
    if (before) this.lose(before)
    this.#held.set(keyOf(place.place), held)
    held.ended = place
      .run()
      .then((end) => this.#leave(held, end))
      .catch((error: unknown) => this.#warn('a place of a pipe could not be left', error, place.place))
      .finally(() => this.#parts.left())
  }

  /** Ends the work at a boundary. A place where all is done has nobody to stop. */
  end(held: HeldPlace, options: { isForChange?: boolean } = {}): void {
    if (held.place.hasCompleted) {
      if (!held.isLeaving) void this.#giveBack(held)
      return
    }
    void this.#endBeside(held)
    held.place.stop(options)
  }

  /** Ends all work, at a boundary where workers come to one in time. Resolves when the places are given back, or nearly so. */
  async close({ stopMs, graceMs }: { stopMs: number; graceMs: number }): Promise<void> {
    this.#isClosing = true
    const places = this.all
    for (const { place } of places) place.stop()
    const ended = Promise.all(places.map((held) => held.ended.then(() => held.telling)))
    if (await within(ended, stopMs)) return
    for (const { place } of places) place.abort()
    await within(ended, graceMs)
  }

  /** It is another's, or may soon be: nothing more is done or written there. */
  lose(held: HeldPlace): void {
    void this.#endBeside(held)
    held.place.abort()
    this.#forget(held)
  }

  /** What fails here is done after the next renewal, which knows the place as one that nobody works in. */
  async release(place: WorkerPlace): Promise<void> {
    const { organizationId, pipeId, slot, epoch } = place
    const release = { organizationId, pipeId, places: [{ slot, epoch }], now: new Date().toISOString() }
    await this.attempt(() => this.#parts.write('releaseWorkers', release, organizationId), place)
  }

  tell(held: HeldPlace): void {
    if (held.telling || !hasOtherState(held)) return
    held.telling = this.attempt(() => this.#tellAll(held), held.place.place).then(() => {
      held.telling = undefined
    })
  }

  /** When it is due: keeps what workers do. What cannot be kept of one is tried again, and harms no other. */
  async keepDoings(): Promise<void> {
    const nowMs = performance.now()
    if (this.#isKeepingDoings || nowMs - this.#doingsKeptMs < this.#parts.doingEveryMs) return
    this.#isKeepingDoings = true
    this.#doingsKeptMs = nowMs
    await Promise.all(this.all.filter(hasOtherDoing).map((held) => this.#keepDoing(held)))
    this.#isKeepingDoings = false
  }

  async #keepDoing(held: HeldPlace): Promise<void> {
    const { organizationId, pipeId, slot, epoch } = held.place.place
    const { doing, lag, retainedBytes, deliveredUntil } = held.place.status
    const kept = { pipeId, slot, epoch, doing, lag, retainedBytes, deliveredUntil }
    const keep = () => this.#parts.write('keepDoing', kept, organizationId)
    if (await this.attempt(keep, held.place.place)) held.keptDoing = { doing, lag, retainedBytes, deliveredUntil }
  }

  /** One pipe in trouble must not hold up the others. */
  async attempt(work: () => Promise<unknown>, pipe: { pipeId: string }): Promise<boolean> {
    try {
      await work()
      this.#isInTrouble = false
      return true
    } catch (error) {
      // Told once, not every second.
      if (!this.#isInTrouble) this.#warn('something could not be done for a pipe', error, pipe)
      this.#isInTrouble = true
      return false
    }
  }

  async #tellAll(held: HeldPlace): Promise<void> {
    const { place } = held.place
    while (this.has(held) && hasOtherState(held)) {
      const status = held.place.status
      const { delivery, ...rest } = status
      const told = {
        place,
        ...rest,
        ...(delivery ? { delivery: { delivery: delivery.delivery, reason: reasonOf(delivery) } } : {}),
        now: new Date().toISOString(),
      }
      if (!(await this.#parts.write('tellWorker', told, place.organizationId))) return this.lose(held)
      held.told = status
      held.keptDoing = status
    }
  }

  async #giveBack(held: HeldPlace): Promise<void> {
    await this.#endBeside(held)
    await this.release(held.place.place)
    this.#forget(held)
  }

  #endBeside(held: HeldPlace): Promise<void> {
    held.isLeaving = true
    return this.#parts.endBeside(held.place.place)
  }

  async #leave(held: HeldPlace, end: PlaceEnd): Promise<void> {
    if (end.end === 'completed') {
      held.isLeaving = false
      return this.tell(held)
    }
    await this.#endBeside(held)
    if (end.end === 'failed') await this.#fail(held, end)
    else if (end.end === 'stopped' || this.#isClosing) await this.release(held.place.place)
    this.#forget(held)
  }

  /** Until it is kept, or the place is another's. */
  async #fail(held: HeldPlace, { state, reason }: Extract<PlaceEnd, { end: 'failed' }>): Promise<void> {
    const { organizationId, pipeId, slot, epoch } = held.place.place
    while (this.has(held)) {
      const now = new Date().toISOString()
      const failure = { organizationId, pipeId, place: { slot, epoch }, state, reason, now }
      const fail = () => this.#parts.write('failPipe', failure, organizationId)
      if ((await this.attempt(fail, held.place.place)) || this.#isClosing) return
      await sleep(this.#parts.retryEveryMs, undefined, { ref: false })
    }
  }

  #warn(message: string, error: unknown, { pipeId }: { pipeId: string }): void {
    this.#parts.log.warn(message, { pipeId, error: describeError(error) })
  }

  #forget(held: HeldPlace): void {
    if (this.has(held)) this.#held.delete(keyOf(held.place.place))
  }
}

function hasOtherState({ place, told }: HeldPlace): boolean {
  const { state, reason, phase, pipeVersion, delivery } = place.status
  if (!told) return state !== 'starting' || phase !== null || delivery !== undefined
  return (
    told.state !== state ||
    told.reason !== reason ||
    told.phase !== phase ||
    told.pipeVersion !== pipeVersion ||
    told.delivery?.delivery !== delivery?.delivery ||
    reasonOf(told.delivery) !== reasonOf(delivery)
  )
}

function reasonOf(delivery: PlaceStatus['delivery']): string | null {
  return delivery && 'reason' in delivery ? delivery.reason : null
}

function hasOtherDoing({ place, keptDoing }: HeldPlace): boolean {
  const { doing, lag, retainedBytes, deliveredUntil } = place.status
  if (keptDoing?.doing !== doing || keptDoing.lag !== lag || keptDoing.retainedBytes !== retainedBytes) return true
  if (deliveredUntil === null || keptDoing.deliveredUntil === null) return keptDoing.deliveredUntil !== deliveredUntil
  // It moves all the time: a pipe that waits for records is not to be written each second.
  return Date.parse(deliveredUntil) - Date.parse(keptDoing.deliveredUntil) >= deliveredEveryMs
}

/** `freshnessSeconds` is late by so much at most. */
const deliveredEveryMs = 5_000

/** Whether it came to its end in time. */
export async function within(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const limit = new AbortController()
  const late = sleep(limitMs, false, { signal: limit.signal }).catch(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    limit.abort()
  }
}
