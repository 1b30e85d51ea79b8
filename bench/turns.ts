// Who is measured after whom: what one leaves to be done (pages to be written, a cache filled with its own) meets the next.

/** The list in another order for each turn, so that over twice as many turns as it is long, everybody follows everybody. */
export function inTurn<One>(list: One[], turn: number): One[] {
  const start = turn % list.length
  const rotated = [...list.slice(start), ...list.slice(0, start)]
  return Math.floor(turn / list.length) % 2 === 0 ? rotated : rotated.reverse()
}
