// Scaling of a pipe: bounds and defaults (docs/reference/pipe-settings.md).
import { type Static, Type } from '../lib/schema.ts'
import { defaultsOf, optionalFields, patchOf } from '../lib/schema-fields.ts'

const scaling = {
  concurrency: Type.Integer({
    minimum: 0,
    maximum: 34,
    default: 0,
    description: 'Concurrent inserts of each replica; 0: Penstock decides.',
  }),
  replicas: Type.Integer({
    minimum: 1,
    maximum: 40,
    default: 1,
    description: 'Number of workers that divide the partitions, shards or files. A PostgreSQL pipe has one worker.',
  }),
  replicaCpuMillicores: Type.Integer({
    minimum: 125,
    maximum: 2000,
    default: 125,
    description: 'CPU weight of each replica. On a busy runner, replicas get processor time in this proportion.',
  }),
  replicaMemoryGb: Type.Number({
    minimum: 0.5,
    maximum: 8,
    default: 0.5,
    description: 'Memory of each replica in GB. It limits how much data a replica reads ahead.',
  }),
}

export const Scaling = Type.Object(scaling, {
  $id: 'PipeScaling',
  description: 'Number and size of the replicas of the pipe.',
  additionalProperties: false,
})
export type Scaling = Static<typeof Scaling>

export const ScalingCreate = Type.Object(optionalFields(scaling), {
  $id: 'PipeScalingCreate',
  description: 'Number and size of the replicas of the pipe. Fields that are not sent have their defaults.',
  additionalProperties: false,
})

export const ScalingPatch = Type.Object(patchOf(scaling), {
  $id: 'PipeScalingPatch',
  description: 'Fields to change; `null` resets a field to its default.',
  additionalProperties: false,
})

export const defaultScaling = defaultsOf(scaling) as Scaling
