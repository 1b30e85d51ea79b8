// State shared by the parts of a postgres worker during one attempt.
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { CounterChanges } from '../../progress/pipe-counters.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { SourceAccess } from '../../sources/source.ts'
import { zeroCounters } from '../counters.ts'
import { deliver, type PendingDelivery } from '../deliver-batch.ts'
import type { CommonSession } from '../session.ts'
import type { CommonParts } from '../worker.ts'
import type { TableStore } from './table-store.ts'
import type { Target } from './target.ts'

export interface Replication extends CommonSession {
  parts: CommonParts
  access: PostgresAccess
  engine: ReplicaTables
  tables: TableStore
  source: PostgresSource
  connectOptions: SourceAccess
  /** Serializes batches of the stream and changes of their targets. */
  gate: Gate
}

export interface Gate {
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

export function makeGate(): Gate {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(work) {
      const result = last.then(work)
      last = result.catch(() => undefined)
      return result
    },
  }
}

/** Sends the rows of one insert. Undefined when it was given up because the worker stops. */
export async function send(
  replication: Replication,
  target: Target,
  { token, rows, isRepeat, identity }: Pick<PendingDelivery, 'rows' | 'isRepeat' | 'identity'> & { token: string },
): Promise<CounterChanges | undefined> {
  if (rows.count === 0) return zeroCounters
  const pending: PendingDelivery = { id: token, rows, isRepeat, identity }
  // No record of rejected rows is needed: a batch that the engine deduplicates by its token is not examined again.
  const store = { ...replication.store, refuse: async () => undefined }
  return deliver({ ...replication, store, sink: target.sink }, pending)
}
