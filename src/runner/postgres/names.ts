// What a pipe calls its own things at the source and in the engine.
import { hash } from 'node:crypto'

export { shadowName } from '../../pipes/table-mappings.ts'

export const versionColumn = '_penstock_version'
export const deletedColumn = '_penstock_deleted'

/** Where the log of the source is read: one partition of the pipe. */
export const walPartition = 'wal'
/** Whose log that is: positions of another server, or of another database, mean nothing. */
export const originPartition = 'origin'

/** Which publication that was: a slot cannot read what was written before its publication was created. */
export const publicationPartition = 'publication'

/** The timeline that the log was on. */
export const timelinePartition = 'timeline'

/** Of the slot and of the publication. */
export function replicationName(pipeId: string): string {
  return `penstock_${pipeId.replaceAll('-', '_')}`
}

/** The token of the insert that brings a range of a load. */
export function rangeToken(loadId: string, rangeNumber: number): string {
  return `penstock-${hash('sha256', JSON.stringify([loadId, rangeNumber]), 'hex').slice(0, 40)}`
}
