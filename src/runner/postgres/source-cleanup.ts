// Cleanup and measurements at the sources of postgres pipes that have no connected worker.
import type { Egress } from '../../lib/egress.ts'
import type { Log } from '../../lib/log.ts'
import { type Vault, VaultError } from '../../lib/vault.ts'
import { openSecrets } from '../../pipes/store.ts'
import type { LeftoverOf } from '../../progress/leftovers/store.ts'
import type { IdleSlot } from '../../progress/retained/store.ts'
import type { LeftAtPostgres } from '../../source-shapes/source-kind.ts'
import {
  findRetained,
  MaintenanceFailure,
  type MaintenanceTarget,
  type OwnObjects,
  type RetainedLog,
  removalStatements,
  removeOwnObjects,
} from '../../sources/postgres/postgres-maintenance.ts'
import type { SourceContext } from '../../sources/source.ts'
import { replicationName } from './names.ts'

export interface CleanupParts {
  vault: Vault
  egress: Egress
  context: Omit<SourceContext, 'organizationId'>
  log: Log
}

/** Returns the reason of a failure; undefined when nothing is left to remove. */
export async function removeLeftover(
  parts: CleanupParts,
  leftover: LeftoverOf<LeftAtPostgres>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { host, port, database } = leftover.source
  try {
    const visited = visitedBy(parts, leftover, { host, port, database })
    await removeOwnObjects(visited, { egress: parts.egress, signal }, ownObjects(leftover))
    return undefined
  } catch (error) {
    if (error instanceof MaintenanceFailure) return error.reason
    if (error instanceof VaultError) return 'the stored password cannot be opened'
    throw error
  }
}

export function remedyFor(leftover: LeftoverOf<LeftAtPostgres>): string {
  const { host, port, database } = leftover.source
  return `run in the database ${JSON.stringify(database)} at ${host}:${port}: ${removalStatements(ownObjects(leftover))}`
}

/** Undefined when the source does not answer. */
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
    if (!(error instanceof MaintenanceFailure || error instanceof VaultError)) throw error
    const reason = error instanceof MaintenanceFailure ? error.reason : 'the stored password cannot be opened'
    parts.log.debug('the source did not report the size of its retained WAL', { pipeId, organizationId, reason })
    return undefined
  }
}

function ownObjects({ pipeId, source: { hasSlot, hasPublication } }: LeftoverOf<LeftAtPostgres>): OwnObjects {
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
  source: MaintenanceTarget['source'],
): MaintenanceTarget {
  const secrets = openSecrets(vault, { id: pipeId, organizationId, sealedSecrets })
  return { source, secrets, context: { ...context, organizationId } }
}
