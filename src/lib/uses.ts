// When each of something was last used. Noted at most once a minute and behind the back of the request, which neither waits
// for it nor fails with it: what is lost is one minute of `usedAt`.

const noteEveryMs = 60_000
/** Beyond it the one that was noted longest ago is forgotten, and is noted again with its next use. */
const mostRemembered = 10_000
/** What would come on top is noted with a later use: changes of users must not find the queue full of these. */
const mostUnderWay = 64

export class Uses<Subject extends { id: string }> {
  readonly #write: (subject: Subject, usedAt: string) => Promise<unknown>
  readonly #onFailure: (error: unknown) => void
  /** By id, in the order in which they were noted. */
  readonly #notedAtMs = new Map<string, number>()
  readonly #underWay = new Set<Promise<void>>()

  constructor(write: (subject: Subject, usedAt: string) => Promise<unknown>, onFailure: (error: unknown) => void) {
    this.#write = write
    this.#onFailure = onFailure
  }

  note(subject: Subject, nowMs = Date.now()): void {
    const { id } = subject
    const notedAtMs = this.#notedAtMs.get(id)
    if (notedAtMs !== undefined && Math.abs(nowMs - notedAtMs) < noteEveryMs) return
    if (this.#underWay.size >= mostUnderWay) return
    this.#notedAtMs.delete(id)
    this.#notedAtMs.set(id, nowMs)
    if (this.#notedAtMs.size > mostRemembered) this.#notedAtMs.delete(this.#notedAtMs.keys().next().value!)
    const writing: Promise<void> = this.#write(subject, new Date(nowMs).toISOString())
      .then(() => undefined, this.#onFailure)
      .finally(() => this.#underWay.delete(writing))
    this.#underWay.add(writing)
  }

  /** Resolves when what was noted so far is written, or lost. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}
