// Checks of PostgreSQL: version, durability, write access and free connections.
import type pg from 'pg'
import { StartError } from '../lib/start-error.ts'
import { type Finding, type Issue, problem, type Report, toFinding, warning, withoutStop } from './finding.ts'
import { checkSchema } from './schema.ts'
import { type PostgresFacts, readPostgresClock, readPostgresFacts } from './store.ts'

export interface ExaminedPostgres {
  /** By how much its clock is ahead of ours, as precise as the latency allows. */
  aheadMs: number
  isServed: boolean
  isReadable: boolean
}

/** Needed for `WITH … AS MATERIALIZED`. */
const oldestVersion = 12
/** Connections of one process: 4 for writes and 2 for reads. */
const connectionsOfProcess = 6
const clockSamples = 3

/** Reports findings; undefined when PostgreSQL cannot be reached. */
export async function examinePostgres(url: string, report: Report): Promise<ExaminedPostgres | undefined> {
  const { connectOnce } = await import('../database/postgres-connect.ts')
  let client: pg.Client
  try {
    client = await connectOnce(url, { statement_timeout: 10_000, query_timeout: 15_000 })
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const remedy = 'start PostgreSQL, let this machine reach it, or correct DATABASE_URL'
    report(toFinding('database', '', [problem(withoutStop(error.message), remedy)]))
    return undefined
  }
  try {
    const facts = await readPostgresFacts(client)
    const aheadMs = await measureClock(client)
    const findings = checkFacts(facts)
    for (const finding of findings) report(finding)
    const isReadable = findings.some(({ check, verdict }) => check === 'schema' && verdict === 'ok')
    return { aheadMs, isServed: facts.ofPenstock > 0, isReadable }
  } catch (error) {
    const { code = 'the connection was lost' } = error as { code?: string }
    const remedy = 'let the user of DATABASE_URL read the tables of Penstock, and try again'
    report(toFinding('database', '', [problem(`PostgreSQL did not answer all questions (${code})`, remedy)]))
    return undefined
  } finally {
    await client.end().catch(() => undefined)
  }
}

export function checkFacts(facts: PostgresFacts): Finding[] {
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
  return toFinding('database', name, isOld ? [problem(found, `use PostgreSQL ${oldestVersion} or newer`)] : [])
}

function checkDurability({ settings }: PostgresFacts): Finding {
  const names = ['fsync', 'synchronous_commit', 'full_page_writes'] as const
  const issues: Issue[] = names
    .filter((name) => settings[name] === 'off')
    .map((name) =>
      problem(
        `${name}=off: changes that Penstock has confirmed may be lost, and it does not start`,
        `set ${name}=on in PostgreSQL`,
      ),
    )
  if (settings.data_checksums === 'off') {
    const remedy = 'stop PostgreSQL and run "pg_checksums --enable" on its data folder'
    issues.push(warning('data_checksums=off: damage on its disk goes unnoticed', remedy))
  }
  return toFinding('durability', names.map((name) => `${name}=${settings[name]}`).join(', '), issues)
}

function checkTransactions({ settings, isStandby }: PostgresFacts): Finding {
  const issues: Issue[] = []
  if (isStandby) {
    const remedy = 'let DATABASE_URL name the primary, or a name that follows it'
    issues.push(problem('the server is a standby and takes no writes', remedy))
  }
  if (settings.default_transaction_read_only === 'on') {
    const remedy = 'set default_transaction_read_only=off for the database and the user of DATABASE_URL'
    issues.push(problem('default_transaction_read_only=on: no write is taken', remedy))
  }
  const isolation = settings.default_transaction_isolation
  return toFinding('transactions', `writable; writes are read committed, whatever the default (${isolation})`, issues)
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
  if (allowed <= connectionsOfProcess) return toFinding('connections', '', [problem(found, remedy)])
  return toFinding('connections', found, free < connectionsOfProcess ? [warning(found, remedy)] : [])
}

/** Uses the sample with the shortest round trip. */
async function measureClock(client: pg.Client): Promise<number> {
  let best = { roundTripMs: Number.POSITIVE_INFINITY, aheadMs: 0 }
  for (let sample = 0; sample < clockSamples; sample++) {
    const [sentMs, sentAtMs] = [performance.now(), Date.now()]
    const databaseMs = await readPostgresClock(client)
    const roundTripMs = performance.now() - sentMs
    const aheadMs = databaseMs - (sentAtMs + roundTripMs / 2)
    if (roundTripMs < best.roundTripMs) best = { roundTripMs, aheadMs }
  }
  const certainMs = Math.max(0, Math.abs(best.aheadMs) - best.roundTripMs / 2)
  return Math.sign(best.aheadMs) * certainMs
}
