import { isIP } from 'node:net'
import { mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { nullable, type Static, Type } from '../lib/schema.ts'
import { fieldPath } from '../lib/shape-rules.ts'
import { Credentials, mergeSecrets, missingSecretProblems, type SourceKind, secretsOf } from './pipe-source.ts'

const largestInteger = 2_147_483_647
const count = (minimum: number, defaultValue: number, description: string) =>
  Type.Integer({ minimum, maximum: largestInteger, default: defaultValue, description })

const Name = (description: string) => Type.String({ minLength: 1, maxLength: 255, description })
const ColumnNames = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 2000, uniqueItems: true, description })

const pullBatchSize = count(1, 100_000, 'Most changes in one batch.')
const syncIntervalSeconds = count(1, 60, 'Time between two batches.')

const PostgresSettings = Type.Object(
  {
    allowNullableColumns: Type.Boolean({ default: false }),
    enableFailoverSlots: Type.Boolean({ default: false }),
    initialLoadParallelism: count(1, 4, 'Connections that load one table.'),
    publicationName: Type.Optional(Type.String()),
    pullBatchSize,
    replicationMode: Type.Enum(['cdc', 'snapshot', 'cdc_only']),
    replicationSlotName: Type.Optional(Type.String()),
    snapshotNumRowsPerPartition: count(1000, 100_000, 'Rows that are loaded at once.'),
    snapshotNumberOfParallelTables: count(1, 1, 'Tables that are loaded at the same time.'),
    syncIntervalSeconds,
  },
  { additionalProperties: false },
)

const defaultPostgresSettings = {
  allowNullableColumns: false,
  enableFailoverSlots: false,
  initialLoadParallelism: 4,
  pullBatchSize: 100_000,
  snapshotNumRowsPerPartition: 100_000,
  snapshotNumberOfParallelTables: 1,
  syncIntervalSeconds: 60,
}

const tableNames = {
  sourceSchemaName: Name('Schema of the table in PostgreSQL.'),
  sourceTable: Name('Table in PostgreSQL.'),
}
const targetTable = Name('Table of the service; unique in the pipe.')
const TableEngine = Type.Enum(['MergeTree', 'ReplacingMergeTree', 'Null'], {
  default: 'ReplacingMergeTree',
})

const TableMapping = Type.Object(
  {
    ...tableNames,
    targetTable,
    tableEngine: TableEngine,
    useCustomSortingKey: Type.Boolean(),
    sortingKeys: Type.Array(Type.String()),
    excludedColumns: Type.Array(Type.String()),
  },
  { $id: 'TableMapping', additionalProperties: false },
)
type TableMapping = Static<typeof TableMapping>

const TableMappingToAdd = Type.Object(
  {
    ...tableNames,
    targetTable,
    tableEngine: Type.Optional(TableEngine),
    useCustomSortingKey: Type.Optional(Type.Boolean({ default: false, description: 'Needs `sortingKeys`.' })),
    sortingKeys: Type.Optional(ColumnNames('Columns of the sorting key.')),
    excludedColumns: Type.Optional(ColumnNames('Columns that are not replicated.')),
  },
  { $id: 'TableMappingToAdd', additionalProperties: false },
)

const TableMappingToRemove = Type.Object(
  { ...tableNames, targetTable: Type.Optional({ ...targetTable, description: 'When sent, must match.' }) },
  { $id: 'TableMappingToRemove', additionalProperties: false },
)

const Host = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern:
    '^(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(?:\\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$',
  patternHint: 'a host name or an IP address',
})
const Port = Type.Integer({ minimum: 1, maximum: 65_535 })
const Database = Name('Database in PostgreSQL.')

const Shown = Type.Object(
  {
    host: Host,
    port: Port,
    database: Database,
    settings: PostgresSettings,
    tableMappings: Type.Array(TableMapping),
  },
  { $id: 'PostgresSource', additionalProperties: false },
)
type Shown = Static<typeof Shown>

const maxTables = 1000
/** As much as one request can bring. */
const maxMappingsLength = 1_048_576

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
        { additionalProperties: false },
      ),
    ),
    tableMappingsToAdd: Type.Optional(
      Type.Array(TableMappingToAdd, { maxItems: maxTables, description: 'Applied after the removals.' }),
    ),
    tableMappingsToRemove: Type.Optional(
      Type.Array(TableMappingToRemove, { maxItems: maxTables, description: 'Applied before the additions.' }),
    ),
  },
  { $id: 'PostgresSourcePatch', additionalProperties: false },
)
type Patch = Static<typeof Patch>

export const postgres: SourceKind<Shown, Patch> = {
  Shown,
  Patch,

  merge({ shown, secrets }, patch, problems) {
    const { credentials, settings, tableMappingsToAdd = [], tableMappingsToRemove = [], ...fields } = patch
    return {
      shown: {
        ...mergePatch(shown, fields),
        settings: { ...defaultPostgresSettings, ...mergePatch(shown.settings, settings ?? {}) },
        tableMappings: changeMappings(shown.tableMappings, tableMappingsToRemove, tableMappingsToAdd, problems),
      },
      secrets: secretsOf({ ...secrets, credentials: mergeSecrets(secrets.credentials, credentials) }),
    }
  },

  problems({ shown, secrets }) {
    const problems = missingSecretProblems(
      'source.postgres.credentials',
      secrets.credentials,
      ['username', 'password'],
      'PostgreSQL asks for them',
    )
    const report = (path: string, rest: string): void => {
      problems.push({ path, detail: `${path} ${rest}` })
    }
    if (/:|(?:^|\.)\d+$/.test(shown.host) && isIP(shown.host) === 0) {
      report('source.postgres.host', `must be a host name or an IP address, not ${JSON.stringify(shown.host)}`)
    }
    const { settings, tableMappings } = shown
    if (settings.enableFailoverSlots && settings.replicationSlotName !== undefined) {
      report('source.postgres.settings.enableFailoverSlots', 'must be false when replicationSlotName is given')
    }
    if (settings.replicationSlotName !== undefined && settings.replicationMode !== 'cdc_only') {
      report('source.postgres.settings.replicationSlotName', 'is only for replicationMode cdc_only')
    }
    if (tableMappings.length === 0) report('source.postgres.tableMappings', 'must keep at least one table')
    if (tableMappings.length > maxTables)
      report('source.postgres.tableMappings', `must have at most ${maxTables} tables`)
    if (JSON.stringify(tableMappings).length > maxMappingsLength) {
      report('source.postgres.tableMappings', `must have at most ${maxMappingsLength} characters as JSON`)
    }
    const targets = new Set<string>()
    for (const mapping of tableMappings) {
      const path = 'source.postgres.tableMappings'
      const name = nameOf(mapping)
      if (targets.has(mapping.targetTable)) {
        report(path, `has the targetTable ${JSON.stringify(mapping.targetTable)} more than once (at ${name})`)
      }
      targets.add(mapping.targetTable)
      if (mapping.useCustomSortingKey && mapping.sortingKeys.length === 0) {
        report(path, `needs sortingKeys at ${name}, because useCustomSortingKey is true`)
      }
      const excluded = new Set(mapping.excludedColumns)
      const both = mapping.sortingKeys.filter((column) => excluded.has(column))
      if (both.length > 0) report(path, `excludes columns of the sorting key at ${name}: ${both.join(', ')}`)
    }
    return problems
  },
}

type TableName = { sourceSchemaName: string; sourceTable: string }

const nameOf = ({ sourceSchemaName, sourceTable }: TableName): string => `${sourceSchemaName}.${sourceTable}`
// JSON keeps the two names apart whatever characters they have.
const keyOf = ({ sourceSchemaName, sourceTable }: TableName): string => JSON.stringify([sourceSchemaName, sourceTable])

/** Removals first, so that one request can replace a mapping. */
function changeMappings(
  present: TableMapping[],
  removals: Static<typeof TableMappingToRemove>[],
  additions: Static<typeof TableMappingToAdd>[],
  problems: FieldProblem[],
): TableMapping[] {
  const mappings = new Map(present.map((mapping) => [keyOf(mapping), mapping]))
  for (const [index, removal] of removals.entries()) {
    const path = fieldPath('source.postgres.tableMappingsToRemove', index)
    const mapping = mappings.get(keyOf(removal))
    if (!mapping) problems.push({ path, detail: `${path} names ${nameOf(removal)}, which the pipe does not have` })
    else if (removal.targetTable !== undefined && removal.targetTable !== mapping.targetTable) {
      const sent = JSON.stringify(removal.targetTable)
      problems.push({
        path: `${path}.targetTable`,
        detail: `${path}.targetTable is ${sent}, but ${nameOf(removal)} goes to ${JSON.stringify(mapping.targetTable)}`,
      })
    } else mappings.delete(keyOf(removal))
  }
  for (const [index, addition] of additions.entries()) {
    const path = fieldPath('source.postgres.tableMappingsToAdd', index)
    if (mappings.has(keyOf(addition))) {
      problems.push({
        path,
        detail: `${path} names ${nameOf(addition)}, which the pipe has already; remove it in the same request to replace it`,
      })
      continue
    }
    mappings.set(keyOf(addition), {
      sourceSchemaName: addition.sourceSchemaName,
      sourceTable: addition.sourceTable,
      targetTable: addition.targetTable,
      tableEngine: addition.tableEngine ?? 'ReplacingMergeTree',
      useCustomSortingKey: addition.useCustomSortingKey ?? false,
      sortingKeys: addition.sortingKeys ?? [],
      excludedColumns: addition.excludedColumns ?? [],
    })
  }
  return [...mappings.values()]
}
