// Checks whether concurrent calls are linearizable, with the search of Wing and Gong and the memoization of Lowe. An order is
// valid if no call precedes one that was answered before it was made.

export interface RecordedCall<State> {
  /** Call and answer times of one clock. Infinity: no answer, so the call may have taken effect at any later time or never. */
  calledAt: number
  answeredAt: number
  /** State after the call; undefined if the recorded answer is impossible in this state. */
  step(state: State): State | undefined
}

/** `nameOf` maps equal states to equal names, and different states to different names. */
export function isLinearizable<State>(
  calls: RecordedCall<State>[],
  initial: State,
  nameOf: (state: State) => string,
): boolean {
  const ordered = calls.toSorted((one, other) => one.calledAt - other.calledAt)
  const isDone = ordered.map(() => false)
  const tried = new Set<string>()

  function search(state: State): boolean {
    let firstAnswerAt = Number.POSITIVE_INFINITY
    for (const [index, call] of ordered.entries()) {
      if (!isDone[index] && call.answeredAt < firstAnswerAt) firstAnswerAt = call.answeredAt
    }
    if (firstAnswerAt === Number.POSITIVE_INFINITY) return true
    const place = `${isDone.map(Number).join('')} ${nameOf(state)}`
    if (tried.has(place)) return false
    tried.add(place)
    for (const [index, call] of ordered.entries()) {
      // A call made after an answer cannot precede the answered call.
      if (call.calledAt > firstAnswerAt) break
      if (isDone[index]) continue
      const next = call.step(state)
      if (next === undefined) continue
      isDone[index] = true
      if (search(next)) return true
      isDone[index] = false
    }
    return false
  }

  return search(initial)
}
