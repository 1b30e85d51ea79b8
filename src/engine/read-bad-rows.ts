// The rows that tables refused, for those who ask over the API: within a time limit, few at once, and with a sentence of our own
// for whatever goes wrong.
import type { Egress } from '../lib/egress.ts'
import { Problem } from '../lib/problem.ts'
import { openBadRows } from './bad-rows.ts'
import type { EngineAccess } from './check.ts'
import { EngineError, type ShownBadRow } from './engine.ts'

export interface BadRowsRequest {
  organizationId: string
  engine: EngineAccess
  database: string
  table: string
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

  async #read(request: BadRowsRequest, gone: AbortSignal | undefined): Promise<ShownBadRow[]> {
    const { engine, database, table, pipeId, limit } = request
    const overdue = AbortSignal.timeout(this.#timeoutMs)
    const signal = AbortSignal.any([overdue, this.#closing.signal, ...(gone ? [gone] : [])])
    try {
      const badRows = await openBadRows(this.#egress, engine, { database, table }, { signal })
      try {
        return await badRows.list(pipeId, { limit })
      } finally {
        await badRows.close()
      }
    } catch (error) {
      if (overdue.aborted) throw away(`the engine did not answer within ${this.#timeoutMs / 1000} s`)
      // Nobody hears it, or everything ends.
      if (signal.aborted) throw busy()
      if (!(error instanceof EngineError)) throw error
      throw error.kind === 'user' ? new Problem('engine_refuses', error.message) : away(error.message)
    }
  }
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
