// Detects from the source catalog whether a table has missed changes since it was loaded.

import type { StoredTable } from '../../progress/tables/stored-table.ts'
import { ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { TableMapping } from '../../source-shapes/table-mappings.ts'
import {
  coverageLoss,
  coverageText,
  lostCoverageText,
  type PartitionRule,
  parseCoverage,
} from '../../sources/postgres/postgres-coverage.ts'
import type { DescribedSource, DescribedTable, ReplicationNames } from '../../sources/postgres/postgres-describe.ts'
import { plainName, tableName } from '../../sources/postgres/postgres-names.ts'
import { isFoundByPrimaryKey } from '../../sources/postgres/postgres-tables.ts'
import { SourceChanged } from '../../sources/source.ts'
import { replicationName } from './names.ts'
import type { Replication } from './replication.ts'
import { isCopy, isLogTable } from './table-plan.ts'

export function replicationNames({ source, parts: { pipe } }: Pick<Replication, 'source' | 'parts'>): ReplicationNames {
  const { replicationSlotName, publicationName } = source.settings
  const own = replicationName(pipe.id)
  return { slot: replicationSlotName ?? own, publication: publicationName ?? own }
}

export function coverageOf({ coverage }: DescribedTable): string | null {
  return coverage ? coverageText(coverage) : null
}

/** OID of the publication: a recreated one has another. */
export function publicationIdOf({ tables }: DescribedSource, publication: string): string {
  const version = tables[0]?.coverage?.publication
  if (!version) throw new SourceChanged(`the publication ${plainName(publication)} does not exist any more`)
  return version.split('/')[0]!
}

/** Why changes are missing in the table, as a clause; undefined when none are missing or it is not known. */
export function lossOf(
  replication: Pick<Replication, 'source' | 'parts'>,
  described: DescribedTable,
  stored: StoredTable,
): string | undefined {
  const { mapping, found } = described
  const name = tableName(mapping)
  const isNamesake = stored.sourceId !== null && stored.sourceId !== found.id
  if (isNamesake && !isCopy(mapping) && replication.source.settings.replicationMode === 'cdc') {
    return `another table was called ${name}, and what was in it then is not in the log`
  }
  const loss = findLoss(replication, described, stored)
  if (loss === 'partitioned') return `a partition of ${name} was attached, detached, dropped or rewritten`
  if (loss === 'identified') return `the replica identity of a partition of ${name} was changed`
  if (loss === 'interrupted') return `${name} could not be followed for a time`
  if (loss === undefined) return undefined
  const publication = plainName(replicationNames(replication).publication)
  return `the publication ${publication} was changed, and has left out changes of ${name}`
}

function findLoss(
  { source }: Pick<Replication, 'source'>,
  described: DescribedTable,
  stored: StoredTable,
): ReturnType<typeof coverageLoss> {
  const { mapping, coverage, found } = described
  if (!coverage || stored.coverage === null || stored.sourceId !== found.id) return undefined
  return coverageLoss(parseCoverage(stored.coverage), coverage, {
    partitionRule: partitionRuleOf(mapping, source.settings.replicationMode),
    needsIdentity: !isLogTable(mapping) && !isFoundByPrimaryKey(described),
  })
}

/** Runs before the publication is repaired, because the repair can hide that it was changed. */
export async function recordUnpublished(replication: Replication, { tables }: DescribedSource): Promise<void> {
  await loseCoverage(replication, 'unpublished', (mapping, stored) => {
    const described = tables.find((table) => table.mapping === mapping)
    return described !== undefined && findLoss(replication, described, stored) === 'unpublished'
  })
}

/** A setup error may have kept changes out of the log. They are still missing after the user fixes it. */
export async function recordUnfollowed(
  { source, parts: { tables } }: Pick<Replication, 'source' | 'parts'>,
  error: unknown,
): Promise<void> {
  if (!(error instanceof ProbeFailure) || error.code !== 'not_set_up' || !error.mappings) return
  const concerned = new Set(error.mappings.map((index) => source.tableMappings[index]))
  // Not the tables of the session, which may have ended.
  await loseCoverage({ source, tables }, 'interrupted', (mapping) => concerned.has(mapping))
}

async function loseCoverage(
  { tables, source }: Pick<Replication, 'tables' | 'source'>,
  why: 'unpublished' | 'interrupted',
  isLost: (mapping: TableMapping, stored: StoredTable) => boolean,
): Promise<void> {
  for (const stored of await tables.listTables()) {
    const mapping = source.tableMappings.find(
      ({ targetTable }) => targetTable === (stored.replaces ?? stored.targetTable),
    )
    if (!mapping || stored.coverage === null || !isLost(mapping, stored)) continue
    const coverage = lostCoverageText(stored.coverage, why)
    if (coverage !== stored.coverage) await tables.saveTable({ ...stored, coverage })
  }
}

function partitionRuleOf(mapping: TableMapping, replicationMode: string): PartitionRule {
  if (replicationMode === 'cdc_only') return 'none'
  return isCopy(mapping) ? 'all' : 'added'
}
