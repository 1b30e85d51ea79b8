// Shapes of a data pipe: to read, to create and to update.

import { notFound, type Problem } from '../lib/problem.ts'
import { type Static, Type } from '../lib/schema.ts'
import { idParameter } from '../organizations/organization.ts'
import { PipeState } from '../progress/pipe-state.ts'
import { ServicePath } from '../services/service.ts'
import { kafka } from '../source-shapes/kafka-source.ts'
import { kinesis } from '../source-shapes/kinesis-source.ts'
import { objectStorage } from '../source-shapes/object-storage-source.ts'
import { type PostgresSource, postgres } from '../source-shapes/postgres-source.ts'
import type { ProbeRequest } from '../source-shapes/probe.ts'
import type { SourceKindName, SourceSecrets } from '../source-shapes/source-kind.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
import { Columns, Destination, DestinationCreate, FieldMappings } from './destination.ts'
import { Scaling, ScalingCreate } from './scaling.ts'
import { defaultSettings, Settings, SettingsCreate, SettingsPatch } from './settings.ts'

export const PipePath = Type.Object({ ...ServicePath, pipeId: idParameter('Id of the pipe.') })

const PipeName = Type.String({ minLength: 1, maxLength: 255, description: 'Display name of the pipe.' })

export const Pipe = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Id of the pipe.' }),
    serviceId: Type.String({ format: 'uuid', description: 'Id of the service that the pipe writes to.' }),
    name: PipeName,
    state: PipeState,
    createdAt: Type.String({ format: 'date-time', description: 'When the pipe was created.' }),
    updatedAt: Type.String({
      format: 'date-time',
      description: 'When an update or a command last changed the pipe. State changes by the runner do not count.',
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
        description: 'Source of the pipe: one field, named after the kind of the pipe. Secrets are never returned.',
      },
    ),
  },
  { $id: 'Pipe', description: 'Data pipe without its secrets.', additionalProperties: false },
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
        validateSamples: ValidateSamples(
          'Whether to connect to the source and check a sample before the pipe is created.',
        ),
      },
      {
        additionalProperties: false,
        description: 'Source of the pipe: exactly one of `kafka`, `kinesis`, `objectStorage` and `postgres`.',
      },
    ),
    destination: DestinationCreate,
    fieldMappings: Type.Optional(FieldMappings),
    scaling: Type.Optional(ScalingCreate),
    settings: Type.Optional(SettingsCreate),
    startPaused: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to create the pipe without starting it. The command `start` starts it.',
      }),
    ),
  },
  { $id: 'PipeCreate', description: 'Data pipe to create.', additionalProperties: false },
)
export type PipeCreate = Static<typeof PipeCreate>

export const PipePatch = Type.Object(
  {
    name: Type.Optional(PipeName),
    destination: Type.Optional(
      Type.Object(
        { columns: Type.Optional(Columns) },
        { additionalProperties: false, description: 'Changes to the destination: only its columns can be changed.' },
      ),
    ),
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
            'Whether to connect to the source with the changed configuration and check a sample before the pipe is changed.',
          ),
        },
        {
          additionalProperties: false,
          description: 'Changes to the source: only the field named after the kind of the pipe.',
        },
      ),
    ),
  },
  { $id: 'PipePatch', description: 'Changes to a data pipe.', additionalProperties: false },
)
export type PipePatch = Static<typeof PipePatch>

export interface StoredPipe {
  id: string
  organizationId: string
  serviceId: string
  name: string
  kind: SourceKindName
  state: PipeState
  /** The source without its secrets. */
  source: object
  /** Opened only to merge, validate or connect. */
  sealedSecrets: string | null
  destination: Destination
  fieldMappings: FieldMappings
  scaling: Scaling
  /** Only the settings that were set; the others have their defaults. */
  settings: Partial<Settings>
  createdAt: string
  updatedAt: string
  version: number
}

/** The pipe as the API shows it: with default settings, one source and no secrets. */
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

/** Names of the destination tables, all in the database of the destination. */
export function destinationTables({ kind, source, destination: { table } }: StoredPipe): string[] {
  if (!readsTables(kind)) return table === undefined ? [] : [table]
  return (source as PostgresSource).tableMappings.map(({ targetTable }) => targetTable)
}

/** Request to connect to the source and check its sample against the columns. */
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
