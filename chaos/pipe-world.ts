// One pipe from a source into an engine, run by Penstock processes, with every part killable. Rows flow into the source all the
// time; at the end every row must be in the table as often as in the source.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineServer } from '../test/real/servers/engine.ts'
import { columns, compare, type Difference, type ExpectedRows, makeExpectedRows } from './expected-rows.ts'
import type { Feed } from './feeds.ts'
import type { Random } from './random.ts'
import { makeStage, type Stage, type StageOptions } from './stage.ts'

export interface WorldOptions extends StageOptions {
  feed: Feed
  random: Random
  /** One batch in this many has rows that every engine rejects; finding them takes time. */
  batchesWithBadRows?: number
  scaling?: object
  settings?: object
}

export interface Outcome {
  rows: Difference
  badRows: Difference
  producedRows: number
  producedBadRows: number
  inserts: number
  retries: number
  /** For a source that its reader empties: entries left. */
  left?: number
}

export interface PipeWorld extends Stage {
  feed: Feed
  expected: ExpectedRows
  table: string
  begin(): Promise<void>
  /** Produces rows until the returned function is called. */
  flow(rowsPerBatch: number): () => Promise<void>
  countRows(): Promise<number>
  /** Resolves when all produced rows have arrived, or when the timeout passes without new rows. */
  arrival(timeoutMs: number): Promise<void>
  /** Waits for the arrival, and compares. */
  drain(timeoutMs: number): Promise<Outcome>
}

const flowEveryMs = 100
const settleMs = 1_500
const mostLeft = 200

export async function makePipeWorld(options: WorldOptions): Promise<PipeWorld> {
  const { engine, database, feed, random } = options
  const stage = await makeStage({ ...options, environment: feed.environment })
  const expected = makeExpectedRows(random, options.batchesWithBadRows ?? 100)
  const table = `${database}.rows`
  const world: PipeWorld = {
    ...stage,
    get pipePath() {
      return stage.pipePath
    },
    feed,
    expected,
    table,
    begin: () => stage.createPipe(pipeOf(options)),
    flow: (rowsPerBatch) => flow(feed, expected, random, rowsPerBatch),
    countRows: () => countIn(engine, table),
    arrival: (timeoutMs) => arrival(world, timeoutMs),
    drain: (timeoutMs) => drain(world, timeoutMs),
    async close(isFailure) {
      const kept = await stage.close(isFailure)
      await feed.close()
      return kept
    },
  }
  return world
}

function pipeOf({ database, feed, scaling, settings }: WorldOptions): object {
  return {
    name: 'rows',
    source: feed.source,
    destination: {
      database,
      table: 'rows',
      columns,
      tableDefinition: { engine: { type: 'MergeTree' }, partitionBy: 'modulo(id, 3)', sortingKey: ['id'] },
    },
    settings: { streaming_max_insert_wait_ms: 500, object_storage_polling_interval_ms: 200, ...settings },
    ...(scaling ? { scaling } : {}),
  }
}

function flow(feed: Feed, expected: ExpectedRows, random: Random, rowsPerBatch: number): () => Promise<void> {
  let isFlowing = true
  const flowing = (async () => {
    while (isFlowing) {
      // On a busy machine the queue would grow as long as faults occur.
      const left = (await feed.countLeft?.()) ?? 0
      if (left < mostLeft) await feed.put(expected.next(random.between(1, rowsPerBatch)))
      await sleep(random.between(0, 2 * flowEveryMs))
    }
  })()
  return async () => {
    isFlowing = false
    await flowing
  }
}

/** Zero if the table does not exist. */
async function countIn(engine: EngineServer, table: string): Promise<number> {
  try {
    return Number(await engine.query(`SELECT count() FROM ${table}`))
  } catch (error) {
    if (error instanceof Error && /^404: Code: (?:60|81)\b/.test(error.message)) return 0
    throw new Error(`cannot count the rows of ${table}`, { cause: error })
  }
}

async function copiesIn(engine: EngineServer, sql: string): Promise<Map<string, number>> {
  const answer = await engine.query(`${sql} FORMAT JSONCompact`, undefined, {
    output_format_json_quote_64bit_integers: '1',
  })
  const { data } = JSON.parse(answer) as { data: [string, string][] }
  // A row of a file is stored with its newline.
  const copies = new Map<string, number>()
  for (const [value, count] of data) {
    const text = String(value).trimEnd()
    copies.set(text, (copies.get(text) ?? 0) + Number(count))
  }
  return copies
}

async function arrival({ engine, table, expected, feed, select }: PipeWorld, timeoutMs: number): Promise<void> {
  let best = Number.NEGATIVE_INFINITY
  let deadlineMs = 0
  for (;;) {
    const rows = await countIn(engine, table)
    const badRows = await countIn(engine, `${table}_penstock_errors FINAL`)
    const left = (await feed.countLeft?.()) ?? 0
    const [open] = await select<{ open: number | string }>('SELECT count(*) AS open FROM pipe_deliveries')
    const isThere = rows >= expected.goodRows && badRows >= expected.badRows && Number(open?.open) === 0
    if (isThere && left === 0) return
    const progress = rows + badRows - left
    if (progress > best) deadlineMs = Date.now() + timeoutMs
    else if (Date.now() > deadlineMs) return
    best = Math.max(best, progress)
    await sleep(100)
  }
}

async function drain(world: PipeWorld, timeoutMs: number): Promise<Outcome> {
  const { engine, table, expected, history } = world
  const badRowsSql = `SELECT raw, count() FROM ${table}_penstock_errors FINAL WHERE state = 'refused' GROUP BY raw`
  history.note(`${expected.goodRows} rows and ${expected.badRows} bad rows were produced; waiting for them`)
  await arrival(world, timeoutMs)
  const left = (await world.feed.countLeft?.()) ?? 0
  history.note(`${left} entries are left in the source`)
  // Duplicates may still be on their way.
  await sleep(settleMs)
  const copies = await copiesIn(engine, `SELECT id, count() FROM ${table} GROUP BY id`)
  const badCopies = expected.badRows > 0 ? await copiesIn(engine, badRowsSql) : new Map()
  const { inserts, retries } = await world.metrics()
  const outcome = {
    rows: compare(new Map([...expected.copies()].map(([id, count]) => [String(id), count])), copies),
    badRows: compare(expected.badCopies(), badCopies),
    producedRows: expected.goodRows,
    producedBadRows: expected.badRows,
    inserts,
    retries,
    left,
  }
  history.note(`outcome: ${JSON.stringify(outcome)}`)
  history.note(`metrics: ${JSON.stringify(await world.metrics())}`)
  return outcome
}
