// Reference count for shared memory that is reused after the last release. Memory that is never released is garbage collected. After a
// release, the holder must not use it.

export interface HeldMemory {
  /** Adds a holder. */
  hold(): void
  release(): void
}

/** Created with one holder: the caller. */
export function makeHeldMemory(giveBack: () => void): HeldMemory {
  let holders = 1
  return {
    hold() {
      holders++
    },
    release() {
      holders--
      if (holders === 0) giveBack()
    },
  }
}
