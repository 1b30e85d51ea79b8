/**
 * Binary search: the first index below `count` for which the condition holds, and then holds for all later ones; `count` if there is
 * no such index.
 */
export function firstIndexWhere(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
