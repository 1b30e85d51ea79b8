import { isDeepStrictEqual } from 'node:util'
import { asciiLowerCase } from '../lib/ascii-case.ts'
import { hostInUrl, isHost } from '../lib/host.ts'
import { mergePatch } from '../lib/merge-patch.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import { defaultsOf, optionalFields } from '../lib/schema-fields.ts'
import { quote } from '../lib/shape-rules.ts'
import { Host, Port } from './address.ts'
import {
  Credentials,
  fieldProblem,
  mergeSecrets,
  missingSecretProblems,
  type SourceKind,
  type SourceSecrets,
} from './source-kind.ts'
import {
  changeMappings,
  maxTables,
  newMappings,
  TableMapping,
  TableMappingToAdd,
  TableMappingToRemove,
} from './table-mappings.ts'

const count = (minimum: number, defaultValue: number, description: string) =>
  Type.Integer({ minimum, maximum: 2_147_483_647, default: defaultValue, description })

const pullBatchSize = count(
  1,
  100_000,
  'Maximum number of changes in one batch. A batch ends at the end of a transaction.',
)
const syncIntervalSeconds = count(1, 60, 'Maximum time in seconds between two batches.')

const settings = {
  allowNullableColumns: Type.Boolean({
    default: false,
    description: 'Whether columns that can be NULL are created as `Nullable`.',
  }),
  enableFailoverSlots: Type.Boolean({
    default: false,
    description:
      'Whether to create a failover replication slot, which is synchronized to standbys. Not allowed with ' +
      '`replicationSlotName`.',
  }),
  initialLoadParallelism: count(1, 4, 'Number of connections that load one table in parallel.'),
  publicationName: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 63,
      description: 'Existing publication to use. Default: Penstock creates one.',
    }),
  ),
  pullBatchSize,
  replicationMode: Type.Enum(['cdc', 'snapshot', 'cdc_only'], {
    default: 'cdc',
    description:
      '`cdc`: initial load, then change data capture (CDC). `snapshot`: load once. `cdc_only`: CDC without initial ' +
      'load.',
  }),
  replicationSlotName: Type.Optional(
    Type.String({
      maxLength: 63,
      pattern: '^[a-z0-9_]+$',
      patternHint: 'a name of lower-case letters, digits and _',
      description: 'Existing replication slot to use. Only for `cdc_only`. Default: Penstock creates one.',
    }),
  ),
  snapshotNumRowsPerPartition: count(1000, 100_000, 'Number of rows in one range of the initial load.'),
  snapshotNumberOfParallelTables: count(1, 1, 'Number of tables that are loaded in parallel.'),
  syncIntervalSeconds,
}
const aboutSettings = { description: 'Settings of the initial load and of change data capture (CDC).' }
const PostgresSettings = Type.Object(settings, { additionalProperties: false, ...aboutSettings })
const tableMappings = { description: 'Tables to replicate and their destination tables.' }
type PostgresSettings = Static<typeof PostgresSettings>
const defaultPostgresSettings = defaultsOf(settings) as PostgresSettings

const Database = Type.String({ minLength: 1, maxLength: 255, description: 'PostgreSQL database.' })
const defaultPort = 5432

const Shown = Type.Object(
  {
    host: Host,
    port: Port,
    database: Database,
    settings: PostgresSettings,
    tableMappings: Type.Array(TableMapping, tableMappings),
  },
  { $id: 'PostgresSource', description: 'PostgreSQL source.', additionalProperties: false },
)
type Shown = Static<typeof Shown>
export type PostgresSource = Shown

const Create = Type.Object(
  {
    host: Host,
    port: Type.Optional({ ...Port, default: defaultPort } as typeof Port),
    database: Database,
    credentials: Credentials,
    settings: Type.Optional(Type.Object(optionalFields(settings), { additionalProperties: false, ...aboutSettings })),
    tableMappings: Type.Array(TableMappingToAdd, { minItems: 1, maxItems: maxTables, ...tableMappings }),
  },
  { $id: 'PostgresSourceCreate', description: 'PostgreSQL source with its credentials.', additionalProperties: false },
)
type Create = Static<typeof Create>

const Patch = Type.Object(
  {
    credentials: Type.Optional(Credentials),
    database: Type.Optional(Database),
    host: Type.Optional(Host),
    port: Type.Optional(Port),
    settings: Type.Optional(
      Type.Object(
        {
          pullBatchSize: Type.Optional(nullable(pullBatchSize)),
          syncIntervalSeconds: Type.Optional(nullable(syncIntervalSeconds)),
        },
        { additionalProperties: false, description: 'Settings to change; `null` resets a setting to its default.' },
      ),
    ),
    tableMappingsToAdd: Type.Optional(
      Type.Array(TableMappingToAdd, {
        maxItems: maxTables,
        description: 'Tables to start replicating. Added after `tableMappingsToRemove` is applied.',
      }),
    ),
    tableMappingsToRemove: Type.Optional(
      Type.Array(TableMappingToRemove, {
        maxItems: maxTables,
        description: 'Tables to stop replicating. Applied before `tableMappingsToAdd`.',
      }),
    ),
  },
  { $id: 'PostgresSourcePatch', description: 'Changes to a PostgreSQL source.', additionalProperties: false },
)
type Patch = Static<typeof Patch>

export const postgres: SourceKind<Shown, Create, Patch> & { reads: 'tables' } = {
  reads: 'tables',
  Shown,
  Create,
  Patch,

  create: ({ credentials, settings, tableMappings, ...fields }, _pipeId, problems) => ({
    shown: {
      port: defaultPort,
      ...fields,
      settings: { ...defaultPostgresSettings, ...settings },
      tableMappings: newMappings(tableMappings, problems),
    },
    secrets: mergeSecrets({}, { credentials }),
  }),

  merge({ shown, secrets }, patch, problems) {
    const { credentials, settings, tableMappingsToAdd = [], tableMappingsToRemove = [], ...fields } = patch
    const merged: Shown = {
      ...mergePatch(shown, fields),
      settings: { ...defaultPostgresSettings, ...mergePatch(shown.settings, settings ?? {}) },
      tableMappings: changeMappings(shown.tableMappings, tableMappingsToRemove, tableMappingsToAdd, problems),
    }
    const { passwordFor = addressOf(shown), ...mergedSecrets }: SourceSecrets = mergeSecrets(secrets, { credentials })
    const isForThis = credentials?.password !== undefined || isDeepStrictEqual(passwordFor, addressOf(merged))
    return { shown: merged, secrets: isForThis ? mergedSecrets : { ...mergedSecrets, passwordFor } }
  },

  problems({ shown, secrets }) {
    const problems = missingSecretProblems(
      'source.postgres.credentials',
      secrets.credentials,
      ['username', 'password'],
      'PostgreSQL asks for them',
    )
    const { host, settings } = shown
    if (!isHost(host)) {
      const rest = `must be a host name or an IP address, not ${quote(host)}`
      problems.push(fieldProblem('source.postgres.host', rest))
    }
    const { enableFailoverSlots, replicationSlotName, replicationMode } = settings
    if (replicationSlotName !== undefined) {
      const path = 'source.postgres.settings'
      if (enableFailoverSlots) {
        problems.push(fieldProblem(`${path}.enableFailoverSlots`, 'must be false when replicationSlotName is given'))
      }
      if (replicationMode !== 'cdc_only') {
        problems.push(fieldProblem(`${path}.replicationSlotName`, 'is only for replicationMode cdc_only'))
      }
    }
    return problems
  },

  describe: ({ host, port }) => host && `PostgreSQL at ${hostInUrl(host)}:${port}`,

  /** Replication slots of a snapshot end with their connections. A slot or publication that the user named is never removed. */
  leftBy({ host, port, database, settings }) {
    if (settings.replicationMode === 'snapshot') return undefined
    const hasSlot = settings.replicationSlotName === undefined
    const hasPublication = settings.publicationName === undefined
    if (!hasSlot && !hasPublication) return undefined
    return { kind: 'postgres', host, port, database, hasSlot, hasPublication }
  },
}

function addressOf({ host, port }: Shown): { host: string; port: number } {
  return { host: asciiLowerCase(host), port }
}
