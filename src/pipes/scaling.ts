// Scaling of a pipe: bounds and defaults (docs/contract.md, section 5).
import { type Static, Type } from '../lib/schema.ts'
import { defaultsOf, optionalFields, patchOf } from '../lib/schema-fields.ts'

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
