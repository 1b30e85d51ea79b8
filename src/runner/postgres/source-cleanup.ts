// What a runner does at the sources of postgres pipes that no worker is connected to.
import type { Egress } from '../../lib/egress.ts'
import type { Log } from '../../lib/log.ts'
import { type Vault, VaultError } from '../../lib/vault.ts'
import { openSecrets } from '../../pipes/store.ts'
import type { LeftAtPostgres, LeftoverOf } from '../../progress/leftovers/store.ts'
import type { IdleSlot } from '../../progress/retained/store.ts'
import {
  findRetained,
  type OwnThings,
  type RetainedLog,
  removalStatements,
  removeOwn,
  type Visited,
  VisitFailure,
} from '../../sources/postgres/postgres-visit.ts'
import type { SourceContext } from '../../sources/source.ts'
import { replicationName } from './names.ts'

export interface CleanupParts {
  vault: Vault
  egress: Egress
  context: Omit<SourceContext, 'organizationId'>
  log: Log
}

/** Gives why it was in vain; undefined when nothing is left. */
export async function removeLeftover(
  parts: CleanupParts,
  leftover: LeftoverOf<LeftAtPostgres>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { host, port, database } = leftover.source
  try {
    const visited = visitedBy(parts, leftover, { host, port, database })
    await removeOwn(visited, { egress: parts.egress, signal }, ownThings(leftover))
    return undefined
  } catch (error) {
    if (error instanceof VisitFailure) return error.reason
    if (error instanceof VaultError) return 'the stored password cannot be opened'
    throw error
  }
}

export function remedyFor(leftover: LeftoverOf<LeftAtPostgres>): string {
  const { host, port, database } = leftover.source
  return `run in the database ${JSON.stringify(database)} at ${host}:${port}: ${removalStatements(ownThings(leftover))}`
}

/** Undefined when the source does not tell. */
export async function askRetained(
  parts: CleanupParts,
  slot: IdleSlot,
  signal: AbortSignal,
): Promise<RetainedLog | undefined> {
  const { host, port, database, settings } = slot.source
  const { pipeId, organizationId } = slot
  const name = settings.replicationSlotName ?? replicationName(pipeId)
  try {
    const visited = visitedBy(parts, slot, { host, port, database })
    return await findRetained(visited, { egress: parts.egress, signal }, name)
  } catch (error) {
    if (!(error instanceof VisitFailure || error instanceof VaultError)) throw error
    const reason = error instanceof VisitFailure ? error.reason : 'the stored password cannot be opened'
    parts.log.debug('a source did not tell how much log it keeps', { pipeId, organizationId, reason })
    return undefined
  }
}

function ownThings({ pipeId, source: { hasSlot, hasPublication } }: LeftoverOf<LeftAtPostgres>): OwnThings {
  const name = replicationName(pipeId)
  return { ...(hasSlot ? { slot: name } : {}), ...(hasPublication ? { publication: name } : {}) }
}

function visitedBy(
  { vault, context }: CleanupParts,
  {
    pipeId,
    organizationId,
    sealedSecrets,
  }: Pick<LeftoverOf<LeftAtPostgres>, 'pipeId' | 'organizationId' | 'sealedSecrets'>,
  place: Visited['place'],
): Visited {
  const secrets = openSecrets(vault, { id: pipeId, organizationId, sealedSecrets })
  return { place, secrets, context: { ...context, organizationId } }
}
