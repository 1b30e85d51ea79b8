// Whether a history of calls that overlapped could have come from calls made one after another: the search of Wing and Gong, with
// Lowe's memory of what was tried. An order fits when no call comes before one that had been answered when it was made.

export interface RecordedCall<State> {
  /** When it was made and answered, on one clock; Infinity when no answer came, and it may have had its effect at any time or never. */
  calledAt: number
  answeredAt: number
  /** What the state is after it; undefined when a system in this state would have answered otherwise. */
  step(state: State): State | undefined
}

/** `nameOf` gives equal states the same name, and others another one. */
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
      // Whatever was called after an answer comes after the call that was answered.
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
