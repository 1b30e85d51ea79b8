// Changes of PostgreSQL: a WAL is filled without readers, then each contender reads it from its own replication slot. Half of the
// changes are inserts; the others update the rows of the previous transaction.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import type { PostgresPeerTask } from '../pipes-peer-postgres.ts'
import { database, type Measurement, measureProcess, runPeerProgram } from './measure.ts'
import { sumOfIds } from './orders.ts'
import type { Penstock } from './penstock.ts'
import {
  changedStatus,
  makeOrders,
  makeReplica,
  ordersText,
  type PostgresFeed,
  type PostgresFeedServer,
} from './postgres-feed.ts'
import { readLog } from './postgres-limit.ts'

const changesPerTransaction = 1_000
const rowsPerTransaction = changesPerTransaction / 2
const lookEveryMs = 50
const longestMs = 300_000

export interface ChangesParts {
  source: PostgresFeedServer
  engine: EngineServer
  penstock: Penstock
  changes: number
  /** Other readers of the WAL: each has a replication slot. */
  readers: string[]
}

/** WAL of one round. */
export interface FilledLog {
  measurePenstock(): Promise<Measurement>
  measurePeer(reader: string, batchRows: number): Promise<Measurement>
  measureLimit(reader: string): Promise<Measurement>
  forget(): Promise<void>
}

export async function fillLog(parts: ChangesParts, round: number): Promise<FilledLog> {
  const { source, engine, penstock, changes, readers } = parts
  const transactions = Math.ceil(changes / changesPerTransaction)
  const table = `changes_${round}`
  const feed = source.feed(table)
  const publication = `others_${round}`
  const slotOf = (reader: string): string => `${reader.replaceAll('-', '_')}_${round}`
  await makeOrders(source, table, rowsPerTransaction)
  await source.query(`CREATE PUBLICATION ${publication} FOR TABLE ${table}`)
  for (const reader of readers) {
    await source.query(`SELECT pg_create_logical_replication_slot('${slotOf(reader)}', 'pgoutput')`)
  }
  const target = { database, table: `penstock_${table}` }
  const pipePath = await penstock.createPipe(feed, engine, target)
  await penstock.untilState(pipePath, ['Running'])
  await penstock.command(pipePath, 'stop')
  await penstock.untilState(pipePath, ['Paused'])
  await source.query(transactionsText(table, transactions))
  const [at] = await source.query('SELECT pg_current_wal_lsn()::text AS lsn')
  const expected = { engine, rows: (transactions + 1) * rowsPerTransaction }
  return {
    async measurePenstock() {
      const measured = await measureProcess(penstock.pid, async () => {
        await penstock.command(pipePath, 'start')
        await untilChanged(target.table, expected).catch(async (error: Error) => {
          throw new Error(`${error.message}: ${JSON.stringify(await penstock.metrics(pipePath))}`)
        })
      })
      await penstock.deletePipe(pipePath)
      await engine.query(`DROP TABLE ${target.table}`)
      return measured
    },
    measurePeer: (reader, batchRows) =>
      measurePeer({ feed, slot: slotOf(reader), publication, changes, batchRows }, `peer_${table}`, expected),
    measureLimit: (reader) => readLog(feed, { slot: slotOf(reader), publication, end: String(at?.lsn) }),
    async forget() {
      for (const reader of readers) await source.query(`SELECT pg_drop_replication_slot('${slotOf(reader)}')`)
      await source.query(`DROP PUBLICATION ${publication}; DROP TABLE ${table}`)
    },
  }
}

/** The statement commits each transaction. */
function transactionsText(table: string, transactions: number): string {
  const idAt = (transaction: string): string => `(${transaction}) * ${rowsPerTransaction}`
  return `
    DO $$ BEGIN
      FOR done IN 1..${transactions} LOOP
        UPDATE ${table} SET status = '${changedStatus}', quantity = quantity + 1
          WHERE order_id >= ${idAt('done - 1')} AND order_id < ${idAt('done')};
        INSERT INTO ${table} ${ordersText(idAt('done'), idAt('done + 1'))};
        COMMIT;
      END LOOP;
    END $$`
}

interface Expected {
  engine: EngineServer
  /** The rows of all transactions but the last are updated. */
  rows: number
}

async function measurePeer(
  task: Omit<PostgresPeerTask, 'engine' | 'table'> & { feed: PostgresFeed },
  table: string,
  expected: Expected,
): Promise<Measurement> {
  const { engine } = expected
  await makeReplica(engine, table)
  const whole: PostgresPeerTask = { ...task, engine: { url: engine.url, ...engine.user }, table }
  const measured = await runPeerProgram('pipes-peer-postgres.ts', whole)
  if (!(await isChanged(table, expected))) throw new Error('the table of the peer differs from the source')
  await engine.query(`DROP TABLE ${table}`)
  return measured
}

async function untilChanged(table: string, expected: Expected): Promise<void> {
  const { engine, rows } = expected
  const deadlineMs = Date.now() + longestMs
  // Checks the last row first: reading all rows would be work for the engine.
  const last = `SELECT count() FROM ${table} WHERE order_id = ${rows - 1}`
  while (Number(await engine.query(last)) === 0 || !(await isChanged(table, expected))) {
    if (Date.now() > deadlineMs) throw new Error('the changes have not arrived')
    await sleep(lookEveryMs)
  }
}

async function isChanged(table: string, { engine, rows }: Expected): Promise<boolean> {
  const found = await engine.query(
    `SELECT count(), sum(order_id), sum(status = '${changedStatus}') FROM ${table} FINAL FORMAT TabSeparated`,
  )
  return found.trim() === [rows, sumOfIds(rows), rows - rowsPerTransaction].join('\t')
}
