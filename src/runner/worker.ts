// Interface between the runner, which assigns work, and a worker, which moves the rows of one part of one pipe.
import type { Sink } from '../engine/engine.ts'
import type { RejectedRow } from '../engine/rejected-row.ts'
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import type { Claim, NewDelivery, StoredDelivery, StoredPosition } from '../progress/delivery.ts'
import type { CounterChanges } from '../progress/pipe-counters.ts'
import type { WorkerPhase } from '../progress/settled-state.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import type { LostRecords, ReadableSource, SourceContext } from '../sources/source.ts'
import type { EffectivePipe } from './configuration.ts'
import type { TableStore } from './postgres/table-store.ts'

/** Another worker has the lease, or the pipe was deleted: nothing more may be written or sent. */
export class LeaseLost extends Error {
  constructor() {
    super('another worker has the lease of this one')
    this.name = 'LeaseLost'
  }
}

/** State of a worker in the database. Writes reject with LeaseLost when another worker has the lease. */
export interface WorkerStore {
  /** Of the whole pipe, without finished partitions. */
  listPositions(): Promise<StoredPosition[]>
  /** Of the whole pipe, in the order of creation. */
  listDeliveries(): Promise<StoredDelivery[]>
  /** Stores positions that are known before anything is read, such as the end of a stream that is read from its end. */
  setPositions(positions: StoredPosition[]): Promise<void>
  /** Stores that records are lost, together with the positions after them. */
  keepLosses(change: { positions: StoredPosition[]; losses: LostRecords[] }): Promise<void>
  /** Claims free partitions for this worker, permanently. Returns the owner of each partition, in the given order. */
  claim(partitions: string[]): Promise<Claim[]>
  /** Records a delivery before its first byte is sent. */
  begin(delivery: NewDelivery): Promise<void>
  /** Records rejected rows before the remaining rows are sent. */
  reject(deliveryId: string, badRows: RejectedRow[]): Promise<void>
  /** Finishes stored deliveries. `behind`: the positions include them now. `done`: they wait for an earlier delivery. */
  finish(change: {
    done: string[]
    behind: string[]
    positions: StoredPosition[]
    counters: CounterChanges
  }): Promise<void>
}

/** Status report of a worker. */
export interface WorkerStatus {
  state: 'starting' | 'running' | 'degraded'
  /** Why it is degraded, as a readable text. */
  reason?: string
  /** Present activity, as a readable text. */
  doing: string
  lag?: number | undefined
  /** Only for postgres pipes: work before or beside CDC. */
  phase?: WorkerPhase | undefined
  /** Bytes of log that the source retains for the pipe, if known. */
  retainedBytes?: number | undefined
  /** Unix time in ms up to which the source is delivered, if known. */
  deliveredUntilMs?: number | undefined
}

/** How a worker ends. `failed`: the user has to fix the reason. */
export type WorkerEnd = { end: 'stopped' | 'completed' | 'lost' } | { end: 'failed'; reason: string }

/** Parts of workers of all kinds. */
export interface CommonParts {
  pipe: EffectivePipe
  secrets: SourceSecrets
  workerIndex: number
  workerCount: number
  /** Together with `workerIndex` unique among all workers that the pipe ever had. */
  epoch: number
  store: WorkerStore
  tables: TableStore
  egress: Egress
  /** For services that encoding needs, such as a schema registry. */
  context: Omit<SourceContext, 'organizationId'>
  log: Log
  report(status: WorkerStatus): void
}

export interface WorkerParts extends CommonParts {
  source: ReadableSource
  openSink(signal: AbortSignal): Promise<Sink>
}

export interface Worker {
  /**
   * Connects to the source and the engine and prepares the table, without moving rows.
   * Rejects with NotConnected, ProbeFailure or EngineError.
   */
  prepare(): Promise<void>
  /** Moves rows until it ends. Rejects only on a defect of Penstock; a new worker may be started then. */
  run(): Promise<WorkerEnd>
  /** Ends `run` when all sent rows are durable. */
  stop(): void
  /** Ends `run` at once, also in the middle of an insert. */
  abort(): void
}
