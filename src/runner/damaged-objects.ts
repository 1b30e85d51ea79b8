// Unreadable objects of a pipe that lists its objects: when one is skipped, and how long the pipe reports it.

export interface Damage {
  /** The pipe has loaded objects before. */
  noteLoaded(): void
  /** An object was read. */
  noteRead(): void
  /**
   * Whether an unreadable object is skipped. Not before a first object was read: until then, format or compression are probably
   * wrong for all objects, and the error ends the worker.
   */
  mayGiveUp(): boolean
  /** An object is skipped. */
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
