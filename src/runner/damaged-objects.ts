// Objects that cannot be read, of a pipe that lists them: when one is skipped, and how long the pipe reports it.

export interface Damage {
  /** The pipe has loaded objects before. */
  noteLoaded(): void
  /** An object was read. */
  noteRead(): void
  /**
   * Whether an object that cannot be read is rejected, so that the others go on. Before any was read, format or compression are likely
   * to be wrong for all of them: then its error ends the worker, and nothing is skipped.
   */
  mayGiveUp(): boolean
  /** One is skipped. */
  add(reason: string): void
  /** Why the last object was skipped, until another one is read. */
  reason(): string | undefined
}

export function makeDamage(): Damage {
  let hasRead = false
  let last: string | undefined
  return {
    noteLoaded() {
      hasRead = true
    },
    noteRead() {
      hasRead = true
      last = undefined
    },
    mayGiveUp: () => hasRead,
    add(reason) {
      last = reason
    },
    reason: () => last,
  }
}
