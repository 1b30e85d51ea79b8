// The contract between the runner, which decides who works on what, and a worker, which moves the rows of one share of one pipe.
import type { Sink } from '../engine/engine.ts'
import type { Egress } from '../lib/egress.ts'
import type { Log } from '../lib/log.ts'
import type { StoredPipe } from '../pipes/pipe.ts'
import type { SourceSecrets } from '../pipes/pipe-source.ts'
import type { LostRecords, ReadableSource, SourceContext } from '../sources/source.ts'
import type { NewDelivery, RefusedRow, StoredDelivery, StoredPosition } from './delivery.ts'
import type { TableStore } from './postgres/table-store.ts'

/** What a worker did since it last told; added up in the database in the same transaction as the positions. */
export interface CounterChanges {
  rowsRead: number
  bytesRead: number
  rowsWritten: number
  bytesWritten: number
  rowsRefused: number
  /** Of those that were refused before: what a replay has put right. */
  rowsReplayed: number
  inserts: number
  retries: number
}

/** Somebody else has the place of this worker, or the pipe is gone: nothing more may be written or sent. */
export class LeaseLost extends Error {
  constructor() {
    super('the place of this worker was taken')
    this.name = 'LeaseLost'
  }
}

/** `finished`: all of it is durable, and nothing is to be done. */
export type Claim = 'mine' | 'others' | 'finished'

/** What a worker keeps in the database. Everything that writes rejects with LeaseLost when another has its place. */
export interface WorkerStore {
  /** Of the whole pipe, without partitions that are finished. */
  listPositions(): Promise<StoredPosition[]>
  /** Of the whole pipe, in the order in which they were made. */
  listDeliveries(): Promise<StoredDelivery[]>
  /** Positions that are known before anything was read, such as the end of a stream that is read from its end. */
  setPositions(positions: StoredPosition[]): Promise<void>
  /** Keeps that records are missing for good, and with it the positions behind them. */
  keepLosses(change: { positions: StoredPosition[]; losses: LostRecords[] }): Promise<void>
  /** Takes the partitions that nobody has in the name of this worker, for good. Says of each of them, in their order, whose it is. */
  claim(partitions: string[]): Promise<Claim[]>
  /** Before the first byte of it is sent. */
  begin(delivery: NewDelivery): Promise<void>
  /** Before what is left of the delivery is sent. */
  refuse(deliveryId: string, badRows: RefusedRow[]): Promise<void>
  /** The engine has them. `behind` are deliveries that the positions include now; `done` are those that wait for an earlier one. */
  finish(change: {
    done: string[]
    behind: string[]
    positions: StoredPosition[]
    figures: CounterChanges
  }): Promise<void>
}

export type WorkerPhase = 'setup' | 'snapshot' | 'resync'

/** What a worker tells of itself whenever it changes. */
export interface WorkerStatus {
  state: 'starting' | 'running' | 'degraded'
  /** Why it is degraded, as a sentence. */
  reason?: string
  /** What it is doing now, as a sentence. */
  doing: string
  lag?: number | undefined
  /** Of a pipe with tables, what it does before it merely follows its source, or beside that. */
  phase?: WorkerPhase | undefined
  /** Log that the source keeps for the pipe, as far as anybody knows. */
  retainedBytes?: number | undefined
  /** Since 1970: up to this moment the source is delivered, as far as anybody knows. */
  deliveredUntilMs?: number | undefined
}

/** How a worker ends. `failed`: only the user can help, and why. */
export type WorkerEnd = { end: 'stopped' | 'completed' | 'lost' } | { end: 'failed'; reason: string }

/** What workers of all kinds are made of. */
export interface CommonParts {
  pipe: StoredPipe
  secrets: SourceSecrets
  slot: number
  slots: number
  /** With `slot` unique among all workers there ever were of the pipe. */
  epoch: number
  store: WorkerStore
  tables: TableStore
  egress: Egress
  /** For what the encoding of records reaches, such as a schema registry. */
  context: Omit<SourceContext, 'organizationId'>
  log: Log
  tell(status: WorkerStatus): void
}

export interface WorkerParts extends CommonParts {
  source: ReadableSource
  openSink(signal: AbortSignal): Promise<Sink>
}

export interface Worker {
  /** Connects to the source and the engine and makes the table ready, without moving anything. Rejects with NotConnected, ProbeFailure or EngineError. */
  prepare(): Promise<void>
  /** Moves rows until it ends. Rejects only because of a defect of ours: whoever calls may begin anew. */
  run(): Promise<WorkerEnd>
  /** Ends `run` when what was sent is durable. */
  stop(): void
  /** Ends `run` at once, whatever is under way. */
  abort(): void
}
