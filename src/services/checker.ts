// Health checks of engines: every 30 seconds, at once when a service is new or was changed, and after seconds when a check has failed.
// Several processes share the checks: the one that moves `next_check_at` forward does the check.
import type { Sql } from '../database/sql.ts'
import type { EngineAccess, EngineCheck } from '../engine/check.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
import { PokedLoop } from '../lib/poked-loop.ts'
import { Secret } from '../lib/secret.ts'
import { type Vault, VaultError } from '../lib/vault.ts'
import { parseEndpointUrl, passwordContext } from './service.ts'
import {
  type CheckedState,
  type ClaimedService,
  dueOrganizations,
  type ServiceCheckRecord,
  type ServiceClaim,
} from './store.ts'

const checkEveryMs = 30_000
const lookEveryMs = 1_000
const maxConcurrentChecks = 8
/** Prevents hosts of one organization that do not respond from delaying the checks of others. */
const maxConcurrentChecksOfOrganization = 2
/** Delay after one failed check, after two, and after more. Short, so that recovery is detected quickly. */
const recheckAfterMs = [1_000, 2_000, 5_000] as const
/** Failed checks in a row after which a running service is failed or stopped. */
const failedChecksToFail = 3

export interface CheckerParts {
  reader: Sql
  /** Named writes of the database, serialized by organization. */
  claim(claim: ServiceClaim): Promise<ClaimedService[]>
  record(record: ServiceCheckRecord): Promise<unknown>
  check(engine: EngineAccess, signal: AbortSignal): Promise<EngineCheck>
  vault: Vault
  log: Log
}

export class ServiceChecker {
  readonly #parts: CheckerParts
  readonly #stopping = new AbortController()
  /** Running checks, with their organization. */
  readonly #runningChecks = new Map<Promise<void>, string>()
  #lastServed = ''
  readonly #looks = new PokedLoop(() => this.#look())
  #isFailing = false

  constructor(parts: CheckerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#looks.start(lookEveryMs)
  }

  /** Starts the checks that are due now. */
  poke(): void {
    this.#looks.poke()
  }

  /** Resolves when no check is due or running. */
  async settled(): Promise<void> {
    while (this.#looks.running || this.#runningChecks.size > 0)
      await Promise.all([this.#looks.running, ...this.#runningChecks.keys()])
  }

  /** Aborts running checks; the next process repeats them. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#looks.stop()
    await this.settled()
  }

  async #look(): Promise<void> {
    try {
      if (this.#runningChecks.size >= maxConcurrentChecks) return
      const nowMs = Date.now()
      const now = new Date(nowMs).toISOString()
      const nextCheckAt = new Date(nowMs + checkEveryMs).toISOString()
      const horizon = new Date(nowMs + 2 * checkEveryMs).toISOString()
      // Organizations with running checks take at most half of these, so that enough others remain.
      const limit = 2 * maxConcurrentChecks
      const due = await dueOrganizations(this.#parts.reader, { now, horizon, after: this.#lastServed, limit })
      if (this.#stopping.signal.aborted) return
      const claims = [...this.#allocate(due)].map(async ([organizationId, limit]) => {
        const claimed = await this.#parts.claim({ organizationId, now, horizon, nextCheckAt, limit })
        for (const service of claimed) this.#begin(service)
      })
      await Promise.all(claims)
      this.#isFailing = false
    } catch (error) {
      // Logged once, not every second.
      if (!this.#isFailing) this.#warn('services could not be looked up for their checks', error)
      this.#isFailing = true
    }
  }

  /** Number of services to check per organization, allocated round-robin within the limits. */
  #allocate(due: Map<string, number>): Map<string, number> {
    const runningChecks = [...this.#runningChecks.values()]
    const limits = new Map<string, number>()
    let free = maxConcurrentChecks - runningChecks.length
    for (let round = 1; round <= maxConcurrentChecksOfOrganization; round++) {
      for (const [id, count] of due) {
        const has = runningChecks.filter((organizationId) => organizationId === id).length
        if (free === 0 || count < round || has + round > maxConcurrentChecksOfOrganization) continue
        limits.set(id, round)
        this.#lastServed = id
        free--
      }
    }
    return limits
  }

  #begin(service: ClaimedService): void {
    const check = this.#check(service)
      .catch((error: unknown) => this.#warn('the check of a service failed', error))
      .finally(() => {
        this.#runningChecks.delete(check)
        // More checks may be due than could run at once.
        this.poke()
      })
    this.#runningChecks.set(check, service.organizationId)
  }

  async #check(service: ClaimedService): Promise<void> {
    const { signal } = this.#stopping
    const outcome = await this.#ask(service, signal)
    if (signal.aborted) return
    const found = stateAfter(service.known, outcome)
    const isChanged = (Object.keys(found) as (keyof CheckedState)[]).some(
      (field) => found[field] !== service.known[field],
    )
    const nextCheckMs = nextCheckAfterMs(outcome, found)
    if (!isChanged && nextCheckMs === checkEveryMs) return
    const { id: serviceId, organizationId, version } = service
    const nextCheckAt = new Date(Date.now() + nextCheckMs).toISOString()
    await this.#parts.record({ organizationId, serviceId, version, known: service.known, ...found, nextCheckAt })
  }

  async #ask(service: ClaimedService, signal: AbortSignal): Promise<EngineCheck> {
    const { protocol, host, port } = parseEndpointUrl(service.url)!
    let password: Secret
    try {
      password = new Secret(this.#parts.vault.open(service.sealedPassword, passwordContext(service)))
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      this.#warn('the password of a service cannot be opened', error)
      return { failure: 'authentication', reason: 'the stored password cannot be opened; set endpoint.password again' }
    }
    return this.#parts.check({ protocol, host, port, username: service.username, password }, signal)
  }

  #warn(message: string, error: unknown): void {
    if (!this.#stopping.signal.aborted) this.#parts.log.warn(message, { error: describeError(error) })
  }
}

/** No short delay for a refused password or a denied address: these need a change by an operator. */
function nextCheckAfterMs(check: EngineCheck, { failedChecks }: CheckedState): number {
  if ('version' in check || check.failure === 'authentication' || check.failure === 'denied') return checkEveryMs
  return recheckAfterMs[failedChecks - 1] ?? recheckAfterMs[0]
}

/** State of a service after a check (docs/reference/services.md#states). */
export function stateAfter(known: CheckedState, check: EngineCheck): CheckedState {
  if ('version' in check) {
    return { state: 'running', stateReason: null, engineVersion: check.version, failedChecks: 0 }
  }
  const { engineVersion } = known
  const failing = (state: CheckedState['state'], failedChecks: number): CheckedState => ({
    state,
    stateReason: check.reason,
    engineVersion,
    failedChecks,
  })
  const hasRun = engineVersion !== null && known.state !== 'provisioning'
  if (!hasRun || check.failure === 'authentication' || check.failure === 'denied') {
    return failing('failed', failedChecksToFail)
  }
  const failedChecks = Math.min(known.failedChecks + 1, failedChecksToFail)
  if (failedChecks < failedChecksToFail) return failing('degraded', failedChecks)
  return failing(check.failure === 'refused' ? 'stopped' : 'failed', failedChecks)
}
