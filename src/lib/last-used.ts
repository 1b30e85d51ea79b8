// Records when keys and sessions were last used, at most once a minute and outside the request: the request neither waits nor fails. At
// most one minute of `usedAt` is lost.

const noteEveryMs = 60_000
/** Beyond it, the oldest entry is forgotten, and written again with its next use. */
const mostRemembered = 10_000
/** Further uses are written with a later use: they must not fill the write queue. */
const maxConcurrentWrites = 64

export class LastUsed<Subject extends { id: string }> {
  readonly #write: (subject: Subject, usedAt: string) => Promise<unknown>
  readonly #onFailure: (error: unknown) => void
  /** By id, in the order of the last write. */
  readonly #notedAtMs = new Map<string, number>()
  readonly #writing = new Set<Promise<void>>()

  constructor(write: (subject: Subject, usedAt: string) => Promise<unknown>, onFailure: (error: unknown) => void) {
    this.#write = write
    this.#onFailure = onFailure
  }

  note(subject: Subject, nowMs = Date.now()): void {
    const { id } = subject
    const notedAtMs = this.#notedAtMs.get(id)
    if (notedAtMs !== undefined && Math.abs(nowMs - notedAtMs) < noteEveryMs) return
    if (this.#writing.size >= maxConcurrentWrites) return
    this.#notedAtMs.delete(id)
    this.#notedAtMs.set(id, nowMs)
    if (this.#notedAtMs.size > mostRemembered) this.#notedAtMs.delete(this.#notedAtMs.keys().next().value!)
    const writing: Promise<void> = this.#write(subject, new Date(nowMs).toISOString())
      .then(() => undefined, this.#onFailure)
      .finally(() => this.#writing.delete(writing))
    this.#writing.add(writing)
  }

  /** Resolves when all uses noted so far are written, or lost. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing)
  }
}
