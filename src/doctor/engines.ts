// Health check of the engines of all services, like the server's.
import type { Sql } from '../database/sql.ts'
import { checkEngine, type EngineCheck, type EngineFailure } from '../engine/check.ts'
import type { Egress } from '../lib/egress.ts'
import type { Vault } from '../lib/vault.ts'
import { listPipesToRun } from '../pipes/store.ts'
import { engineAccess } from '../services/engine-access.ts'
import { type Finding, type Issue, plural, printable, problem, toFinding, warning } from './finding.ts'
import { listEngines } from './store.ts'

const atOnce = 20
const timeoutMs = 10_000
const servicesAtOnce = 500
const mostListed = 20

type Engine = Awaited<ReturnType<typeof listEngines>>[number]
type Failed = { failure: EngineFailure | 'unopened'; reason: string }

const toReach = 'start the engine, let this machine reach it, or correct endpoint.url of the service'
const remedies: Record<EngineFailure | 'unopened', string> = {
  refused: toReach,
  unreachable: toReach,
  'timed out': toReach,
  'not an engine': 'correct endpoint.url of the service: it must be the HTTP port of ClickHouse',
  authentication: 'set endpoint.username and endpoint.password of the service again',
  'engine error': 'look at the log of the engine',
  denied: 'correct endpoint.url of the service, or allow the address',
  unopened: 'set endpoint.password of the service again',
}

/** One finding for all engines that answer, and one for each that does not: a problem if pipes need it, otherwise a warning. */
export async function checkEngines(sql: Sql, vault: Vault, egress: Egress): Promise<Finding[]> {
  const needed = new Set((await listPipesToRun(sql)).map(({ serviceId }) => serviceId))
  const versions: string[] = []
  const issues: Issue[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const some: Engine[] = await listEngines(sql, after, servicesAtOnce)
    await inParallel(some, async (engine) => {
      const outcome = await ask(vault, egress, engine)
      if ('version' in outcome) versions.push(outcome.version)
      else issues.push(issueOf(engine, outcome, needed.has(engine.id)))
    })
    after = some.at(-1)?.id
  }
  const asked = versions.length + issues.length
  if (asked === 0) return [toFinding('engines', 'no service is registered', [])]
  // Engines that pipes need come first, so that they are listed.
  issues.sort((one, other) => one.verdict.localeCompare(other.verdict))
  const findings = issues.slice(0, mostListed).map((issue) => toFinding('engines', '', [issue]))
  const unnamed = issues.length - findings.length
  if (unnamed > 0)
    findings.push(toFinding('engines', '', [warning(`${unnamed} more of ${asked} engines do not answer`, toReach)]))
  if (versions.length > 0) {
    const seen = [...new Set(versions)].sort().join(', ')
    findings.push(toFinding('engines', `${versions.length} of ${plural(asked, 'engine')} answered (${seen})`, []))
  }
  return findings
}

function issueOf({ id, name }: Engine, { failure, reason }: Failed, isNeeded: boolean): Issue {
  const found = `service ${printable(name)} ${id}: ${reason}`
  return isNeeded ? problem(found, remedies[failure]) : warning(found, remedies[failure])
}

async function ask(vault: Vault, egress: Egress, engine: Engine): Promise<EngineCheck | Failed> {
  const access = engineAccess(vault, engine)
  if (typeof access === 'string') return { failure: 'unopened', reason: 'its stored password cannot be opened' }
  return checkEngine(egress, access, { timeoutMs })
}

async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items]
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  })
  await Promise.all(workers)
}
