// Session of a worker: the state that its parts share from connecting until the worker ends or starts again after a failure.
import type { Sink } from '../engine/engine.ts'
import type { EncoderParts, ObjectEncoder, RecordEncoder } from '../formats/encode/encoder.ts'
import type { Settings } from '../pipes/settings.ts'
import type { StoredPosition } from '../progress/delivery.ts'
import type { KafkaSource } from '../source-shapes/kafka-source.ts'
import { readsTables } from '../source-shapes/source-kinds.ts'
import { egressOf } from '../sources/kafka/kafka-routes.ts'
import { registryOfSource } from '../sources/schema-registry/schema-registry.ts'
import type { Positions, Selection, SourceReader } from '../sources/source.ts'
import { type BackOffTimes, usualBackOff } from './back-off.ts'
import type { BatchSize } from './batch-size.ts'
import type { Builder } from './build-scheduler.ts'
import { StoreFailure } from './classify-failure.ts'
import type { Status } from './status.ts'
import { LeaseLost, type WorkerParts, type WorkerStore } from './worker.ts'

export interface Encoders {
  makeRecordEncoder(parts: EncoderParts): RecordEncoder
  makeObjectEncoder(parts: EncoderParts): ObjectEncoder
}

/** Overridden only by tests. */
export interface WorkerTimes {
  backOff: BackOffTimes
  /** How long an error that only the user can fix is retried by a worker that has run before. */
  userErrorRetryMs: number
  /** Poll interval while waiting for another worker. */
  lookAgainMs: number
  /** Longest read of a stream that has no records. */
  idleReadMs: number
  /** After this long without a lag report of the data path, the lag is measured at the source. */
  stalledMs: number
}

export const usualTimes: WorkerTimes = {
  backOff: usualBackOff,
  userErrorRetryMs: 15 * 60_000,
  lookAgainMs: 1_000,
  idleReadMs: 1_000,
  stalledMs: 10_000,
}

/** Session of a worker of any kind of pipe. */
export interface CommonSession {
  settings: Settings
  times: WorkerTimes
  /** Stops calling the database when the session has ended. */
  store: WorkerStore
  /** Aborted when all work must end at once. */
  signal: AbortSignal
  /** Aborted when no new work may be started. */
  stopping: AbortSignal
  /** Ends the session: aborts `signal`. */
  end(): void
  status: Status
  builder: Builder
  batchSize: BatchSize
  /** Resets the `RetryPolicy` and reports `running`, or with a reason `degraded`. */
  well(reason?: string): void
  /** Counts a retry. */
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
  if (readsTables(kind)) throw new Error('a pipe that replicates tables has no encoder')
  const openRegistry = (signal: AbortSignal) =>
    registryOfSource(source as KafkaSource, secrets, {
      ...context,
      egress: egressOf(source as KafkaSource, { ...context, organizationId }, egress),
      signal,
    })
  return { kind, source, destination, fieldMappings, openRegistry }
}

export function positionsOf(positions: StoredPosition[]): Positions {
  return Object.fromEntries(positions.map(({ partition, position }) => [partition, position]))
}

/** Turns errors of the database into StoreFailure, except LeaseLost. Does not call it after the signal is aborted. */
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
    reject: (deliveryId, badRows) => guarded(() => store.reject(deliveryId, badRows)),
    finish: (change) => guarded(() => store.finish(change)),
  }
}

/** Closes the reader after `use`, also on failure. */
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
