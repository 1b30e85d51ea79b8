// Age of changes when they become readable in the engine: during 20,000 changes per second, inserts an order every 100 ms and
// polls for it.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { database } from './measure.ts'
import type { Penstock } from './penstock.ts'
import { changedStatus, makeOrders, ordersText, type PostgresFeedServer } from './postgres-feed.ts'

export interface Lag {
  changesPerSecond: number
  seconds: number
  p50Seconds: number
  p99Seconds: number
  mostSeconds: number
}

export interface LagParts {
  source: PostgresFeedServer
  engine: EngineServer
  penstock: Penstock
  seconds: number
}

const changesPerSecond = 20_000
const changesPerTransaction = 200
const rowsPerTransaction = changesPerTransaction / 2
const probeEveryMs = 100
const lookEveryMs = 20
const longestWaitMs = 30_000
/** Above all other orders. */
const firstProbe = 1_000_000_000
const table = 'lag_orders'

export async function measureLag({ source, engine, penstock, seconds }: LagParts): Promise<Lag> {
  await makeOrders(source, table, rowsPerTransaction)
  const pipePath = await penstock.createPipe(source.feed(table), engine, { database, table })
  await penstock.untilState(pipePath, ['Running'])
  const endMs = performance.now() + seconds * 1_000
  const insertedAtMs: number[] = []
  const beganAtMs = performance.now()
  const [written, , lagsMs] = await Promise.all([
    writeChanges(source, endMs),
    insertProbes(source, endMs, insertedAtMs),
    watchProbes(engine, endMs, insertedAtMs),
  ])
  await penstock.deletePipe(pipePath)
  await engine.query(`DROP TABLE ${table}`)
  await source.query(`DROP TABLE ${table}`)
  const sorted = lagsMs.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1]! / 1_000
  return {
    changesPerSecond: (written.changes * 1_000) / (written.endedAtMs - beganAtMs),
    seconds,
    p50Seconds: at(0.5),
    p99Seconds: at(0.99),
    mostSeconds: at(1),
  }
}

async function writeChanges(
  source: PostgresFeedServer,
  endMs: number,
): Promise<{ changes: number; endedAtMs: number }> {
  return withClient(source, async (client) => {
    const beganAtMs = performance.now()
    let transactions = 0
    while (performance.now() < endMs) {
      const dueMs = beganAtMs + (transactions * changesPerTransaction * 1_000) / changesPerSecond
      if (dueMs > performance.now()) await sleep(dueMs - performance.now())
      transactions++
      const [begin, middle, end] = [transactions - 1, transactions, transactions + 1].map((n) => n * rowsPerTransaction)
      // Several statements in one query are one transaction.
      await client.query(
        `UPDATE ${table} SET status = '${changedStatus}' WHERE order_id >= ${begin} AND order_id < ${middle};
         INSERT INTO ${table} ${ordersText(String(middle), String(end))}`,
      )
    }
    return { changes: transactions * changesPerTransaction, endedAtMs: performance.now() }
  })
}

async function insertProbes(source: PostgresFeedServer, endMs: number, insertedAtMs: number[]): Promise<void> {
  await withClient(source, async (client) => {
    const beganAtMs = performance.now()
    while (performance.now() < endMs) {
      const dueMs = beganAtMs + insertedAtMs.length * probeEveryMs
      if (dueMs > performance.now()) await sleep(dueMs - performance.now())
      const number = firstProbe + insertedAtMs.length
      // Before sending: the time that PostgreSQL needs counts too.
      insertedAtMs.push(performance.now())
      await client.query(`INSERT INTO ${table} ${ordersText(String(number), String(number + 1))}`)
    }
  })
}

/** Lag of each probe, in insert order. */
async function watchProbes(engine: EngineServer, endMs: number, insertedAtMs: number[]): Promise<number[]> {
  const lagsMs: number[] = []
  while (performance.now() < endMs || lagsMs.length < insertedAtMs.length) {
    if (performance.now() > endMs + longestWaitMs) throw new Error('some changes have not arrived')
    const next = firstProbe + lagsMs.length
    const found = Number(await engine.query(`SELECT max(order_id) FROM ${table} WHERE order_id >= ${next}`))
    const seenAtMs = performance.now()
    for (let number = next; number <= found; number++) lagsMs.push(seenAtMs - insertedAtMs[number - firstProbe]!)
    await sleep(lookEveryMs)
  }
  return lagsMs
}

async function withClient<Result>(
  source: PostgresFeedServer,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const { host, port, database: name, username: user, password } = source.feed(table)
  const client = new pg.Client({ host, port, database: name, user, password })
  // Without a listener, a connection lost between two queries would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end()
  }
}

export function lagText({ changesPerSecond: rate, seconds, p50Seconds, p99Seconds, mostSeconds }: Lag): string {
  return (
    `${Math.round(rate).toLocaleString('en')} changes/s for ${seconds} s in transactions of ${changesPerTransaction}, ` +
    `with \`syncIntervalSeconds\` 1: a change can be read in the engine after ${p50Seconds.toFixed(2)} s (p50), ` +
    `${p99Seconds.toFixed(2)} s (p99), ${mostSeconds.toFixed(2)} s (most).`
  )
}
