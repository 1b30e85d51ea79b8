// The ends of a pipe as a worker needs them: the source that it reads, and the table of the engine that it fills. Secrets are
// opened here, when a worker is made, and are held by nobody else.
import type { EngineAccess } from '../engine/check.ts'
import type { EngineTable, Sink } from '../engine/engine.ts'
import { openSink } from '../engine/sink.ts'
import type { Egress } from '../lib/egress.ts'
import type { Vault } from '../lib/vault.ts'
import type { Destination } from '../pipes/destination.ts'
import type { SourceSecrets } from '../pipes/pipe-source.ts'
import { openSecrets } from '../pipes/store.ts'
import type { WorkerPlace } from '../progress/store.ts'
import { openEngineAccess } from '../services/engine-access.ts'
import { makeReadableSource } from '../sources/make-source.ts'
import type { ReadableSource, SourceContext } from '../sources/source.ts'
import type { Configuration } from './configuration.ts'

export interface EndsOfPipe {
  source: ReadableSource
  secrets: SourceSecrets
  access: EngineAccess
  openSink(signal: AbortSignal): Promise<Sink>
}

export interface EndParts {
  vault: Vault
  egress: Egress
  context: Omit<SourceContext, 'organizationId'>
}

/** Rejects with a VaultError when the secrets cannot be opened. */
export async function makeEnds(
  { vault, egress, context }: EndParts,
  { pipe, endpoint }: Configuration,
  { pipeId, slot, epoch }: WorkerPlace,
): Promise<EndsOfPipe> {
  const { organizationId, kind } = pipe
  const secrets = openSecrets(vault, pipe)
  const access = openEngineAccess(vault, { id: pipe.serviceId, organizationId, endpoint })
  if (!access) throw new Error('the endpoint of a service is stored in a form that is not known')
  const shown = pipe.source as Record<string, unknown>
  return {
    source: await makeReadableSource(kind, { shown, secrets }, { ...context, organizationId }),
    secrets,
    access,
    openSink: (signal) => openSink(egress, access, tableOf(pipe.destination), { pipeId, slot, epoch }, { signal }),
  }
}

/** Only a managed table is made and extended. */
function tableOf({ database, table = '', columns, managedTable, tableDefinition }: Destination): EngineTable {
  const isManaged = managedTable !== false && tableDefinition !== undefined
  return { database, table, columns, ...(isManaged ? { definition: tableDefinition } : {}) }
}
