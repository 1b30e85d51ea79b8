// Workers of one process take turns in building batches, in proportion to their weights. Building is what keeps the only thread
// busy. A worker that is alone never waits, one that waits for the network while it builds gives its turn up, and one that is not
// back soon for its next turn is not waited for.

/** A builder that lets a timer fire for so long is not what keeps the process busy; nor is one that stays away for so long. */
const longestIdleMs = 20

export interface Builder {
  /** Runs the work when it is this one's turn. */
  build<Result>(work: () => Promise<Result>): Promise<Result>
  /** Has no more to build. */
  leave(): void
}

export interface BuildScheduler {
  join(weight: number): Builder
}

interface Member {
  weight: number
  /** What it has had, by its weight: whoever has had least is next. */
  usedMs: number
  endedAtMs: number
  /** What it wants to build, the oldest first: a worker may do several things at once. */
  waiting: { begin(): void; sinceMs: number }[]
}

/** The one of this process. */
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

  const turnOf = (member: Member): Promise<void> => {
    const others = [...members].filter(
      (other) => other !== member && (other === building || isWaiting(other) || isNear(other)),
    )
    // Who comes after a pause has not saved up turns.
    if (!isNear(member)) member.usedMs = Math.max(member.usedMs, leastOf(others)?.usedMs ?? 0)
    members.add(member)
    const { promise, resolve } = Promise.withResolvers<void>()
    member.waiting.push({ begin: resolve, sinceMs: now() })
    takeNext()
    return promise
  }

  const build = async <Result>(member: Member, work: () => Promise<Result>): Promise<Result> => {
    await turnOf(member)
    const beganAtMs = now()
    let hasEnded = false
    const endTurn = (): void => {
      if (hasEnded) return
      hasEnded = true
      member.endedAtMs = now()
      member.usedMs += (member.endedAtMs - beganAtMs) / member.weight
      building = undefined
      takeNext()
    }
    const idle = setTimeout(endTurn, longestIdleMs)
    try {
      return await work()
    } finally {
      clearTimeout(idle)
      endTurn()
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
