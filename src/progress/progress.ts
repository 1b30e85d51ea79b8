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
    minute: Type.String({ format: 'date-time', description: 'Where the minute begins.' }),
    rowsRead: count('Records and rows of files that were read.'),
    bytesRead: count('As they lie in the source.'),
    rowsWritten: count('Rows that the engine took.'),
    rowsRefused: count('Rows that the engine did not take.'),
  },
  { $id: 'PipeThroughput', additionalProperties: false },
)

export const PipeTable = Type.Object(
  {
    sourceSchemaName: Type.String({ description: 'Schema of the table in the source.' }),
    sourceTable: Type.String({ description: 'Table in the source.' }),
    targetTable: Type.String({
      description:
        'Table of the service that is filled. A table that is loaded again is filled beside the old one, by another name.',
    }),
    state: Type.Enum(['waiting', 'loading', 'following', 'loaded'], {
      description: '`following` when it has what the source has and takes every change; `loaded` when it takes none.',
    }),
    isResync: Type.Boolean({ description: 'Whether it takes the place of a table that is there, once it is loaded.' }),
    rowsLoaded: count('Rows that the load has brought so far, without changes since.'),
    rowsEstimated: nullable(count('Rows of the table as its database estimates them; null when it does not.')),
    percent: nullable(
      Type.Number({ minimum: 0, maximum: 100, description: 'How much of the load is done; null when nobody knows.' }),
    ),
    secondsLeft: nullable(count('Until it is loaded, at the pace so far; null when it is not being loaded.')),
  },
  { $id: 'PipeTable', additionalProperties: false },
)
export type PipeTable = Static<typeof PipeTable>

export const PipeMetrics = Type.Object(
  {
    state: PipeState,
    stateReason: nullable(
      Type.String({ description: 'Why the pipe has this state, as a sentence; null while all is well.' }),
    ),
    doing: Type.String({ description: 'What the pipe is doing now, in words.' }),
    delivery: nullable(
      Type.Enum(['exactly_once', 'at_least_once'], {
        description: 'Whether rows can be there twice after a failure; null before the pipe has run.',
      }),
    ),
    deliveryReason: nullable(Type.String({ description: 'Why it is not exactly once, and what would make it so.' })),
    rowsRead: count('Records and rows of files that were read since the pipe was created.'),
    bytesRead: count('As they lie in the source.'),
    rowsWritten: count('Rows that the engine took.'),
    bytesWritten: count('What was sent to the engine.'),
    rowsRefused: count('Rows that the engine did not take, kept in the table of errors.'),
    inserts: count('Batches that the engine took.'),
    retries: count('Attempts that failed and were repeated.'),
    lag: nullable(count('Records or files that wait in the source, also while the engine is down; null when unknown.')),
    retainedBytes: nullable(
      count(
        'Bytes of its log that the source keeps until the pipe has taken them, as last seen; null when nobody knows, and for ' +
          'kinds that keep none.',
      ),
    ),
    freshnessSeconds: nullable(
      count(
        'Seconds since the time up to which the source is known to be delivered: when nothing more waited there, or the time of ' +
          'the newest delivered record. It grows while nothing is delivered; null before it is known, and of a pipe that is `Completed`.',
      ),
    ),
    lastInsertAt: timestamp('When the engine last took a batch.'),
    lastError: nullable(
      Type.String({
        description: 'The last error, as a sentence; null when its cause is gone, or the pipe was started again.',
      }),
    ),
    lastErrorAt: timestamp('When that was.'),
    replayRequestedAt: timestamp('Since when rejected rows wait to be tried again; null when none do.'),
    workers: Type.Array(
      Type.Object(
        {
          slot: Type.Integer({ minimum: 0 }),
          doing: Type.String(),
          lag: nullable(count('Records or files that wait for this worker.')),
        },
        { additionalProperties: false },
      ),
      { description: 'The workers that run now, at most `scaling.replicas`.' },
    ),
    tables: Type.Array(PipeTable, {
      description: 'Of a postgres pipe: how far each of its tables has come, in the order of its mappings. Else empty.',
    }),
    throughput: Type.Array(Throughput, { description: 'By the minute, the last hour, the oldest first.' }),
  },
  { $id: 'PipeMetrics', additionalProperties: false },
)
export type PipeMetrics = Static<typeof PipeMetrics>

export const PipeBadRow = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ format: 'date-time', description: 'When it was refused.' }),
    partition: Type.String(),
    position: Type.String({ description: 'Where it stands in the source.' }),
    reason: Type.String({ description: 'The error message of the engine.' }),
    raw: Type.String({ description: 'The row as it came; its first 10,000 characters.' }),
    isCut: Type.Boolean({ description: 'Whether the row goes on after that.' }),
  },
  { $id: 'PipeBadRow', additionalProperties: false },
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
