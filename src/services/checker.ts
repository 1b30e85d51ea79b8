// Keeps the state of services true: asks every engine every 30 seconds, at once when its service is new or was changed, and after a
// second when it has failed.
// Several processes share the work: who moves `next_check_at` on does the check.
import type { Sql } from '../database/sql.ts'
import type { EngineAccess, EngineCheck } from '../engine/check.ts'
import { describeError } from '../lib/describe-error.ts'
import type { Log } from '../lib/log.ts'
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
/** So that the silent hosts of one organization do not hold up the others. */
const maxConcurrentChecksOfOrganization = 2
/** After one failed check, two in a row, and more. Whoever waits for an engine to come back need not wait long. */
const recheckAfterMs = [1_000, 2_000, 5_000] as const
/** So many failed checks in a row, and a service that was running is not any more. */
const failedChecksToFail = 3

export interface CheckerParts {
  reader: Sql
  /** The named writes of the database; they run in the lane of the organization. */
  claim(claim: ServiceClaim): Promise<ClaimedService[]>
  record(record: ServiceCheckRecord): Promise<unknown>
  check(engine: EngineAccess, signal: AbortSignal): Promise<EngineCheck>
  vault: Vault
  log: Log
}

export class ServiceChecker {
  readonly #parts: CheckerParts
  readonly #stopping = new AbortController()
  /** With the organization that each is for. */
  readonly #underWay = new Map<Promise<void>, string>()
  #lastServed = ''
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #lookAgain = false
  #inTrouble = false

  constructor(parts: CheckerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => this.poke(), lookEveryMs)
    this.#timer.unref()
    this.poke()
  }

  /** Looks for services that are due, now. */
  poke(): void {
    if (this.#stopping.signal.aborted) return
    if (this.#looking) {
      this.#lookAgain = true
      return
    }
    this.#lookAgain = false
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
      if (this.#lookAgain) this.poke()
    })
  }

  /** Resolves when nothing is due any more and nothing is being checked. */
  async settled(): Promise<void> {
    while (this.#looking || this.#underWay.size > 0) await Promise.all([this.#looking, ...this.#underWay.keys()])
  }

  /** Breaks off what is under way; what it would have found is found by the next one who looks. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await this.settled()
  }

  async #look(): Promise<void> {
    try {
      if (this.#underWay.size >= maxConcurrentChecks) return
      const nowMs = Date.now()
      const now = new Date(nowMs).toISOString()
      const nextCheckAt = new Date(nowMs + checkEveryMs).toISOString()
      const horizon = new Date(nowMs + 2 * checkEveryMs).toISOString()
      // As many organizations as can have checks under way, and as many again as there may be room for.
      const limit = 2 * maxConcurrentChecks
      const due = await dueOrganizations(this.#parts.reader, { now, horizon, after: this.#lastServed, limit })
      if (this.#stopping.signal.aborted) return
      const claims = [...this.#shareOut(due)].map(async ([organizationId, limit]) => {
        const claimed = await this.#parts.claim({ organizationId, now, horizon, nextCheckAt, limit })
        for (const service of claimed) this.#begin(service)
      })
      await Promise.all(claims)
      this.#inTrouble = false
    } catch (error) {
      // Told once, not every second.
      if (!this.#inTrouble) this.#warn('services could not be looked up for their checks', error)
      this.#inTrouble = true
    }
  }

  /** How many services of each organization to check: one of each in turn, as long as there is room. */
  #shareOut(due: Map<string, number>): Map<string, number> {
    const underWay = [...this.#underWay.values()]
    const shares = new Map<string, number>()
    let free = maxConcurrentChecks - underWay.length
    for (let round = 1; round <= maxConcurrentChecksOfOrganization; round++) {
      for (const [id, count] of due) {
        const has = underWay.filter((organizationId) => organizationId === id).length
        if (free === 0 || count < round || has + round > maxConcurrentChecksOfOrganization) continue
        shares.set(id, round)
        this.#lastServed = id
        free--
      }
    }
    return shares
  }

  #begin(service: ClaimedService): void {
    const check = this.#check(service)
      .catch((error: unknown) => this.#warn('the check of a service failed', error))
      .finally(() => {
        this.#underWay.delete(check)
        // There may be more that are due than there was room for.
        this.poke()
      })
    this.#underWay.set(check, service.organizationId)
  }

  async #check(service: ClaimedService): Promise<void> {
    const { signal } = this.#stopping
    const outcome = await this.#ask(service, signal)
    if (signal.aborted) return
    const found = stateAfter(service.known, outcome)
    const isNews = (Object.keys(found) as (keyof CheckedState)[]).some((field) => found[field] !== service.known[field])
    const nextCheckMs = nextCheckAfterMs(outcome, found)
    if (!isNews && nextCheckMs === checkEveryMs) return
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
      return { failure: 'authentication', reason: 'the stored password cannot be opened; set endpoint.password anew' }
    }
    return this.#parts.check({ protocol, host, port, username: service.username, password }, signal)
  }

  #warn(message: string, error: unknown): void {
    if (!this.#stopping.signal.aborted) this.#parts.log.warn(message, { error: describeError(error) })
  }
}

/** What refuses our password, or is denied to us, changes by somebody's hand. */
function nextCheckAfterMs(check: EngineCheck, { failedChecks }: CheckedState): number {
  if ('version' in check || check.failure === 'authentication' || check.failure === 'denied') return checkEveryMs
  return recheckAfterMs[failedChecks - 1] ?? recheckAfterMs[0]
}

/** What is known of an engine after one more check of it (docs/contract.md, services). */
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
