// When each key was last used. Noted at most once a minute per key and behind the back of the request, which neither waits
// for it nor fails with it: what is lost is one minute of `usedAt`.
import type { Sql } from '../database/sql.ts'
import { lockOrganization } from '../organizations/store.ts'
import { setUsedAt } from './store.ts'

export interface KeyUse {
  organizationId: string
  id: string
  usedAt: string
}

/** The write. Takes the organization's lock first, as every write of an organization does, and so cannot deadlock with one. */
export async function noteKeyUse({ sql }: { sql: Sql }, use: KeyUse): Promise<void> {
  await lockOrganization(sql, use.organizationId)
  await setUsedAt(sql, use)
}

const noteEveryMs = 60_000
/** Beyond it the key that was noted longest ago is forgotten, and is noted again with its next use. */
const mostRemembered = 10_000
/** Keys that would come on top are noted with a later use: changes of users must not find the queue full of these. */
const mostUnderWay = 64

export class KeyUses {
  readonly #write: (use: KeyUse) => Promise<unknown>
  readonly #onFailure: (error: unknown) => void
  /** By the key's id, in the order in which they were noted. */
  readonly #notedAtMs = new Map<string, number>()
  readonly #underWay = new Set<Promise<void>>()

  constructor(write: (use: KeyUse) => Promise<unknown>, onFailure: (error: unknown) => void) {
    this.#write = write
    this.#onFailure = onFailure
  }

  note({ id, organizationId }: { id: string; organizationId: string }, nowMs = Date.now()): void {
    const notedAtMs = this.#notedAtMs.get(id)
    if (notedAtMs !== undefined && Math.abs(nowMs - notedAtMs) < noteEveryMs) return
    if (this.#underWay.size >= mostUnderWay) return
    this.#notedAtMs.delete(id)
    this.#notedAtMs.set(id, nowMs)
    if (this.#notedAtMs.size > mostRemembered) this.#notedAtMs.delete(this.#notedAtMs.keys().next().value!)
    const writing: Promise<void> = this.#write({ organizationId, id, usedAt: new Date(nowMs).toISOString() })
      .then(() => undefined, this.#onFailure)
      .finally(() => this.#underWay.delete(writing))
    this.#underWay.add(writing)
  }

  /** Resolves when what was noted so far is written, or lost. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}
