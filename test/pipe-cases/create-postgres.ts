// PostgreSQL sources of new pipes, accepted and refused.
import { type Accepted, combination, each, login, type Refused, text, wrong } from './create-source.ts'

const mapping = { sourceSchemaName: 'public', sourceTable: 'orders', targetTable: 'orders' }
const mappingDefaults = {
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}
const postgresDefaults = {
  allowNullableColumns: false,
  enableFailoverSlots: false,
  initialLoadParallelism: 4,
  pullBatchSize: 100000,
  replicationMode: 'cdc',
  snapshotNumRowsPerPartition: 100000,
  snapshotNumberOfParallelTables: 1,
  syncIntervalSeconds: 60,
}

export const postgresAccepted: Accepted[] = [
  {
    title: 'the least, with defaults',
    kind: 'postgres',
    change: {},
    added: { port: 5432, settings: postgresDefaults },
    shown: { tableMappings: [{ ...mapping, ...mappingDefaults }] },
    secrets: { credentials: login },
  },
  {
    title: 'every field',
    kind: 'postgres',
    change: {
      host: '2001:db8::1',
      port: 65535,
      settings: {
        allowNullableColumns: true,
        enableFailoverSlots: false,
        initialLoadParallelism: 1,
        publicationName: 'Some Publication',
        pullBatchSize: 2147483647,
        replicationMode: 'cdc_only',
        replicationSlotName: 'slot_1',
        snapshotNumRowsPerPartition: 1000,
        snapshotNumberOfParallelTables: 2147483647,
        syncIntervalSeconds: 1,
      },
      tableMappings: [
        {
          ...mapping,
          tableEngine: 'MergeTree',
          useCustomSortingKey: true,
          sortingKeys: ['id', 'at'],
          excludedColumns: ['note'],
        },
        { ...mapping, ...mappingDefaults, sourceSchemaName: 'other', targetTable: 'others', tableEngine: 'Null' },
      ],
    },
    secrets: { credentials: login },
  },
  ...each(['cdc', 'snapshot', 'cdc_only'], (replicationMode) => ({
    title: `replicationMode ${replicationMode}`,
    kind: 'postgres',
    change: { settings: { replicationMode } },
    added: { port: 5432 },
    shown: {
      settings: { ...postgresDefaults, replicationMode },
      tableMappings: [{ ...mapping, ...mappingDefaults }],
    },
  })),
  {
    title: 'failover slots without a slot name',
    kind: 'postgres',
    change: { settings: { enableFailoverSlots: true } },
    added: { port: 5432 },
    shown: {
      settings: { ...postgresDefaults, enableFailoverSlots: true },
      tableMappings: [{ ...mapping, ...mappingDefaults }],
    },
  },
]

export const postgresRefused: Refused[] = [
  ...wrong('postgres', 'host', [undefined, '', 'a b', 'http://db', '300.1.1.1', 'db:5432', text(254), null]),
  ...wrong('postgres', 'port', [0, 65536, '5432', null]),
  ...wrong('postgres', 'database', [undefined, '', text(256), null]),
  ...wrong('postgres', 'credentials', [undefined, null, {}, { username: 'hush' }, { password: 'hush' }]),
  ...wrong('postgres', 'tableMappings', [undefined, null, [], Array.from({ length: 1001 }, () => mapping)]),
  ...wrong('postgres', 'tableMappings.0.targetTable', [[{ ...mapping, targetTable: undefined }]]),
  ...wrong('postgres', 'tableMappings.0.tableEngine', [[{ ...mapping, tableEngine: 'Log' }]]),
  ...wrong('postgres', 'tableMappings.0.sortingKeys', [[{ ...mapping, sortingKeys: ['a', 'a'] }]]),
  ...wrong('postgres', 'tableMappings.0.engine', [[{ ...mapping, engine: 'MergeTree' }]]),
  combination(
    'postgres',
    'a table twice',
    { tableMappings: [mapping, { ...mapping, targetTable: 'other' }] },
    'tableMappings.1',
    /names public\.orders a second time/,
  ),
  combination(
    'postgres',
    'a target twice',
    { tableMappings: [mapping, { ...mapping, sourceTable: 'other' }] },
    'tableMappings.1.targetTable',
    /is "orders", where public\.orders goes already/,
  ),
  combination(
    'postgres',
    'a custom sorting key without columns',
    { tableMappings: [{ ...mapping, useCustomSortingKey: true }] },
    'tableMappings.0.sortingKeys',
    /sortingKeys is required/,
  ),
  combination(
    'postgres',
    'a sorting key that is excluded',
    { tableMappings: [{ ...mapping, sortingKeys: ['id'], excludedColumns: ['id'] }] },
    'tableMappings.0.excludedColumns',
    /excludedColumns has columns of the sorting key/,
  ),
  combination(
    'postgres',
    'a slot name without cdc_only',
    { settings: { replicationSlotName: 'slot' } },
    'settings.replicationSlotName',
    /is only for replicationMode cdc_only/,
  ),
  combination(
    'postgres',
    'failover slots with a slot name',
    { settings: { replicationMode: 'cdc_only', replicationSlotName: 'slot', enableFailoverSlots: true } },
    'settings.enableFailoverSlots',
  ),
  ...(
    [
      ['syncIntervalSeconds', 0],
      ['syncIntervalSeconds', 2147483648],
      ['pullBatchSize', 0],
      ['initialLoadParallelism', 0],
      ['snapshotNumRowsPerPartition', 999],
      ['snapshotNumberOfParallelTables', 0],
      ['pullBatchSize', null],
      ['replicationMode', 'full'],
      ['publicationName', ''],
      ['publicationName', text(64)],
      ['replicationSlotName', ''],
      ['replicationSlotName', 'Slot'],
      ['replicationSlotName', text(64)],
      ['allowNullableColumns', 'true'],
      ['enableFailoverSlots', null],
      ['slot', 'x'],
    ] as const
  ).map(([name, value]) =>
    combination('postgres', `setting ${name} ${value}`, { settings: { [name]: value } }, `settings.${name}`),
  ),
]
