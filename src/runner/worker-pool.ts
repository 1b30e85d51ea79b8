// The places that this runner holds, and what is kept of them in the database. States are kept at once and in the order in which
// they came; how a place ends is kept before it is forgotten, unless it is another's by then.
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import type { WorkerLease } from '../progress/store.ts'
import { LeasedWorker, type LeasedWorkerEnd, type LeasedWorkerParts, type LeasedWorkerStatus } from './leased-worker.ts'
import type { RunnerDatabase } from './worker-store.ts'

type Doing = Pick<LeasedWorkerStatus, 'doing' | 'lag' | 'retainedBytes' | 'deliveredUntil'>

export interface HeldWorker {
  place: LeasedWorker
  /** What its configuration was last read at. */
  version: number
  serviceVersion: number
  ended: Promise<void>
  /** As it is in the database. */
  told: LeasedWorkerStatus | undefined
  telling: Promise<void> | undefined
  keptDoing: Doing | undefined
  /** Nothing more is begun here. */
  isLeaving: boolean
}

export interface WorkerPoolParts {
  write: RunnerDatabase['write']
  log: Log
  retryEveryMs: number
  /** How often what workers do is kept. */
  doingEveryMs: number
  /** Ends what is done in a place beside its worker; resolves when that has ended. */
  stopReplays(place: WorkerLease): Promise<void>
  /** A place was left: there may be something to do. */
  left(): void
}

const keyOf = ({ pipeId, slot }: { pipeId: string; slot: number }): string => `${pipeId}/${slot}`

export class WorkerPool {
  readonly #parts: WorkerPoolParts
  readonly #held = new Map<string, HeldWorker>()
  /** Pipes that are being claimed: what the database has of them may not be here yet. */
  readonly claiming = new Set<string>()
  #isClosing = false
  #isInTrouble = false
  #doingsKeptMs = -Infinity
  #isSavingActivity = false

  constructor(parts: WorkerPoolParts) {
    this.#parts = parts
  }

  get all(): HeldWorker[] {
    return [...this.#held.values()]
  }

  has(held: HeldWorker): boolean {
    return this.#held.get(keyOf(held.place.place)) === held
  }

  find(place: { pipeId: string; slot: number }): HeldWorker | undefined {
    return this.#held.get(keyOf(place))
  }

  /** Begins to work in a place that was claimed. */
  begin(
    parts: Omit<LeasedWorkerParts, 'changed' | 'log'>,
    versions: { version: number; serviceVersion: number },
  ): void {
    const place = new LeasedWorker({ ...parts, log: this.#parts.log, changed: () => this.tell(held) })
    const { version, serviceVersion } = versions
    const held: HeldWorker = {
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
  end(held: HeldWorker, options: { isForChange?: boolean } = {}): void {
    if (held.place.hasCompleted) {
      if (!held.isLeaving) void this.#giveBack(held)
      return
    }
    void this.#stopReplays(held)
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
  lose(held: HeldWorker): void {
    void this.#stopReplays(held)
    held.place.abort()
    this.#forget(held)
  }

  /** What fails here is done after the next renewal, which knows the place as one that nobody works in. */
  async release(place: WorkerLease): Promise<void> {
    const { organizationId, pipeId, slot, epoch } = place
    const release = { organizationId, pipeId, places: [{ slot, epoch }], now: new Date().toISOString() }
    await this.attempt(() => this.#parts.write('releaseWorkers', release, organizationId), place)
  }

  tell(held: HeldWorker): void {
    if (held.telling || !hasOtherState(held)) return
    held.telling = this.attempt(() => this.#tellAll(held), held.place.place).then(() => {
      held.telling = undefined
    })
  }

  /** When it is due: keeps what workers do. What cannot be kept of one is tried again, and harms no other. */
  async saveActivity(): Promise<void> {
    const nowMs = performance.now()
    if (this.#isSavingActivity || nowMs - this.#doingsKeptMs < this.#parts.doingEveryMs) return
    this.#isSavingActivity = true
    this.#doingsKeptMs = nowMs
    await Promise.all(this.all.filter(hasOtherDoing).map((held) => this.#keepDoing(held)))
    this.#isSavingActivity = false
  }

  async #keepDoing(held: HeldWorker): Promise<void> {
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

  async #tellAll(held: HeldWorker): Promise<void> {
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

  async #giveBack(held: HeldWorker): Promise<void> {
    await this.#stopReplays(held)
    await this.release(held.place.place)
    this.#forget(held)
  }

  #stopReplays(held: HeldWorker): Promise<void> {
    held.isLeaving = true
    return this.#parts.stopReplays(held.place.place)
  }

  async #leave(held: HeldWorker, end: LeasedWorkerEnd): Promise<void> {
    if (end.end === 'completed') {
      held.isLeaving = false
      return this.tell(held)
    }
    await this.#stopReplays(held)
    if (end.end === 'failed') await this.#fail(held, end)
    else if (end.end === 'stopped' || this.#isClosing) await this.release(held.place.place)
    this.#forget(held)
  }

  /** Until it is kept, or the place is another's. */
  async #fail(held: HeldWorker, { state, reason }: Extract<LeasedWorkerEnd, { end: 'failed' }>): Promise<void> {
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

  #forget(held: HeldWorker): void {
    if (this.has(held)) this.#held.delete(keyOf(held.place.place))
  }
}

function hasOtherState({ place, told }: HeldWorker): boolean {
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

function reasonOf(delivery: LeasedWorkerStatus['delivery']): string | null {
  return delivery && 'reason' in delivery ? delivery.reason : null
}

function hasOtherDoing({ place, keptDoing }: HeldWorker): boolean {
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
