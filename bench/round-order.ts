// Who is measured after whom: what one leaves to be done (pages to be written, a cache filled with its own) meets the next.

/** Back and forth, so that nobody always has the same predecessor, and each time from another one, so that nobody is always between. */
export function inTurn<One>(list: One[], turn: number): One[] {
  const start = Math.floor(turn / 2) % list.length
  const rotated = [...list.slice(start), ...list.slice(0, start)]
  return turn % 2 === 0 ? rotated : rotated.reverse()
}
