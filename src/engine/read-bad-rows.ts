// The rows that tables refused, for those who ask over the API: within a time limit, few at once, and with a sentence of our own
// for whatever goes wrong.
import type { Egress } from '../lib/egress.ts'
import { Problem } from '../lib/problem.ts'
import { listRefusing, openBadRows } from './bad-rows.ts'
import type { EngineAccess } from './check.ts'
import { EngineError, type ShownBadRow } from './engine.ts'

export interface BadRowsRequest {
  organizationId: string
  engine: EngineAccess
  database: string
  /** Those that the pipe fills. */
  tables: string[]
  pipeId: string
  limit: number
}

/** The newest first. Rejects with a Problem. */
export type ReadBadRows = (request: BadRowsRequest) => Promise<ShownBadRow[]>

/** An answer of an engine may have many megabytes. */
const maxAtOnce = 8
/** So that the slow engines of one organization do not keep the others waiting. */
const maxOfOrganization = 4

export class BadRowReader {
  readonly #egress: Egress
  readonly #timeoutMs: number
  /** The organization of each that is under way. */
  readonly #underWay: string[] = []
  readonly #closing = new AbortController()

  constructor({ egress, timeoutMs }: { egress: Egress; timeoutMs: number }) {
    this.#egress = egress
    this.#timeoutMs = timeoutMs
  }

  /** For one request, which ends it when `gone` is aborted. */
  readFor(gone: AbortSignal | undefined): ReadBadRows {
    return async (request) => {
      const { organizationId } = request
      if (!this.#isFree(organizationId)) throw busy()
      this.#underWay.push(organizationId)
      try {
        return await this.#read(request, gone)
      } finally {
        this.#underWay.splice(this.#underWay.indexOf(organizationId), 1)
      }
    }
  }

  /** Ends what is under way. */
  close(): void {
    this.#closing.abort()
  }

  #isFree(organizationId: string): boolean {
    const ofOrganization = this.#underWay.filter((one) => one === organizationId).length
    return this.#underWay.length < maxAtOnce && ofOrganization < maxOfOrganization
  }

  async #readAll(
    { engine, database, tables, pipeId, limit }: BadRowsRequest,
    signal: AbortSignal,
  ): Promise<ShownBadRow[]> {
    const options = { signal }
    const asked = tables.length > 1 ? await listRefusing(this.#egress, engine, { database, tables }, options) : tables
    let newest: ShownBadRow[] = []
    for (const table of asked) {
      const badRows = await openBadRows(this.#egress, engine, { database, table }, options)
      try {
        const rows = await badRows.list(pipeId, { limit })
        newest = [...newest, ...rows].toSorted(newestFirst).slice(0, limit)
      } finally {
        await badRows.close()
      }
    }
    return newest
  }

  async #read(request: BadRowsRequest, gone: AbortSignal | undefined): Promise<ShownBadRow[]> {
    const overdue = AbortSignal.timeout(this.#timeoutMs)
    const signal = AbortSignal.any([overdue, this.#closing.signal, ...(gone ? [gone] : [])])
    try {
      return await this.#readAll(request, signal)
    } catch (error) {
      if (overdue.aborted) throw away(`the engine did not answer within ${this.#timeoutMs / 1000} s`)
      // Nobody hears it, or everything ends.
      if (signal.aborted) throw busy()
      if (!(error instanceof EngineError)) throw error
      throw error.kind === 'user' ? new Problem('engine_refuses', error.message) : away(error.message)
    }
  }
}

/** Two rows of one moment stand in the order in which one table would have them. */
function newestFirst(one: ShownBadRow, other: ShownBadRow): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1
  return one.id < other.id ? 1 : -1
}

const laterHeaders = { 'retry-after': '5' }

/** An engine that is away is no failure of ours. */
function away(sentence: string): Problem {
  return new Problem('engine_unavailable', sentence, { headers: laterHeaders, isOverload: true })
}

function busy(): Problem {
  const sentence = 'too many refused rows are being read at once; try again in a moment'
  return new Problem('unavailable', sentence, { headers: laterHeaders, isOverload: true })
}
