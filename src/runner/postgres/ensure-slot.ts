// Checks and creates the replication slot of a pipe. When a slot is gone or has lost WAL, changes are lost: the tables are reloaded,
// unless the pipe does CDC only.

import type { StoredPosition } from '../../progress/delivery.ts'
import { PostgresError, type PostgresLink } from '../../sources/postgres/postgres-link.ts'
import { createSlotStatement, plainName, tableName } from '../../sources/postgres/postgres-names.ts'
import { advanceSlot, createSlot, dropSlot, findSlotState } from '../../sources/postgres/postgres-slot.ts'
import { SourceChanged } from '../../sources/source.ts'
import { Unrecoverable } from '../classify-failure.ts'
import { zeroCounters } from '../counters.ts'
import type { WorkerStore } from '../worker.ts'
import { originPartition, publicationPartition, timelinePartition, walPartition } from './names.ts'
import type { Replication } from './replication.ts'
import { reportBlocker } from './slot-wait.ts'
import { LogLost } from './stream.ts'
import { replicationNames } from './table-coverage.ts'
import { isCopy } from './table-plan.ts'
import type { TableStore } from './table-store.ts'
import { unknownTimeline } from './timeline.ts'

/** SQLSTATE of a publication or a slot that does not exist. */
const undefinedObject = '42704'
/** Stored in place of the id of a publication that the slot cannot read. */
const unknownPublication = '0'

/** Reloads everything when the source is another server or database: an LSN means nothing there. */
export async function checkOrigin({ source, parts, store, tables }: Replication, wal: PostgresLink): Promise<void> {
  const [system] = await wal.query('IDENTIFY_SYSTEM')
  const origin = `${system?.[0]}/${system?.[3]}`
  const known = (await store.listPositions()).find(({ partition }) => partition === originPartition)?.position
  if (known === origin) return
  const positions = [
    { partition: originPartition, position: origin },
    { partition: timelinePartition, position: unknownTimeline },
  ]
  if (known === undefined) return store.setPositions(positions)
  if (source.settings.replicationMode !== 'cdc_only') {
    parts.log.warn('the source is another one; its tables are reloaded', { pipeId: parts.pipe.id })
    await tables.requestReload([])
  }
  await forgetPosition(store, '0/0', positions)
}

export interface SlotParts {
  link: PostgresLink
  wal: PostgresLink
  /** OID of the publication. */
  publicationId: string
  isPublicationNew: boolean
}

/**
 * Makes the slot ready. A missing slot or publication means lost changes: a slot cannot read what was written while its publication
 * did not exist. Then the tables are reloaded.
 */
export async function ensureSlot(replication: Replication, kept: SlotParts): Promise<void> {
  const { source, store, tables } = replication
  const { link, wal, publicationId } = kept
  const { slot, publication } = replicationNames(replication)
  const { replicationSlotName, replicationMode, enableFailoverSlots } = source.settings
  const state = await findSlotState(link, slot)
  const positions = [{ partition: publicationPartition, position: publicationId }]
  const known = (await store.listPositions()).find(({ partition }) => partition === publicationPartition)?.position
  const isReadable = known === undefined ? !kept.isPublicationNew : known === publicationId
  if (state === 'there' && isReadable) return known === undefined ? store.setPositions(positions) : undefined
  const isGap = (await tables.listTables()).length > 0
  if (replicationSlotName !== undefined) {
    if (state !== 'there') {
      throw new Unrecoverable(`the replication slot ${slot} is gone, or has lost changes that it had not given out yet`)
    }
    if (isGap && replicationMode !== 'cdc_only') {
      await reloadCopies(replication, `the publication ${plainName(publication)} was dropped`)
    }
    // WAL written without the publication cannot be read. The slot is the user's, so it is advanced and not recreated.
    await forgetPosition(store, await advanceSlot(link, slot), [
      ...positions,
      { partition: timelinePartition, position: unknownTimeline },
    ])
    if (isGap && replicationMode === 'cdc_only') throw await publicationGone(tables, publication)
    return
  }
  if (isGap && replicationMode === 'cdc_only' && state !== 'there') throw slotGone(slot)
  if (isGap && replicationMode !== 'cdc_only') {
    // Before a new slot exists: the next attempt could not detect the gap.
    await reloadCopies(
      replication,
      state === 'there'
        ? `the publication ${plainName(publication)} was dropped`
        : `the replication slot ${slot} was lost`,
    )
  }
  if (state !== 'missing') await dropSlot(link, slot)
  const create = (): Promise<string> => createSlot(wal, slot, { isFailover: enableFailoverSlots })
  const position = await reportBlocker(replication, wal, create, (reason) => replication.status.degrade(reason))
  // Changes before this LSN come with the reload.
  await forgetPosition(store, position, [...positions, { partition: timelinePartition, position: unknownTimeline }])
  if (isGap && replicationMode === 'cdc_only') throw await publicationGone(tables, publication)
}

/** Log tables are kept, because a reload lacks their history. Their losses are reported until the pipe is started again. */
async function reloadCopies(
  { tables, store, source, parts }: Pick<Replication, 'tables' | 'store' | 'source' | 'parts'>,
  reason: string,
): Promise<void> {
  parts.log.warn('the tables are reloaded', { pipeId: parts.pipe.id, reason })
  const logs = new Set(source.tableMappings.filter((one) => !isCopy(one)).map(({ targetTable }) => targetTable))
  const request = await tables.findReloadRequest()
  const kept = (await tables.listTables()).filter(
    ({ targetTable, phase, replaces, reloadRequestedAt }) =>
      logs.has(targetTable) && phase === 'following' && replaces === null && reloadRequestedAt === request,
  )
  const losses = kept.map((table) => ({ reason: `${reason}, and with it changes of ${tableName(table)}` }))
  if (losses.length > 0) await store.keepLosses({ positions: [], losses })
  await tables.requestReload(kept.map(({ targetTable }) => targetTable))
}

/** The user sees the error and starts the pipe again to accept the loss. */
async function publicationGone(tables: TableStore, publication: string): Promise<Unrecoverable> {
  // This error reports the loss; without coverage it is not reported again.
  for (const table of await tables.listTables()) await tables.saveTable({ ...table, coverage: null })
  return new Unrecoverable(
    `the publication ${plainName(publication)} was dropped, and with it the changes until it was created again; ` +
      'start the pipe to go on without these changes, or make one with the replicationMode cdc, which loads the tables',
  )
}

function slotGone(slot: string): Unrecoverable {
  return new Unrecoverable(
    `the replication slot ${slot} is gone, and with it the changes since the pipe last ran; ` +
      'make a pipe with the replicationMode cdc, which loads the tables, or go on without these changes after ' +
      createSlotStatement(slot),
  )
}

/** Handles lost WAL: requests a reload and forgets the position, so that reading resumes with the WAL that is left. */
export async function afterLogLost(replication: Replication, error: unknown): Promise<unknown> {
  const { parts, source } = replication
  // The publication or the slot did not exist at the LSN being read.
  if (error instanceof PostgresError && error.code === undefinedObject) {
    await parts.store.setPositions([{ partition: publicationPartition, position: unknownPublication }])
    return new SourceChanged('the publication or the replication slot was dropped; the tables are loaded again')
  }
  if (!(error instanceof LogLost)) return error
  if (source.settings.replicationMode === 'cdc_only') {
    return new Unrecoverable(
      `the replication slot ${replicationNames(replication).slot} does not have the changes that were on their way`,
    )
  }
  const { store, tables } = parts
  await reloadCopies({ ...replication, store, tables }, 'the log of the source does not go on where it was left')
  await forgetPosition(parts.store, '0/0', [{ partition: timelinePartition, position: unknownTimeline }])
  return new SourceChanged('the log of the source does not go on where it was left; the tables are loaded again')
}

/** Drops open deliveries too: their changes are in the reload. */
async function forgetPosition(store: WorkerStore, position: string, more: StoredPosition[] = []): Promise<void> {
  const deliveries = await store.listDeliveries()
  const behind = deliveries.filter(({ ranges }) => ranges[0]?.partition === walPartition).map(({ id }) => id)
  const positions = [{ partition: walPartition, position }, ...more]
  await store.finish({ done: [], behind, positions, counters: zeroCounters })
}
