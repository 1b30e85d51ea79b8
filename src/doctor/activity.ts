// Checks of activity seals, pipe states and runners.
import { findUnsealed, readActivityRows } from '../activities/store.ts'
import type { Sql } from '../database/sql.ts'
import { timeOfId } from '../lib/id.ts'
import { findSealedUpTo } from '../organizations/store.ts'
import { listPipesToRun } from '../pipes/store.ts'
import type { PipeState } from '../progress/pipe-state.ts'
import { listRunners } from '../progress/runners/store.ts'
import { type Finding, type Issue, plural, printable, problem, toFinding, warning } from './finding.ts'
import { countPipesByState, listTroubledPipes } from './store.ts'

/** Normally activities are sealed within seconds. */
const sealedWithinMs = 600_000
const organizationsAtOnce = 500
const aboveAllIds = 'g'
const mostNamed = 3
/** Runners report every 5 seconds. */
const seenWithinMs = 30_000

export async function checkAuditChain(sql: Sql, nowMs: number): Promise<Finding> {
  let organizations = 0
  let oldestMs = nowMs
  for (let after: string | undefined = ''; after !== undefined; ) {
    const { unsealed, last } = await findUnsealed(sql, after, organizationsAtOnce)
    organizations += unsealed.length
    for (const organizationId of unsealed) oldestMs = Math.min(oldestMs, await oldestUnsealed(sql, organizationId))
    after = last
  }
  const isLate = nowMs - oldestMs > sealedWithinMs
  const found = `activities of ${plural(organizations, 'organization')} wait for their seal`
  const remedy =
    'start Penstock, which seals them; if it runs, look for "activities could not be sealed" in its log, then run "penstock audit verify"'
  const issues = isLate ? [warning(`${found}, the oldest since ${new Date(oldestMs).toISOString()}`, remedy)] : []
  return toFinding('audit chain', organizations === 0 ? 'every activity is sealed' : `${found}, not for long`, issues)
}

async function oldestUnsealed(sql: Sql, organizationId: string): Promise<number> {
  const after = (await findSealedUpTo(sql, organizationId)) ?? ''
  for await (const { id } of readActivityRows(sql, { organizationId, after, upTo: aboveAllIds, rows: 1 })) {
    return timeOfId(id)
  }
  // Sealed between the two queries.
  return Number.POSITIVE_INFINITY
}

export async function checkPipes(sql: Sql): Promise<Finding> {
  const counts = await countPipesByState(sql)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const states = [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
  const found = total === 0 ? 'none' : `${plural(total, 'pipe')}: ${states}`
  const troubled = await listTroubledPipes(sql, mostNamed)
  const [first] = troubled
  if (!first) return toFinding('pipes', found, [])
  const inTrouble = (['Failed', 'Degraded', 'InternalError'] satisfies PipeState[])
    .map((state) => counts.get(state) ?? 0)
    .reduce((sum, count) => sum + count, 0)
  const named = troubled.map(({ id, name, state }) => `${printable(name)} ${id} is ${state}`).join(', ')
  const more = inTrouble > troubled.length ? ` and ${inTrouble - troubled.length} more are in trouble` : ''
  const remedy =
    'read stateReason of the pipe (in the console, or with "penstock call getPipeMetrics"), fix the cause, and start it again'
  return toFinding('pipes', '', [warning(`${found}; ${named}${more}`, remedy)])
}

/** `isServed`: whether Penstock processes use this database; undefined when unknown. */
export async function checkRunners(sql: Sql, nowMs: number, isServed: boolean | undefined): Promise<Finding> {
  const runners = await listRunners(sql, new Date(nowMs - seenWithinMs).toISOString())
  const waiting = await listPipesToRun(sql)
  const found = `${plural(runners.length, 'process runs', 'processes run')} pipes; ${waiting.length} to run`
  const issues: Issue[] = []
  if (runners.length === 0 && waiting.length > 0) {
    const nobody = `no process runs pipes, and ${plural(waiting.length, 'pipe waits', 'pipes wait')}`
    issues.push(
      isServed
        ? problem(`${nobody} while Penstock is at work`, 'start a process with --role runner, or one without --role')
        : warning(nobody, 'start Penstock'),
    )
  }
  return toFinding('runners', found, issues)
}
