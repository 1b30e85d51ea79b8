export interface PipeScale {
  kind: string
  scaling: { replicas: number }
  settings: { object_storage_use_cluster_function?: boolean }
}

/** Number of workers of a pipe. Object storage can be set to one worker; the replication slot of PostgreSQL has one reader. */
export function workerCount({ kind, scaling, settings }: PipeScale): number {
  if (kind === 'postgres') return 1
  const isShared = kind !== 'objectStorage' || settings.object_storage_use_cluster_function !== false
  return isShared ? scaling.replicas : 1
}
