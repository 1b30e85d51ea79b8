// A data pipe: its shape as it is read, as it is created and as it is changed.

import { notFound, type Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { idParameter } from '../organizations/organization.ts'
import { ServicePath } from '../services/service.ts'
import type { ProbeRequest } from '../sources/probe.ts'
import { Columns, Destination, DestinationCreate, FieldMappings } from './destination.ts'
import { kafka } from './kafka-source.ts'
import { kinesis } from './kinesis-source.ts'
import { objectStorage } from './object-storage-source.ts'
import type { SourceKind, SourceSecrets } from './pipe-source.ts'
import { PipeState } from './pipe-state.ts'
import { type PostgresSource, postgres } from './postgres-source.ts'
import { Scaling, ScalingCreate } from './scaling.ts'
import { defaultSettings, Settings, SettingsCreate, SettingsPatch } from './settings.ts'

const sourceKinds = { kafka, kinesis, objectStorage, postgres }
export type SourceKindName = keyof typeof sourceKinds

/** The kind of a pipe's source, when only its kind is known at run time. */
export function sourceKind(kind: SourceKindName): SourceKind<object, object, object> {
  return sourceKinds[kind] as unknown as SourceKind<object, object, object>
}

export const PipePath = Type.Object({ ...ServicePath, pipeId: idParameter('A pipe of the service.') })

const PipeName = Type.String({ minLength: 1, maxLength: 255 })

export const Pipe = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    serviceId: Type.String({ format: 'uuid' }),
    name: PipeName,
    state: PipeState,
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({
      format: 'date-time',
      description: 'When an update or a command last changed something. What the pipe does by itself leaves it alone.',
    }),
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

const ValidateSamples = (description: string) => Type.Optional(Type.Boolean({ default: false, description }))

export const PipeCreate = Type.Object(
  {
    name: PipeName,
    source: Type.Object(
      {
        kafka: Type.Optional(kafka.Create),
        kinesis: Type.Optional(kinesis.Create),
        objectStorage: Type.Optional(objectStorage.Create),
        postgres: Type.Optional(postgres.Create),
        validateSamples: ValidateSamples('Connect and check a sample before the pipe is created.'),
      },
      { additionalProperties: false, description: 'Exactly one kind, with its secrets.' },
    ),
    destination: DestinationCreate,
    fieldMappings: Type.Optional(FieldMappings),
    scaling: Type.Optional(ScalingCreate),
    settings: Type.Optional(SettingsCreate),
    startPaused: Type.Optional(
      Type.Boolean({ default: false, description: 'Create the pipe stopped; the command `start` starts it.' }),
    ),
  },
  { $id: 'PipeCreate', additionalProperties: false },
)
export type PipeCreate = Static<typeof PipeCreate>

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
          validateSamples: ValidateSamples(
            'Connect with the changed configuration and check a sample before anything is changed.',
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
  state: PipeState
  /** What may be shown of the source. */
  source: object
  /** Sealed; opened only to merge, to validate or to connect. */
  sealedSecrets: string | null
  destination: Destination
  fieldMappings: FieldMappings
  scaling: Scaling
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

/** The tables that the pipe fills, by name; all are in its database. */
export function destinationTables({ kind, source, destination: { table } }: StoredPipe): string[] {
  if (kind !== 'postgres') return table === undefined ? [] : [table]
  return (source as PostgresSource).tableMappings.map(({ targetTable }) => targetTable)
}

/** How to connect to the source of the pipe, and what its records are to fill. */
export function probeOf(
  {
    kind,
    source,
    organizationId,
    destination,
    fieldMappings,
  }: Pick<StoredPipe, 'kind' | 'source' | 'organizationId' | 'destination' | 'fieldMappings'>,
  secrets: SourceSecrets,
  { mustFit }: { mustFit: boolean },
): ProbeRequest {
  const shown = source as Record<string, unknown>
  return {
    kind,
    organizationId,
    source: { shown, secrets },
    destination: { columns: destination.columns, fieldMappings, mustFit },
  }
}
