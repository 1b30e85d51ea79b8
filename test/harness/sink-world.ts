// Sinks on an engine, for the tests of the sink.
import { after, before } from 'node:test'
import { EngineError, type EngineTable, type Insert, type Sink } from '../../src/engine/engine.ts'
import { openSink } from '../../src/engine/sink.ts'
import { markerOf } from '../../src/engine/table-delivery.ts'
import { Egress } from '../../src/lib/egress.ts'
import { Secret } from '../../src/lib/secret.ts'
import type { TestEngine } from '../fakes/engine-front.ts'
import { type PaperEngine, startPaperEngine } from '../fakes/paper-engine.ts'
import { openEmbeddedEngine } from './embedded-engine.ts'

const pipeId = '0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
const egress = new Egress({ allowLoopback: true, allowPlaintext: true, deniedAddresses: [] })
export const never = new AbortController().signal
export const settings = {
  engine_max_threads: 0,
  engine_max_insert_threads: 1,
  engine_max_download_threads: 4,
  engine_min_insert_block_size_bytes: 1_073_741_824,
  engine_parallel_distributed_insert_select: 2,
  engine_parallel_view_processing: false,
}
export const columns = [
  { name: 'id', type: 'UInt64' },
  { name: 'day', type: 'Date' },
  { name: 'note', type: 'String' },
]
const lines = [1, 1, 2, 3].map((id) => `{"id":${id},"day":"2026-0${id}-01","note":"row ${id}"}\n`)
export const body = Buffer.from(lines.join(''))

export function insertOf(token: string, more: Partial<Insert> = {}): Insert {
  return {
    token,
    format: 'JSONEachRow',
    fields: columns,
    columns: columns.map(({ name }) => ({ column: name, field: name })),
    body: () => [body],
    isRepeat: false,
    settings,
    ...more,
  }
}

export const isPassing = (error: unknown): boolean => error instanceof EngineError && error.kind === 'passing'

/** The statements of each kind of insert. */
export const statements = {
  withTokens: [/^INSERT/],
  throughView: [
    /^SELECT name, type, default_kind, .* FROM system\.columns/,
    /^CREATE TABLE .*_rows` \(/,
    /^CREATE MATERIALIZED VIEW .*_view` TO/,
    /^INSERT INTO .*_rows` \/\* batch .* FORMAT/,
    /^SELECT count\(\) AS fences/,
    /^EXISTS TABLE .*_view`/,
  ],
  staged: [
    /^CREATE TABLE .*_rows` \(/,
    /^INSERT INTO .*_rows` .* SELECT 1/,
    /^INSERT INTO .*_rows` .* FORMAT/,
    new RegExp(`^INSERT INTO .* SELECT .* '${markerOf('a')}' FROM`),
    /^SELECT count\(\) AS fences/,
    /^SELECT count\(\) AS staged/,
  ],
  /** Additional statements of a repeated insert. */
  ofRepeat: [
    /^INSERT INTO .*_fence`/,
    /^SELECT name, .* FROM system\.tables/,
    /^DROP TABLE/,
    /^SELECT .* FROM system\.processes/,
    /^CREATE TABLE .*_typed` AS/,
    /^INSERT INTO .*_typed` /,
  ],
}

export const kinds = [
  { kind: 'with tokens', hasTokens: true, hasExpression: false },
  { kind: 'without tokens', hasTokens: false, hasExpression: false },
  { kind: 'without tokens, for a table that computes a column,', hasTokens: false, hasExpression: true },
]

/** An engine with or without tokens, and sinks on it. Starts the engine before the first test. */
export function openSinkWorld({ hasTokens, hasExpression }: (typeof kinds)[number]) {
  /** Assigned before the first test; `paper` is the same engine as a PaperEngine. */
  const world = { engine: {} as TestEngine, paper: {} as PaperEngine }
  const isThroughView = !hasTokens && !hasExpression
  let tables = 0
  let epochs = 0

  before(async () => {
    if (hasTokens) world.engine = await openEmbeddedEngine()
    else world.engine = world.paper = await startPaperEngine()
  })
  after(() => world.engine.close())

  async function newTable(more: Partial<EngineTable> = {}): Promise<EngineTable> {
    tables += 1
    if (hasExpression) {
      await world.engine.run(
        `CREATE TABLE events_${tables} (id UInt64, day Date, note String, odd UInt8 DEFAULT modulo(id, 2), ` +
          '_penstock_batch String) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY id',
      )
    }
    const definition = { engine: { type: 'MergeTree' as const }, partitionBy: 'toYYYYMM(day)', sortingKey: ['id'] }
    return { database: world.engine.database, table: `events_${tables}`, columns, definition, ...more }
  }

  function open(table: EngineTable): Promise<Sink> {
    const { protocol, host, port, username, password } = world.engine
    const access = { protocol, host, port, username, password: new Secret(password) }
    epochs += 1
    return openSink(egress, access, table, { pipeId, workerIndex: 0, epoch: epochs }, { signal: never })
  }

  async function withSink(table: EngineTable, use: (sink: Sink) => Promise<unknown>): Promise<void> {
    const sink = await open(table)
    try {
      await use(sink)
    } finally {
      await sink.close()
    }
  }

  const ids = async ({ table }: EngineTable) => (await world.engine.rows(table)).map(({ id }) => id)
  const tablesBeside = async ({ table }: EngineTable) =>
    (await world.engine.listTables()).filter((name) => name.startsWith(`${table}_`))

  return Object.assign(world, { newTable, open, withSink, ids, tablesBeside, isThroughView })
}
