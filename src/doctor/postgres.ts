// PostgreSQL: whether it keeps what it acknowledges, lets Penstock write, and has connections left.
import type pg from 'pg'
import { StartError } from '../lib/start-error.ts'
import { type Complaint, type Finding, judge, problem, type Tell, warning, withoutStop } from './finding.ts'
import { checkSchema } from './schema.ts'
import { type PostgresFacts, readPostgresClock, readPostgresFacts } from './store.ts'

export interface ExaminedPostgres {
  /** By how much its clock is ahead of ours, as far as the way there lets us see. */
  aheadMs: number
  isServed: boolean
  isReadable: boolean
}

/** For `WITH … AS MATERIALIZED`. */
const oldestVersion = 12
/** Of one process: lanes of writes and readers. */
const connectionsOfProcess = 6
const clockLooks = 3

/** Tells what it finds; undefined when it cannot be asked. */
export async function examinePostgres(url: string, tell: Tell): Promise<ExaminedPostgres | undefined> {
  const { connectOnce } = await import('../database/postgres.ts')
  let client: pg.Client
  try {
    client = await connectOnce(url, { statement_timeout: 10_000, query_timeout: 15_000 })
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const remedy = 'start PostgreSQL, let this machine reach it, or correct DATABASE_URL'
    tell(judge('database', '', [problem(withoutStop(error.message), remedy)]))
    return undefined
  }
  try {
    const facts = await readPostgresFacts(client)
    const aheadMs = await measureClock(client)
    const findings = judgeFacts(facts)
    for (const finding of findings) tell(finding)
    const isReadable = findings.some(({ check, verdict }) => check === 'schema' && verdict === 'ok')
    return { aheadMs, isServed: facts.ofPenstock > 0, isReadable }
  } catch (error) {
    const { code = 'the connection was lost' } = error as { code?: string }
    const remedy = 'let the user of DATABASE_URL read the tables of Penstock, and try again'
    tell(judge('database', '', [problem(`PostgreSQL did not answer all questions (${code})`, remedy)]))
    return undefined
  } finally {
    await client.end().catch(() => undefined)
  }
}

export function judgeFacts(facts: PostgresFacts): Finding[] {
  return [
    checkVersion(facts),
    checkDurability(facts),
    checkTransactions(facts),
    checkConnections(facts),
    checkSchema(facts.applied),
  ]
}

function checkVersion({ settings }: PostgresFacts): Finding {
  const major = Math.floor(Number(settings.server_version_num) / 10_000)
  const name = `PostgreSQL ${settings.server_version?.split(' ')[0]}`
  const isOld = major < oldestVersion
  const found = `${name} is older than what Penstock needs (${oldestVersion})`
  return judge('database', name, isOld ? [problem(found, `use PostgreSQL ${oldestVersion} or newer`)] : [])
}

function checkDurability({ settings }: PostgresFacts): Finding {
  const names = ['fsync', 'synchronous_commit', 'full_page_writes'] as const
  const complaints: Complaint[] = names
    .filter((name) => settings[name] === 'off')
    .map((name) =>
      problem(
        `${name}=off: changes that Penstock has confirmed may be lost, and it does not start`,
        `set ${name}=on in PostgreSQL`,
      ),
    )
  if (settings.data_checksums === 'off') {
    const remedy = 'stop PostgreSQL and run "pg_checksums --enable" on its data folder'
    complaints.push(warning('data_checksums=off: damage on its disk goes unnoticed', remedy))
  }
  return judge('durability', names.map((name) => `${name}=${settings[name]}`).join(', '), complaints)
}

function checkTransactions({ settings, isStandby }: PostgresFacts): Finding {
  const complaints: Complaint[] = []
  if (isStandby) {
    const remedy = 'let DATABASE_URL name the primary, or a name that follows it'
    complaints.push(problem('the server is a standby and takes no writes', remedy))
  }
  if (settings.default_transaction_read_only === 'on') {
    const remedy = 'set default_transaction_read_only=off for the database and the user of DATABASE_URL'
    complaints.push(problem('default_transaction_read_only=on: no write is taken', remedy))
  }
  const isolation = settings.default_transaction_isolation
  return judge('transactions', `writable; writes are read committed, whatever the default (${isolation})`, complaints)
}

function checkConnections({
  settings,
  connections,
  connectionLimit = Number.POSITIVE_INFINITY,
}: PostgresFacts): Finding {
  const reserved = Number(settings.superuser_reserved_connections ?? 0) + Number(settings.reserved_connections ?? 0)
  const allowed = Math.min(Number(settings.max_connections) - reserved, connectionLimit)
  const free = Math.max(0, allowed - connections)
  const found = `${connections} of ${allowed} in use; a process of Penstock takes up to ${connectionsOfProcess}`
  const remedy =
    'raise max_connections, or the limit of the user or of the database, or end what holds connections; count 6 for each process and 1 for commands'
  if (allowed <= connectionsOfProcess) return judge('connections', '', [problem(found, remedy)])
  return judge('connections', found, free < connectionsOfProcess ? [warning(found, remedy)] : [])
}

/** The look with the shortest way is the truest. */
async function measureClock(client: pg.Client): Promise<number> {
  let best = { wayMs: Number.POSITIVE_INFINITY, aheadMs: 0 }
  for (let look = 0; look < clockLooks; look++) {
    const [sentMs, sentAtMs] = [performance.now(), Date.now()]
    const theirsMs = await readPostgresClock(client)
    const wayMs = performance.now() - sentMs
    const aheadMs = theirsMs - (sentAtMs + wayMs / 2)
    if (wayMs < best.wayMs) best = { wayMs, aheadMs }
  }
  const certainMs = Math.max(0, Math.abs(best.aheadMs) - best.wayMs / 2)
  return Math.sign(best.aheadMs) * certainMs
}
