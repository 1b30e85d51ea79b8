// Shares the event-loop thread among the workers of a process: one builds a batch at a time, in proportion to the weights.
// A single worker never waits. A builder that waits for the network lets others build, and one that does not come back within
// 20 ms is not waited for.

/** A builder that lets a timer of this length fire is not using the CPU; one that stays away for so long is skipped. */
const longestIdleMs = 20

export interface Builder {
  /** Runs the work when the scheduler permits it. */
  build<Result>(work: () => Promise<Result>): Promise<Result>
  /** Leaves the scheduler. */
  leave(): void
}

export interface BuildScheduler {
  join(weight: number): Builder
}

interface Member {
  weight: number
  /** Build time divided by the weight: the member with the least is next. */
  usedMs: number
  endedAtMs: number
  /** Requests to build, the oldest first: a worker may have several at once. */
  waiting: { begin(): void; sinceMs: number }[]
}

/** Scheduler of this process. */
export const buildSchedulerOfProcess: BuildScheduler = makeBuildScheduler()

export function makeBuildScheduler(now: () => number = () => performance.now()): BuildScheduler {
  const members = new Set<Member>()
  let building: Member | undefined
  let timer: NodeJS.Timeout | undefined

  const isNear = ({ endedAtMs }: Member): boolean => now() - endedAtMs < longestIdleMs

  const takeNext = (): void => {
    if (building) return
    const next = leastOf([...members].filter(isWaiting))
    const [first] = next?.waiting ?? []
    if (!next || !first) return
    const rivals = [...members].filter((member) => !isWaiting(member) && isNear(member) && member.usedMs < next.usedMs)
    if (rivals.length > 0 && now() - first.sinceMs < longestIdleMs) {
      clearTimeout(timer)
      timer = setTimeout(takeNext, longestIdleMs)
      return
    }
    clearTimeout(timer)
    timer = undefined
    building = next
    next.waiting.shift()
    first.begin()
  }

  const waitForPermit = (member: Member): Promise<void> => {
    const others = [...members].filter(
      (other) => other !== member && (other === building || isWaiting(other) || isNear(other)),
    )
    // A pause earns no credit.
    if (!isNear(member)) member.usedMs = Math.max(member.usedMs, leastOf(others)?.usedMs ?? 0)
    members.add(member)
    const { promise, resolve } = Promise.withResolvers<void>()
    member.waiting.push({ begin: resolve, sinceMs: now() })
    takeNext()
    return promise
  }

  const build = async <Result>(member: Member, work: () => Promise<Result>): Promise<Result> => {
    await waitForPermit(member)
    const beganAtMs = now()
    let hasEnded = false
    const release = (): void => {
      if (hasEnded) return
      hasEnded = true
      member.endedAtMs = now()
      member.usedMs += (member.endedAtMs - beganAtMs) / member.weight
      building = undefined
      takeNext()
    }
    const idle = setTimeout(release, longestIdleMs)
    try {
      return await work()
    } finally {
      clearTimeout(idle)
      release()
    }
  }

  return {
    join(weight) {
      const never = Number.NEGATIVE_INFINITY
      const member: Member = { weight, usedMs: 0, endedAtMs: never, waiting: [] }
      return {
        build: (work) => build(member, work),
        leave() {
          members.delete(member)
          takeNext()
        },
      }
    },
  }
}

function isWaiting({ waiting }: Member): boolean {
  return waiting.length > 0
}

function leastOf(members: Member[]): Member | undefined {
  return members.reduce<Member | undefined>(
    (least, one) => (least && least.usedMs <= one.usedMs ? least : one),
    undefined,
  )
}
