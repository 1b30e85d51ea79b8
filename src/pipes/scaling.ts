// How much a pipe may use: bounds and defaults (docs/contract.md, section 5).
import { type Static, Type } from '../lib/schema.ts'
import { defaultsOf, optionalFields, patchOf, type Settings } from './settings.ts'

const scaling = {
  concurrency: Type.Integer({ minimum: 0, maximum: 34, default: 0, description: '0: Penstock decides.' }),
  replicas: Type.Integer({ minimum: 1, maximum: 40, default: 1 }),
  replicaCpuMillicores: Type.Integer({ minimum: 125, maximum: 2000, default: 125 }),
  replicaMemoryGb: Type.Number({ minimum: 0.5, maximum: 8, default: 0.5 }),
}

export const Scaling = Type.Object(scaling, { $id: 'PipeScaling', additionalProperties: false })
export type Scaling = Static<typeof Scaling>

export const ScalingCreate = Type.Object(optionalFields(scaling), {
  $id: 'PipeScalingCreate',
  additionalProperties: false,
})

export const ScalingPatch = Type.Object(patchOf(scaling), { $id: 'PipeScalingPatch', additionalProperties: false })

export const defaultScaling = defaultsOf(scaling) as Scaling

/** How many workers share a pipe. The files of object storage can be kept to one; the log of PostgreSQL has one reader. */
export function workerCount(pipe: { kind: string; scaling: Scaling; settings: Partial<Settings> }): number {
  if (pipe.kind === 'postgres') return 1
  const isShared = pipe.kind !== 'objectStorage' || pipe.settings.object_storage_use_cluster_function !== false
  return isShared ? pipe.scaling.replicas : 1
}
