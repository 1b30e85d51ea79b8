// Configuration of a worker: its pipe and the endpoint of its service, as of one read of the database.
import { hash } from 'node:crypto'
import type { Sql } from '../database/sql.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import { defaultSettings, type Settings } from '../pipes/settings.ts'
import { findPipe, type PipeToRun } from '../pipes/store.ts'
import { findReloadRequest } from '../progress/tables/store.ts'
import type { StoredService } from '../services/service.ts'
import { findService } from '../services/store.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'

/** A pipe with all settings: those that were not set have their defaults. */
export type EffectivePipe = StoredPipe & { settings: Settings }

export interface Configuration {
  pipe: EffectivePipe
  endpoint: NonNullable<StoredService['endpoint']>
  /** Changes only with settings that affect a worker, not with a name, for example. */
  digest: string
}

/** Why the pipe cannot run until the user changes something. */
export interface Hindrance {
  hindrance: string
}

/** Undefined when the pipe was deleted. */
export async function findConfiguration(
  sql: Sql,
  { organizationId, serviceId, pipeId }: Pick<PipeToRun, 'organizationId' | 'serviceId' | 'pipeId'>,
): Promise<Configuration | Hindrance | undefined> {
  const [stored, service] = await Promise.all([
    findPipe(sql, { organizationId, serviceId, pipeId }),
    findService(sql, organizationId, serviceId),
  ])
  if (!stored || !service) return undefined
  const { endpoint } = service
  if (!endpoint) return { hindrance: 'the service has no endpoint; register one, then start the pipe' }
  const pipe: EffectivePipe = { ...stored, settings: { ...defaultSettings, ...stored.settings } }
  // A reload is requested by a command, which changes no field of the pipe.
  const reloadRequestedAt = readsTables(pipe.kind) ? await findReloadRequest(sql, pipeId) : null
  return { pipe, endpoint, digest: digestOf(pipe, endpoint, reloadRequestedAt) }
}

function digestOf(pipe: EffectivePipe, endpoint: Configuration['endpoint'], reloadRequestedAt: string | null): string {
  const { source, sealedSecrets, destination, fieldMappings, scaling, settings } = pipe
  const parts = [source, sealedSecrets, destination, fieldMappings, scaling, settings, endpoint, reloadRequestedAt]
  return hash('sha256', JSON.stringify(parts), 'hex')
}
