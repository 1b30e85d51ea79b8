import type { SourceKindName } from '../../source-shapes/source-kind.ts'
import { readsObjects, readsTables } from '../../source-shapes/source-kinds.ts'

export interface PipeScale {
  kind: SourceKindName
  scaling: { replicas: number }
  settings: { object_storage_use_cluster_function?: boolean }
}

/** Number of workers of a pipe. Object storage can be set to one worker; the replication slot of PostgreSQL has one reader. */
export function workerCount({ kind, scaling, settings }: PipeScale): number {
  if (readsTables(kind)) return 1
  const isShared = !readsObjects(kind) || settings.object_storage_use_cluster_function !== false
  return isShared ? scaling.replicas : 1
}
