// Looks at the catalog of the source while its log is followed: a table that is replaced, a publication that is changed and a partition
// that is attached are not in the log.
import type { DescribedSource, DescribedTable } from '../../sources/postgres/postgres-describe.ts'
import { tableName } from '../../sources/postgres/postgres-words.ts'
import { type FailureCode, ProbeFailure, SourceChanged } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import { classifyFailure } from '../classify-failure.ts'
import type { Replication } from './replication.ts'
import { checkChange, keepShape } from './table-change.ts'
import { coverageOf, lossOf, replicationNames } from './table-coverage.ts'
import { isCopy } from './table-plan.ts'
import type { StoredShape } from './table-store.ts'
import type { Target } from './target.ts'
import { type Targets, tableOf } from './targets.ts'

/** Of `lookAgainMs`: once a minute. */
const looksBetween = 60
/** Findings about the tables. Other failures, such as a lack of connections, do not hinder those who follow. */
const findings: readonly FailureCode[] = ['not_found', 'not_set_up']

/** One that fails may be followed by one that does not. */
const mostFailedLooks = 3

/** Why the catalog cannot be looked at, for as long as it cannot: everything else may go well. */
export interface Sight {
  blindness: string | undefined
}

/** Rejects when what is followed is not what the mappings mean any more: the next attempt opens the targets again. */
export async function watchSource(replication: Replication, targets: Targets, sight: Sight): Promise<void> {
  const { access, surroundings, stopping, signal, times, status } = replication
  let failedLooks = 0
  const ended = AbortSignal.any([stopping, signal])
  for (;;) {
    await pause(looksBetween * times.lookAgainMs, ended)
    if (ended.aborted) return
    const known = new Map(targets.all.map((target) => [target, target.stored.shape]))
    const looking = access.describe({ ...surroundings, signal: ended }, replicationNames(replication))
    const described = await looking.catch((error: unknown) => {
      if (ended.aborted) return undefined
      if (error instanceof ProbeFailure && error.step === 'describe' && findings.includes(error.code)) throw error
      if (++failedLooks >= mostFailedLooks) {
        sight.blindness = blindnessOf(replication, error)
        status.degrade(sight.blindness)
      }
      return undefined
    })
    if (!described) continue
    await compare(replication, targets, { described, known })
    failedLooks = 0
    if (sight.blindness !== undefined) status.well()
    sight.blindness = undefined
  }
}

function blindnessOf({ parts: { pipe } }: Replication, error: unknown): string {
  const trouble = classifyFailure(error, pipe)
  const reason = trouble && 'reason' in trouble ? trouble.reason : 'the catalog of the source cannot be read'
  return `${reason}; changes of publications, partitions and types are not noticed`
}

interface Look {
  described: DescribedSource
  /** The shape that was stored before the look. */
  known: ReadonlyMap<Target, StoredShape | null>
}

async function compare(replication: Replication, targets: Targets, { described, known }: Look): Promise<void> {
  const replaced = new Set(targets.all.map(({ stored }) => stored.replaces))
  for (const target of [...targets.all]) {
    // What is missing in it comes with the load that takes its place.
    if (replaced.has(target.stored.targetTable)) continue
    const table = tableOf(described, target.mapping)
    // The stream has looked meanwhile, and has seen more.
    if (known.get(target) !== target.stored.shape) continue
    checkChange(replication, targets.parts, target, table)
    checkNames(target, table)
    const loss = lossOf(replication, table, target.stored)
    if (loss !== undefined) throw new SourceChanged(`${loss}; ${consequenceOf(target)}`)
    await keepShape(replication, targets.parts, target, table)
    await keepCoverage(replication, target, coverageOf(table))
  }
}

function consequenceOf({ mapping }: Target): string {
  return isCopy(mapping) ? 'the table is loaded again' : 'these changes are missing'
}

/** Whoever opens the target says what the user is to do. */
function checkNames({ stored, mapping }: Target, { columns }: DescribedTable): void {
  const names = new Map(stored.columns.map(({ number, name }) => [number, name]))
  const renamed = columns.find(({ number, name }) => (names.get(number) ?? name) !== name)
  if (!renamed) return
  const [before, now] = [names.get(renamed.number), renamed.name].map((name) => JSON.stringify(name))
  throw new SourceChanged(`the column ${before} of ${tableName(mapping)} is now called ${now}`)
}

/** Partitions that were created, which brings nothing that is not in the log. */
async function keepCoverage({ gate, tables }: Replication, target: Target, coverage: string | null): Promise<void> {
  if (target.stored.coverage === coverage) return
  await gate.run(async () => {
    target.stored = { ...target.stored, coverage }
    await tables.saveTable(target.stored)
  })
}
