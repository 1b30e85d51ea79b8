// Replication slots and publications that a pipe keeps at its source while stopped, or leaves there when deleted.
import type { Pipe } from '../../src/client/shapes.ts'

type PostgresSource = NonNullable<Pipe['source']['postgres']>

/** Whether PostgreSQL retains WAL for the pipe's replication slot. */
export function keepsLog({ source: { postgres } }: Pick<Pipe, 'source'>): boolean {
  return postgres !== undefined && postgres.settings.replicationMode !== 'snapshot'
}

/** Shown before stopping a pipe whose source retains WAL. */
export function retainedLogAdvice({ settings: { replicationSlotName: slot } }: PostgresSource): string {
  const deletion =
    slot === undefined ? 'delete the pipe: that drops the slot' : `delete the pipe and drop the slot ${slot} yourself`
  return `The replication slot stays, and the WAL on the source grows until its disk is full. Start the pipe again soon, set max_slot_wal_keep_size in PostgreSQL, or ${deletion}.`
}

/** Shown before deleting a pipe: the user must drop slots of their own. Empty when there is nothing at the source. */
export function deletionAtSource(pipe: Pick<Pipe, 'source'>): string {
  const { postgres } = pipe.source
  if (!postgres || !keepsLog(pipe)) return ''
  const { replicationSlotName: slot, publicationName: publication } = postgres.settings
  const removed = [slot === undefined && 'replication slot', publication === undefined && 'publication'].filter(Boolean)
  return [
    removed.length > 0 &&
      `The ${removed.join(' and the ')} that it made ${removed.length === 1 ? 'is' : 'are'} removed from PostgreSQL.`,
    slot !== undefined &&
      `Drop the replication slot ${slot} yourself: it is yours and stays, and PostgreSQL keeps its WAL for it until the disk is full.`,
    publication !== undefined && `The publication ${publication} is yours and stays.`,
  ]
    .filter(Boolean)
    .join(' ')
}
