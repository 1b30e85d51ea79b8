// A data pipe: its shape as it is read and as it is changed, and the rules that a whole pipe keeps.

import { notFound, type Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { idParameter } from '../organizations/organization.ts'
import { ServicePath } from '../services/service.ts'
import { Columns, Destination, FieldMappings } from './destination.ts'
import { kafka } from './kafka-source.ts'
import { kinesis } from './kinesis-source.ts'
import { objectStorage } from './object-storage-source.ts'
import type { SourceKind } from './pipe-source.ts'
import { postgres } from './postgres-source.ts'
import { defaultSettings, Settings, SettingsPatch } from './settings.ts'

const sourceKinds = { kafka, kinesis, objectStorage, postgres }
export type SourceKindName = keyof typeof sourceKinds

/** The kind of a pipe's source, when only its kind is known at run time. */
export function sourceKind(kind: SourceKindName): SourceKind<object, object> {
  return sourceKinds[kind] as unknown as SourceKind<object, object>
}

export const PipePath = Type.Object({ ...ServicePath, pipeId: idParameter('A pipe of the service.') })

const PipeName = Type.String({ minLength: 1, maxLength: 255 })

const PipeState = Type.Enum(
  [
    'Provisioning',
    'Setup',
    'Snapshot',
    'Running',
    'Modifying',
    'Resync',
    'Stopping',
    'Stopped',
    'Pausing',
    'Paused',
    'Completed',
    'Degraded',
    'Failed',
    'InternalError',
  ],
  { description: 'What the pipe is doing now. Changed by commands and by events, not by an update.' },
)

const Scaling = Type.Object(
  {
    concurrency: Type.Integer({ minimum: 0, maximum: 34, default: 0 }),
    replicas: Type.Integer({ minimum: 1, maximum: 40, default: 1 }),
    replicaCpuMillicores: Type.Integer({ minimum: 125, maximum: 2000, default: 125 }),
    replicaMemoryGb: Type.Number({ minimum: 0.5, maximum: 8, default: 0.5 }),
  },
  { $id: 'PipeScaling', additionalProperties: false },
)

export const Pipe = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    serviceId: Type.String({ format: 'uuid' }),
    name: PipeName,
    state: PipeState,
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time', description: 'When an update last changed something.' }),
    destination: Destination,
    fieldMappings: FieldMappings,
    scaling: Scaling,
    settings: Settings,
    source: Type.Object(
      {
        kafka: Type.Optional(kafka.Shown),
        kinesis: Type.Optional(kinesis.Shown),
        objectStorage: Type.Optional(objectStorage.Shown),
        postgres: Type.Optional(postgres.Shown),
      },
      {
        additionalProperties: false,
        description: 'Has the one member of the kind of the pipe. Secrets are never shown.',
      },
    ),
  },
  { $id: 'Pipe', additionalProperties: false },
)
export type Pipe = Static<typeof Pipe>

export const PipePatch = Type.Object(
  {
    name: Type.Optional(PipeName),
    destination: Type.Optional(Type.Object({ columns: Type.Optional(Columns) }, { additionalProperties: false })),
    fieldMappings: Type.Optional(FieldMappings),
    settings: Type.Optional(SettingsPatch),
    source: Type.Optional(
      Type.Object(
        {
          kafka: Type.Optional(kafka.Patch),
          kinesis: Type.Optional(kinesis.Patch),
          objectStorage: Type.Optional(objectStorage.Patch),
          postgres: Type.Optional(postgres.Patch),
          validateSamples: Type.Optional(
            Type.Boolean({
              default: false,
              description: 'Connect with the changed configuration and check a sample before anything is changed.',
            }),
          ),
        },
        { additionalProperties: false, description: 'Only the member of the kind of the pipe.' },
      ),
    ),
  },
  { $id: 'PipePatch', additionalProperties: false },
)
export type PipePatch = Static<typeof PipePatch>

export interface StoredPipe {
  id: string
  organizationId: string
  serviceId: string
  name: string
  kind: SourceKindName
  state: Static<typeof PipeState>
  /** What may be shown of the source. */
  source: object
  /** Sealed; opened only to merge, to validate or to connect. */
  sealedSecrets: string | null
  destination: Destination
  fieldMappings: FieldMappings
  scaling: Static<typeof Scaling>
  /** Only what was set; the rest are defaults. */
  settings: Partial<Settings>
  createdAt: string
  updatedAt: string
  version: number
}

/** The pipe as it is read: settings complete, one source, no secrets. */
export function showPipe(pipe: StoredPipe): Pipe {
  const { id, serviceId, name, state, createdAt, updatedAt, destination, fieldMappings, scaling } = pipe
  return {
    id,
    serviceId,
    name,
    state,
    createdAt,
    updatedAt,
    destination,
    fieldMappings,
    scaling,
    settings: { ...defaultSettings, ...pipe.settings },
    source: { [pipe.kind]: pipe.source },
  }
}

export function pipeNotFound(serviceId: string, pipeId: string): Problem {
  return notFound(`pipe ${pipeId} was not found in service ${serviceId}`)
}
