// One measurement: every contender gets an empty table of the same kind, and its time ends when all rows are in it.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineColumn } from '../../src/engine/engine.ts'
import { markerColumn } from '../../src/engine/table-delivery.ts'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import type { CopyTask } from '../pipes-copy.ts'
import type { PeerTask } from '../pipes-peer.ts'
import { cleanEnvironment, cpuSeconds, residentMegabytes, run } from '../processes.ts'
import type { Feed, KafkaFeed, ObjectFeed } from './feeds.ts'
import { type BodyEncoding, sendAll, sendAllMarked } from './limit.ts'
import { columns, sortingKey, sumOfIds } from './orders.ts'
import { forgetPeak, peakMegabytes } from './peak-memory.ts'
import type { PeerMetrics } from './peer-tools.ts'
import type { Penstock } from './penstock.ts'

export interface Measurement {
  seconds: number
  /** Set when it differs from the rows of the case. */
  rows?: number
  /** CPU time of the process that moves the rows, all threads. Undefined for the limit, which runs in the benchmark process. */
  cpuSeconds?: number
  peakMegabytes?: number
}

export interface MemorySample {
  /** Since the pipe was created. */
  seconds: number
  rows: number
  megabytes: number
}

export interface Work<Source = Feed> {
  engine: EngineServer
  feed: Source
  rows: number
}

export const database = 'default'
const pollMs = 50
/** Polling interval while most rows are missing: polling costs the engine CPU that the limit does not lose. */
const slowPollMs = 250
const longestSilenceMs = 60_000
const peerTimeoutMs = 300_000
let tables = 0

export async function measureLimit(
  { engine, rows }: Pick<Work, 'engine' | 'rows'>,
  bodies: Buffer[],
  encoding: BodyEncoding,
): Promise<Measurement> {
  return inTable(engine, rows, async (table) => {
    await makeTable(engine, table)
    return { seconds: await sendAll(engine, table, bodies, encoding) }
  })
}

/** `bodies` are gzip. */
export async function measureMarked(
  { engine, rows }: Pick<Work, 'engine' | 'rows'>,
  bodies: Buffer[],
): Promise<Measurement> {
  return inTable(engine, rows, async (table) => {
    await makeTable(engine, table, [{ name: markerColumn, type: 'String' }])
    return { seconds: await sendAllMarked(engine, { database, table }, bodies) }
  })
}

export async function measurePeer(
  { engine, feed, rows }: Work<KafkaFeed | ObjectFeed>,
  batchRows: number,
): Promise<Measurement> {
  return inTable(engine, rows, async (table) => {
    await makeTable(engine, table)
    const { url, user } = engine
    const task: PeerTask = { feed, engine: { url, ...user }, table, rows, batchRows }
    return { ...(await runPeerProgram('pipes-peer.ts', task)), rows }
  })
}

export async function measureCopy({ engine, feed, rows }: Work<ObjectFeed>): Promise<Measurement> {
  return inTable(engine, rows, async (table) => {
    await makeTable(engine, table)
    const { url, user } = engine
    const task: CopyTask = { feed, engine: { url, ...user }, table }
    return runPeerProgram('pipes-copy.ts', task)
  })
}

export async function runPeerProgram(program: string, task: object): Promise<PeerMetrics> {
  const printed = await run(process.execPath, [join(import.meta.dirname, '..', program), JSON.stringify(task)], {
    env: cleanEnvironment(),
    timeoutMs: peerTimeoutMs,
  })
  return JSON.parse(printed) as PeerMetrics
}

/** From the request that creates the pipe until the last row is in the table. */
export async function measurePenstock(
  { engine, feed, rows }: Work,
  penstock: Penstock,
  sampled?: (sample: MemorySample) => void,
): Promise<Measurement> {
  return inTable(engine, rows, async (table) => {
    let pipePath = ''
    const measured = await measureProcess(penstock.pid, async () => {
      const beganAtMs = performance.now()
      pipePath = await penstock.createPipe(feed, engine, { database, table })
      const sample = (there: number): void =>
        sampled?.({ seconds: secondsSince(beganAtMs), rows: there, megabytes: residentMegabytes(penstock.pid) })
      await untilThere(engine, table, rows, sample).catch(async (error: Error) => {
        throw new Error(`${error.message}: ${JSON.stringify(await penstock.metrics(pipePath))}`)
      })
    })
    await penstock.deletePipe(pipePath)
    return measured
  })
}

/** Resources that a process uses during the work. */
export async function measureProcess(pid: number, work: () => Promise<void>): Promise<Measurement> {
  forgetPeak(pid)
  const cpuBefore = cpuSeconds(pid)
  const beganAtMs = performance.now()
  await work()
  return {
    seconds: secondsSince(beganAtMs),
    cpuSeconds: cpuSeconds(pid) - cpuBefore,
    peakMegabytes: peakMegabytes(pid),
  }
}

const secondsSince = (beganAtMs: number): number => (performance.now() - beganAtMs) / 1_000

/** Creates a table, lets `use` fill it with the first orders, and checks them. */
export async function inTable<Measured extends Measurement>(
  engine: EngineServer,
  rows: number,
  use: (table: string) => Promise<Measured>,
): Promise<Measured> {
  const table = `orders_${++tables}`
  const measured = await use(table)
  const there = await engine.query(`SELECT count(), sum(order_id) FROM ${table} FORMAT TabSeparated`)
  const [count, sum] = there.trim().split('\t').map(Number)
  if (count !== rows || sum !== sumOfIds(rows)) throw new Error(`${count} of ${rows} rows are in ${table}, or others`)
  await engine.query(`DROP TABLE ${table}`)
  return measured
}

async function makeTable(engine: EngineServer, table: string, more: EngineColumn[] = []): Promise<void> {
  const definitions = [...columns, ...more].map(({ name, type }) => `${name} ${type}`).join(', ')
  await engine.query(`CREATE TABLE ${table} (${definitions}) ENGINE = MergeTree ORDER BY (${sortingKey.join(', ')})`)
}

/** Reads row counts from the part metadata: counting rows would be work for the engine. */
async function untilThere(
  engine: EngineServer,
  table: string,
  rows: number,
  seen: (there: number) => void,
): Promise<void> {
  const text = `SELECT sum(rows) FROM system.parts WHERE database = '${database}' AND table = '${table}' AND active`
  let last = 0
  let changedAtMs = performance.now()
  for (;;) {
    const there = Number(await engine.query(text))
    seen(there)
    if (there >= rows) return
    if (there !== last) changedAtMs = performance.now()
    last = there
    if (performance.now() - changedAtMs > longestSilenceMs) throw new Error(`only ${there} rows have arrived`)
    await sleep(there < rows * 0.8 ? slowPollMs : pollMs)
  }
}
