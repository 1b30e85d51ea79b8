// Seeded random choices, so that a failed run can be repeated.

export interface Random {
  /** From 0 to `end`, exclusive. */
  below(end: number): number
  /** From `first` to `last`, both inclusive. */
  between(first: number, last: number): number
  /** True with probability `share`. */
  happens(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  shuffle<Item>(items: readonly Item[]): Item[]
}

export function makeRandom(seed: number): Random {
  let state = seed >>> 0
  // Weyl sequence with two rounds of mixing.
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(next() * end)
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[below(items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }
  return {
    below,
    between: (first, last) => first + below(last - first + 1),
    happens: (share) => next() < share,
    pick,
    shuffle: (items) =>
      items
        .map((item) => ({ item, at: next() }))
        .toSorted((one, other) => one.at - other.at)
        .map(({ item }) => item),
  }
}
