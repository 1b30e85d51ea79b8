/** The first place, of so many, from which on the condition holds; the count when it holds nowhere. */
export function firstPlace(count: number, holds: (place: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
