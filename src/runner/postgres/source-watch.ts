// Polls the source catalog during CDC for changes that are not in the WAL: replaced tables, changed publications, attached partitions.

import type { StoredShape } from '../../progress/tables/stored-table.ts'
import { type FailureCode, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { DescribedSource, DescribedTable } from '../../sources/postgres/postgres-describe.ts'
import { tableName } from '../../sources/postgres/postgres-names.ts'
import { SourceChanged } from '../../sources/source.ts'
import { pause } from '../back-off.ts'
import { classifyFailure } from '../classify-failure.ts'
import { type Targets, tableOf } from './open-targets.ts'
import type { Replication } from './replication.ts'
import { checkChange, keepShape } from './table-change.ts'
import { coverageOf, lossOf, replicationNames } from './table-coverage.ts'
import { isCopy } from './table-plan.ts'
import type { Target } from './target.ts'

/** Times `lookAgainMs`: once a minute. */
const looksBetween = 60
/** Failures that concern the tables. Others, such as too many connections, do not stop CDC. */
const findings: readonly FailureCode[] = ['not_found', 'not_set_up']

/** Consecutive failures before they are reported. */
const mostFailedLooks = 3

export interface CatalogHealth {
  /** Why the catalog cannot be read; undefined when it can. Changes may still arrive. */
  problem: string | undefined
}

/** Rejects when the source no longer matches the mappings: the next attempt opens the targets again. */
export async function watchSource(
  replication: Replication,
  targets: Targets,
  catalogHealth: CatalogHealth,
): Promise<void> {
  const { access, connectOptions, stopping, signal, times, status } = replication
  let failedLooks = 0
  const ended = AbortSignal.any([stopping, signal])
  for (;;) {
    await pause(looksBetween * times.lookAgainMs, ended)
    if (ended.aborted) return
    const known = new Map(targets.all.map((target) => [target, target.stored.shape]))
    const looking = access.describe({ ...connectOptions, signal: ended }, replicationNames(replication))
    const described = await looking.catch((error: unknown) => {
      if (ended.aborted) return undefined
      if (error instanceof ProbeFailure && error.step === 'describe' && findings.includes(error.code)) throw error
      if (++failedLooks >= mostFailedLooks) {
        catalogHealth.problem = catalogProblemOf(replication, error)
        status.degrade(catalogHealth.problem)
      }
      return undefined
    })
    if (!described) continue
    await compare(replication, targets, { described, known })
    failedLooks = 0
    if (catalogHealth.problem !== undefined) status.well()
    catalogHealth.problem = undefined
  }
}

function catalogProblemOf({ parts: { pipe } }: Replication, error: unknown): string {
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
    // A table that is being replaced gets its missing rows with the reload.
    if (replaced.has(target.stored.targetTable)) continue
    const table = tableOf(described, target.mapping)
    // The stream has stored a newer shape since.
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

/** Opening the target reports the action that the user must take. */
function checkNames({ stored, mapping }: Target, { columns }: DescribedTable): void {
  const names = new Map(stored.columns.map(({ number, name }) => [number, name]))
  const renamed = columns.find(({ number, name }) => (names.get(number) ?? name) !== name)
  if (!renamed) return
  const [before, now] = [names.get(renamed.number), renamed.name].map((name) => JSON.stringify(name))
  throw new SourceChanged(`the column ${before} of ${tableName(mapping)} is now called ${now}`)
}

/** Stores new partitions: rows of a partition that was created empty are in the log. */
async function keepCoverage({ gate, tables }: Replication, target: Target, coverage: string | null): Promise<void> {
  if (target.stored.coverage === coverage) return
  await gate.run(async () => {
    target.stored = { ...target.stored, coverage }
    await tables.saveTable(target.stored)
  })
}
