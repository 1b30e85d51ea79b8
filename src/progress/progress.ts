// Shapes of the metrics and rejected rows of a pipe.
import { nullable, type Static, Type } from '../lib/schema.ts'
import { PipeState } from './pipe-state.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const timestamp = (description: string) => nullable(Type.String({ format: 'date-time', description }))

export type PipeKey = { organizationId: string; serviceId: string; pipeId: string }

/** The response covers the last hour, with an entry for each minute that has activity. */
export const shownMinutes = 60

const Throughput = Type.Object(
  {
    minute: Type.String({ format: 'date-time', description: 'Start of the minute.' }),
    rowsRead: count('Records or rows that were read from the source.'),
    bytesRead: count('Bytes that were read from the source, in its format.'),
    rowsWritten: count('Rows that ClickHouse accepted.'),
    rowsRefused: count('Rows that ClickHouse rejected.'),
  },
  { $id: 'PipeThroughput', description: 'Throughput of a pipe in one minute.', additionalProperties: false },
)

export const PipeTable = Type.Object(
  {
    sourceSchemaName: Type.String({ description: 'PostgreSQL schema of the source table.' }),
    sourceTable: Type.String({ description: 'Source table in PostgreSQL.' }),
    targetTable: Type.String({
      description: 'Destination table in ClickHouse. A resync loads into a temporary table with another name.',
    }),
    state: Type.Enum(['waiting', 'loading', 'following', 'loaded'], {
      description:
        '`waiting`: the initial load has not started. `loading`: the initial load is running. `following`: change data ' +
        'capture (CDC) is active. `loaded`: the load is complete and CDC is not used.',
    }),
    isResync: Type.Boolean({
      description: 'Whether this is a resync: after the load, the table replaces the existing one.',
    }),
    rowsLoaded: count('Rows that the initial load has inserted, without changes from CDC.'),
    rowsEstimated: nullable(
      count('Number of rows in the source table, as PostgreSQL estimates it; `null` if unknown.'),
    ),
    percent: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'Progress of the initial load in percent; `null` if unknown.',
      }),
    ),
    secondsLeft: nullable(
      count('Estimated time in seconds until the load is complete; `null` if the table is not being loaded.'),
    ),
  },
  { $id: 'PipeTable', description: 'Progress of one table of a PostgreSQL pipe.', additionalProperties: false },
)
export type PipeTable = Static<typeof PipeTable>

export const PipeMetrics = Type.Object(
  {
    state: PipeState,
    stateReason: nullable(
      Type.String({ description: 'Reason for the state, as a sentence; `null` if there is no problem.' }),
    ),
    doing: Type.String({ description: 'Current activity, as a sentence.' }),
    delivery: nullable(
      Type.Enum(['exactly_once', 'at_least_once'], {
        description:
          'Delivery guarantee. `at_least_once`: rows can be duplicated after a failure. `null` before the pipe has run.',
      }),
    ),
    deliveryReason: nullable(
      Type.String({
        description: 'Why the delivery guarantee is not `exactly_once`, and what to change; otherwise `null`.',
      }),
    ),
    rowsRead: count('Records or rows that were read since the pipe was created.'),
    bytesRead: count('Bytes that were read from the source, in its format.'),
    rowsWritten: count('Rows that ClickHouse accepted.'),
    bytesWritten: count('Bytes that were sent to ClickHouse.'),
    rowsRefused: count('Rows that ClickHouse rejected. They are kept in the error table.'),
    inserts: count('Batches that were inserted.'),
    retries: count('Failed attempts that were retried.'),
    lag: nullable(count('Lag: records or files in the source that are not loaded yet; `null` if unknown.')),
    retainedBytes: nullable(
      count(
        'Bytes of write-ahead log (WAL) that the source retains for the pipe, as last reported; `null` if unknown or not ' +
          'applicable to the source.',
      ),
    ),
    freshnessSeconds: nullable(
      count(
        'Age in seconds of the data in ClickHouse: time since the newest delivered record, or since the source had no ' +
          'more data. It grows while nothing is delivered. `null` if unknown, and for a `Completed` pipe.',
      ),
    ),
    lastInsertAt: timestamp('When the last batch was inserted; `null` before the first one.'),
    lastError: nullable(
      Type.String({
        description: 'Last error, as a sentence; `null` after its cause is gone or the pipe was started again.',
      }),
    ),
    lastErrorAt: timestamp('When the last error occurred; `null` if there is no error.'),
    replayRequestedAt: timestamp(
      'When the pending replay of rejected rows was requested; `null` if no replay is pending.',
    ),
    workers: Type.Array(
      Type.Object(
        {
          slot: Type.Integer({
            minimum: 0,
            description: 'Worker index: number of the worker within the pipe, from 0.',
          }),
          doing: Type.String({ description: 'Current activity of the worker, as a sentence.' }),
          lag: nullable(count('Lag of the worker: records or files that are not loaded yet; `null` if unknown.')),
        },
        { additionalProperties: false },
      ),
      { description: 'Running workers, at most `scaling.replicas`.' },
    ),
    tables: Type.Array(PipeTable, {
      description: 'Progress of each table of a PostgreSQL pipe, in the order of its mappings; empty for other pipes.',
    }),
    throughput: Type.Array(Throughput, {
      description: 'Throughput by minute of the last hour, oldest first. Minutes without activity are omitted.',
    }),
  },
  { $id: 'PipeMetrics', description: 'State, progress and throughput of a pipe.', additionalProperties: false },
)
export type PipeMetrics = Static<typeof PipeMetrics>

export const PipeBadRow = Type.Object(
  {
    id: Type.String({ description: 'Id of the rejected row.' }),
    at: Type.String({ format: 'date-time', description: 'When the row was rejected.' }),
    partition: Type.String({ description: 'Partition, shard, object or table of the source.' }),
    position: Type.String({ description: 'Position in the source, such as the Kafka offset.' }),
    reason: Type.String({ description: 'Error message of ClickHouse.' }),
    raw: Type.String({ description: 'First 10,000 characters of the row, as read from the source.' }),
    isCut: Type.Boolean({ description: 'Whether `raw` is truncated.' }),
  },
  { $id: 'PipeBadRow', description: 'Row that ClickHouse rejected.', additionalProperties: false },
)

export const metricsExample: PipeMetrics = {
  state: 'Running',
  stateReason: null,
  doing: 'Reading from 3 partitions of the topic orders.',
  delivery: 'exactly_once',
  deliveryReason: null,
  rowsRead: 120_500,
  bytesRead: 31_330_000,
  rowsWritten: 120_000,
  bytesWritten: 12_400_000,
  rowsRefused: 2,
  inserts: 240,
  retries: 1,
  lag: 498,
  retainedBytes: null,
  freshnessSeconds: 4,
  lastInsertAt: '2026-11-02T16:40:07.310Z',
  lastError: 'clickhouse.northwind.example:8443 did not answer in time',
  lastErrorAt: '2026-11-02T14:02:51.800Z',
  replayRequestedAt: null,
  workers: [{ slot: 0, doing: 'Reading from 3 partitions of the topic orders.', lag: 498 }],
  tables: [],
  throughput: [
    { minute: '2026-11-02T16:39:00.000Z', rowsRead: 1020, bytesRead: 265_200, rowsWritten: 1018, rowsRefused: 2 },
    { minute: '2026-11-02T16:40:00.000Z', rowsRead: 180, bytesRead: 46_800, rowsWritten: 180, rowsRefused: 0 },
  ],
}

export const badRowExample: Static<typeof PipeBadRow> = {
  id: '5f0c9e2b7a41d386',
  at: '2026-11-02T16:39:12.480Z',
  partition: '1',
  position: 'offset 40213',
  reason: 'Cannot parse input: expected a number in the column amount',
  raw: '{"id": 40213, "amount": "twelve"}',
  isCut: false,
}
