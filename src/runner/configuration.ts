// What a worker works by: its pipe and the engine of its service, as they were when they were read.
import { hash } from 'node:crypto'
import type { Sql } from '../database/sql.ts'
import type { SourceKindName, StoredPipe } from '../pipes/pipe.ts'
import { defaultSettings } from '../pipes/settings.ts'
import { findPipe, type PipeToRun } from '../pipes/store.ts'
import type { StoredService } from '../services/service.ts'
import { findService } from '../services/store.ts'
import type { ReadableKind } from '../sources/make-source.ts'

export interface Configuration {
  pipe: StoredPipe & { kind: ReadableKind }
  endpoint: NonNullable<StoredService['endpoint']>
  /** The same for all that makes workers work alike, whatever else was changed, such as a name. */
  digest: string
}

/** Only the user can help. */
export interface Hindrance {
  hindrance: string
}

const isReadable = (kind: SourceKindName): kind is ReadableKind => kind !== 'postgres'

/** Undefined when the pipe is gone. */
export async function findConfiguration(
  sql: Sql,
  { organizationId, serviceId, pipeId }: Pick<PipeToRun, 'organizationId' | 'serviceId' | 'pipeId'>,
): Promise<Configuration | Hindrance | undefined> {
  const [pipe, service] = await Promise.all([
    findPipe(sql, { organizationId, serviceId, pipeId }),
    findService(sql, organizationId, serviceId),
  ])
  if (!pipe || !service) return undefined
  const { kind } = pipe
  if (!isReadable(kind)) return { hindrance: `this version of Penstock does not run ${kind} pipes yet` }
  const { endpoint } = service
  if (!endpoint) return { hindrance: 'the service has no endpoint; register one, then start the pipe' }
  return { pipe: { ...pipe, kind }, endpoint, digest: digestOf(pipe, endpoint) }
}

function digestOf(pipe: StoredPipe, endpoint: Configuration['endpoint']): string {
  const { source, sealedSecrets, destination, fieldMappings, scaling } = pipe
  const settings = { ...defaultSettings, ...pipe.settings }
  const parts = [source, sealedSecrets, destination, fieldMappings, scaling, settings, endpoint]
  return hash('sha256', JSON.stringify(parts), 'hex')
}
