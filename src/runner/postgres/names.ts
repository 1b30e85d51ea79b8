// Names of a pipe's objects at the source and in the engine, and of its positions.
import { hash } from 'node:crypto'

export { deletedColumn } from '../../engine/table-delivery.ts'
export { shadowName } from '../../source-shapes/table-mappings.ts'

export const versionColumn = '_penstock_version'

/** LSN up to which the WAL was delivered. */
export const walPartition = 'wal'
/** Server and database of that LSN: it means nothing in another one. */
export const originPartition = 'origin'

/** Publication of that LSN: a slot cannot read WAL from before its publication was created. */
export const publicationPartition = 'publication'

/** Timeline of that LSN. */
export const timelinePartition = 'timeline'

/** Default name of the replication slot and of the publication. */
export function replicationName(pipeId: string): string {
  return `penstock_${pipeId.replaceAll('-', '_')}`
}

/** Deduplication token of the insert of one range of a load. */
export function rangeToken(loadId: string, rangeNumber: number): string {
  return `penstock-${hash('sha256', JSON.stringify([loadId, rangeNumber]), 'hex').slice(0, 40)}`
}
