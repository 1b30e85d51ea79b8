// Changes tables continuously: small and large transactions, some rolled back completely or to a savepoint, some concurrent. Only
// the content of the tables at the end counts, so a commit that is unknown after a crash does not matter.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { SourceServer } from './postgres-server.ts'
import type { SourceTable } from './postgres-tables.ts'
import type { Random } from './random.ts'

export interface Writer {
  /** Number of committed changes, as far as known. */
  readonly changes: number
  /** Resolves when writing has stopped. Rejects with the error that stopped it. */
  stop(): Promise<void>
}

export interface WriterOptions {
  server: SourceServer
  database: string
  tables: readonly SourceTable[]
  random: Random
}

const mostChanges = 50
const pauseMs = 60
/** Each of these occurs once early, so that a short run has it too, and rarely afterwards. */
const [firstTruncation, firstLarge] = [40, 25]
const shareOfRare = 0.004
const awayTimeoutMs = 60_000

export function startWriter({ server, database, tables, random }: WriterOptions): Writer {
  let isWriting = true
  let changes = 0
  const sessions = [makeSession(server, database), makeSession(server, database)]

  const writing = (async () => {
    for (let number = 0; isWriting; number++) {
      const atOnce = random.happens(0.2) ? sessions : sessions.slice(0, 1)
      const counts = await Promise.all(atOnce.map((session) => session.run(transaction(tables, random, number))))
      for (const count of counts) changes += count
      await sleep(random.between(0, 2 * pauseMs))
    }
  })()
  // `stop` reports the error.
  writing.catch(() => undefined)
  return {
    get changes() {
      return changes
    },
    async stop() {
      isWriting = false
      await writing.finally(() => Promise.all(sessions.map((session) => session.end())))
    },
  }
}

/** Steps of a transaction. Each is sent after the previous one is done, so that two transactions can interleave. */
function transaction(tables: readonly SourceTable[], random: Random, number: number): string[] {
  const table = random.pick(tables)
  if (number === firstTruncation || random.happens(shareOfRare)) {
    const truncated = random.pick(tables.filter(({ mayTruncate }) => mayTruncate))
    return ['BEGIN', table.change(random), `TRUNCATE ${truncated.name}`, truncated.change(random), 'COMMIT']
  }
  if (number === firstLarge || random.happens(shareOfRare)) return ['BEGIN', table.changeMany(random), 'COMMIT']
  const some = (most: number): string =>
    Array.from({ length: random.between(1, most) }, () => random.pick(tables).change(random)).join(';\n')
  if (random.happens(0.15)) {
    const back = random.pick(['ROLLBACK TO here', 'RELEASE here'])
    return ['BEGIN', some(10), 'SAVEPOINT here', some(10), back, some(10), 'COMMIT']
  }
  return ['BEGIN', some(mostChanges / 2), some(mostChanges / 2), random.happens(0.1) ? 'ROLLBACK' : 'COMMIT']
}

interface Session {
  /** Returns the number of changed rows; 0 after a rollback. */
  run(steps: string[]): Promise<number>
  end(): Promise<void>
}

function makeSession(server: SourceServer, database: string): Session {
  let client: pg.Client | undefined

  const connected = async (): Promise<pg.Client> => {
    const deadlineMs = Date.now() + awayTimeoutMs
    while (!client) {
      try {
        client = await server.connect(database)
        await client.query("SET lock_timeout = '2s'; SET TimeZone = 'UTC'")
      } catch (error) {
        client = undefined
        if (Date.now() > deadlineMs) throw new Error('PostgreSQL did not restart', { cause: error })
        await sleep(100)
      }
    }
    return client
  }
  const end = async (): Promise<void> => {
    const ended = client
    client = undefined
    await ended?.end().catch(() => undefined)
  }

  return {
    async run(steps) {
      const open = await connected()
      try {
        let changes = 0
        for (const step of steps) {
          const results = [(await open.query(step)) as pg.QueryResult | pg.QueryResult[]].flat()
          for (const { rowCount } of results) changes += rowCount ?? 0
        }
        return steps.at(-1) === 'COMMIT' ? changes : 0
      } catch (error) {
        // A deadlock or a duplicate key rolls back one transaction.
        if (!isUndone(error)) await end()
        else await open.query('ROLLBACK').catch(end)
        return 0
      }
    },
    end,
  }
}

function isUndone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^(?:22|42)/.test(code)) throw new Error('a statement of the drill is invalid', { cause: error })
  return /^(?:23|40|55)/.test(code)
}
