// What the parts of a worker share from the moment it is connected until it ends or begins anew after a failure.
import type { Sink } from '../engine/engine.ts'
import type { EncoderParts, ObjectEncoder, RecordEncoder } from '../formats/encode/encoder.ts'
import type { Settings } from '../pipes/settings.ts'
import type { Positions, Selection, SourceReader } from '../sources/source.ts'
import { type BackOffTimes, usualBackOff } from './back-off.ts'
import type { BatchSize } from './batch-size.ts'
import type { Builder } from './build-scheduler.ts'
import { StoreFailure } from './classify-failure.ts'
import type { StoredPosition } from './delivery.ts'
import type { Status } from './status.ts'
import { LeaseLost, type WorkerParts, type WorkerStore } from './worker.ts'

export interface Encoders {
  makeRecordEncoder(parts: EncoderParts): RecordEncoder
  makeObjectEncoder(parts: EncoderParts): ObjectEncoder
}

/** Only tests bring their own. */
export interface WorkerTimes {
  backOff: BackOffTimes
  /** What only the user can mend is tried again for so long when it once went well. */
  patienceMs: number
  /** Between two looks whether another worker has done its part. */
  lookAgainMs: number
  /** The longest read of a stream that gives nothing. */
  idleReadMs: number
  /** After this long without a report of the data path, the lag is measured at the source. */
  stalledMs: number
}

export const usualTimes: WorkerTimes = {
  backOff: usualBackOff,
  patienceMs: 15 * 60_000,
  lookAgainMs: 1_000,
  idleReadMs: 1_000,
  stalledMs: 10_000,
}

/** What those of all kinds have. */
export interface CommonSession {
  settings: Settings
  times: WorkerTimes
  /** Asks nothing more of the database once the session has ended. */
  store: WorkerStore
  /** Aborted when nothing more may be done. */
  signal: AbortSignal
  /** Aborted when nothing new is to be begun. */
  stopping: AbortSignal
  /** Ends the session: aborts `signal`. */
  end(): void
  status: Status
  turn: Builder
  batchSize: BatchSize
  /** As of `RetryPolicy`, and reports it; with a reason as degraded, though rows arrive. */
  well(reason?: string): void
  /** Counts an attempt that failed and is repeated. */
  countRetry(): void
  takeRetries(): number
}

export interface Session extends CommonSession {
  parts: WorkerParts
  encoders: Encoders
  sink: Sink
}

export function encoderPartsOf({
  pipe,
  secrets,
  egress,
  context,
}: Pick<WorkerParts, 'pipe' | 'secrets' | 'egress' | 'context'>): EncoderParts {
  const { kind, source, destination, fieldMappings, organizationId } = pipe
  if (kind === 'postgres') throw new Error('postgres has no encoder')
  return { kind, source, secrets, destination, fieldMappings, organizationId, context, egress }
}

export function positionsOf(positions: StoredPosition[]): Positions {
  return Object.fromEntries(positions.map(({ partition, position }) => [partition, position]))
}

/** Whatever the database throws is a StoreFailure, except LeaseLost; nothing is asked of it after the signal is aborted. */
export function makeGuard(signal: AbortSignal): <Result>(call: () => Promise<Result>) => Promise<Result> {
  return async (call) => {
    signal.throwIfAborted()
    try {
      return await call()
    } catch (error) {
      throw error instanceof LeaseLost ? error : new StoreFailure(error)
    }
  }
}

export function guardStore(store: WorkerStore, signal: AbortSignal): WorkerStore {
  const guarded = makeGuard(signal)
  return {
    listPositions: () => guarded(() => store.listPositions()),
    listDeliveries: () => guarded(() => store.listDeliveries()),
    setPositions: (positions) => guarded(() => store.setPositions(positions)),
    keepLosses: (change) => guarded(() => store.keepLosses(change)),
    claim: (partitions) => guarded(() => store.claim(partitions)),
    begin: (delivery) => guarded(() => store.begin(delivery)),
    refuse: (deliveryId, badRows) => guarded(() => store.refuse(deliveryId, badRows)),
    finish: (change) => guarded(() => store.finish(change)),
  }
}

/** The reader is closed after `use`, however that ends. */
export async function withReader<Result>(
  { parts, signal }: Pick<Session, 'parts' | 'signal'>,
  positions: Positions,
  selection: Selection,
  use: (reader: SourceReader) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted()
  const reader = await parts.source.open(positions, { egress: parts.egress, signal }, selection)
  try {
    return await use(reader)
  } finally {
    await reader.close().catch(() => undefined)
  }
}
