// What the parts of the worker of a postgres pipe share from the moment it is connected until it ends or begins anew.
import type { ReplicaTables } from '../../engine/replica-tables.ts'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import type { PostgresAccess } from '../../sources/postgres/postgres-access.ts'
import type { SourceAccess } from '../../sources/source.ts'
import { zeroCounters } from '../counters.ts'
import { deliver, type Pending } from '../deliver-batch.ts'
import type { CommonSession } from '../session.ts'
import type { CommonParts, CounterChanges } from '../worker.ts'
import type { TableStore } from './table-store.ts'
import type { Target } from './target.ts'

export interface Replication extends CommonSession {
  parts: CommonParts
  access: PostgresAccess
  engine: ReplicaTables
  tables: TableStore
  source: PostgresSource
  surroundings: SourceAccess
  /** One at a time: batches of the stream, and what changes where they go. */
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

/** The rows of one insert go to the engine. Undefined when that was given up, because the worker is to stop. */
export async function send(
  replication: Replication,
  target: Target,
  { token, rows, isRepeat, identity }: Pick<Pending, 'rows' | 'isRepeat' | 'identity'> & { token: string },
): Promise<CounterChanges | undefined> {
  if (rows.count === 0) return zeroCounters
  const pending: Pending = { id: token, rows, isRepeat, identity }
  // Which rows were refused need not be known again: a batch that the engine has by its token is not looked at.
  const store = { ...replication.store, refuse: async () => undefined }
  return deliver({ ...replication, store, sink: target.sink }, pending)
}
