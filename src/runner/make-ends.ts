// Creates the source and the sink of a pipe for a worker. Secrets are decrypted here, when a worker is created, and kept nowhere
// else.
import type { EngineAccess } from '../engine/check.ts'
import type { EngineTable, OpenedSink } from '../engine/engine.ts'
import { openReplicaTables, type ReplicaTables } from '../engine/replica-tables.ts'
import { openSink } from '../engine/sink.ts'
import type { Egress } from '../lib/egress.ts'
import type { Vault } from '../lib/vault.ts'
import type { Destination } from '../pipes/destination.ts'
import { openSecrets } from '../pipes/store.ts'
import type { WorkerLease } from '../progress/store.ts'
import { openEngineAccess } from '../services/engine-access.ts'
import type { PostgresSource } from '../source-shapes/postgres-source.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
import { makeReadableSource } from '../sources/make-source.ts'
import type { PostgresAccess } from '../sources/postgres/postgres-access.ts'
import type { ReadableSource, SourceContext } from '../sources/source.ts'
import type { Configuration } from './configuration.ts'

export interface EndsOfPipe {
  source: ReadableSource
  secrets: SourceSecrets
  access: EngineAccess
  openSink(signal: AbortSignal): Promise<OpenedSink>
}

/** For a postgres pipe, which fills many tables. */
export interface EndsOfReplication {
  source: PostgresAccess
  secrets: SourceSecrets
  access: EngineAccess
  openTables(signal: AbortSignal): Promise<ReplicaTables>
}

export interface EndParts {
  vault: Vault
  egress: Egress
  context: Omit<SourceContext, 'organizationId'>
}

/** Rejects with a VaultError when the secrets cannot be decrypted. */
export async function makeEnds(
  parts: EndParts,
  configuration: Configuration,
  { pipeId, workerIndex, epoch }: WorkerLease,
): Promise<EndsOfPipe> {
  const { egress, context } = parts
  const { pipe } = configuration
  const { organizationId, kind } = pipe
  if (readsTables(kind)) throw new Error('a pipe that replicates tables has other ends')
  const { secrets, access } = openAll(parts, configuration)
  const shown = pipe.source as Record<string, unknown>
  return {
    source: await makeReadableSource(kind, { shown, secrets }, { ...context, organizationId }),
    secrets,
    access,
    openSink: (signal) =>
      openSink(egress, access, tableOf(pipe.destination), { pipeId, workerIndex, epoch }, { signal }),
  }
}

/** Rejects with a VaultError when the secrets cannot be decrypted. */
export async function makeReplicationEnds(
  parts: EndParts,
  configuration: Configuration,
  { pipeId, workerIndex, epoch }: WorkerLease,
): Promise<EndsOfReplication> {
  const { egress, context } = parts
  const { source, organizationId } = configuration.pipe
  const { secrets, access } = openAll(parts, configuration)
  const { makePostgresAccess } = await import('../sources/postgres/postgres-access.ts')
  return {
    source: makePostgresAccess(source as PostgresSource, secrets, { ...context, organizationId }),
    secrets,
    access,
    openTables: (signal) => openReplicaTables(egress, access, { pipeId, workerIndex, epoch }, { signal }),
  }
}

function openAll(
  { vault }: EndParts,
  { pipe, endpoint }: Configuration,
): { secrets: SourceSecrets; access: EngineAccess } {
  const { serviceId: id, organizationId } = pipe
  const access = openEngineAccess(vault, { id, organizationId, endpoint })
  if (!access) throw new Error('the stored endpoint of a service has an unknown form')
  return { secrets: openSecrets(vault, pipe), access }
}

/** Only a managed table is created and extended. */
function tableOf({ database, table = '', columns, managedTable, tableDefinition }: Destination): EngineTable {
  const isManaged = managedTable !== false && tableDefinition !== undefined
  return { database, table, columns, ...(isManaged ? { definition: tableDefinition } : {}) }
}
