// Finds runners that have died although the wall clock does not show it. After it was set back, their leases would last until it reaches
// their end; a lease that far ahead may also be that of a machine whose clock is ahead, which goes on renewing it.
import type { ListedRunner } from '../progress/runners/store.ts'

export class DeadRunners {
  readonly #leaseMs: number
  /** Since when a runner has had the same `seenAt`, by the monotonic clock. */
  #unchanged = new Map<string, ListedRunner & { sinceMs: number }>()

  constructor({ leaseMs }: { leaseMs: number }) {
    this.#leaseMs = leaseMs
  }

  /** Runners that have not renewed for longer than a lease lasts: they have given their workers up before, if they still exist. */
  find(listed: ListedRunner[], nowMs: number): ListedRunner[] {
    const seen = listed.map((runner) => {
      const known = this.#unchanged.get(runner.id)
      return { ...runner, sinceMs: known?.seenAt === runner.seenAt ? known.sinceMs : nowMs }
    })
    this.#unchanged = new Map(seen.map((runner) => [runner.id, runner]))
    return seen.filter(({ sinceMs }) => nowMs - sinceMs > this.#leaseMs).map(({ id, seenAt }) => ({ id, seenAt }))
  }
}
