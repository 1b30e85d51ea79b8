// Kinesis records.
import type { _Record } from '@aws-sdk/client-kinesis'
import type { HeldMemory } from '../../lib/held-memory.ts'

export interface KinesisRecord {
  sequence: string
  key: string
  arrivedAtMs: number
  data: Uint8Array
  /** Holds the buffer that all data of its page is in. The page holds it until it is used up. */
  memory?: HeldMemory
}

export function toRecord({
  SequenceNumber,
  PartitionKey,
  ApproximateArrivalTimestamp,
  Data,
}: Partial<_Record>): KinesisRecord {
  return {
    sequence: SequenceNumber ?? '',
    key: PartitionKey ?? '',
    arrivedAtMs: ApproximateArrivalTimestamp?.getTime() ?? 0,
    data: Data ?? new Uint8Array(),
  }
}
