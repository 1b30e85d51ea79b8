// Order of contenders within a round. A contender affects its successor (dirty pages, a full cache), so the order changes.

/**
 * Alternates the direction, so that the predecessor differs, and rotates the start, so that each one is sometimes first or last.
 */
export function orderOfRound<One>(list: One[], turn: number): One[] {
  const start = Math.floor(turn / 2) % list.length
  const rotated = [...list.slice(start), ...list.slice(0, start)]
  return turn % 2 === 0 ? rotated : rotated.reverse()
}
