// Memory that several look at, and that is used again when the last of them looks at it no more. Whoever does not release what it holds
// leaves it to the collection of garbage, and nothing is lost; whoever releases it must never look at it again.

export interface HeldMemory {
  /** There is one more who looks at it. */
  hold(): void
  release(): void
}

/** Held once, by whoever asks. */
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
