import type { TopicPartition } from './kafka-cluster.ts'
import type { RecordWalk } from './kafka-records.ts'

export interface ReadPartition extends TopicPartition {
  name: string
  /** Start of the next batch; undefined while it is not known. */
  position: bigint | undefined
  /** `log`: the topic id that the position belongs to. `after`: its predecessor. Both as in KafkaPosition. */
  log: string | undefined
  after: string | undefined
  /** `log` is the current topic id because an earlier version of Penstock stored the position without one. It may be wrong. */
  isLogAssumed: boolean
  /** The records at the position are gone. Records fetched before are given out first. */
  reset: OffsetReset | undefined
  /** The topic no longer has this partition. */
  isMissing: boolean
  /** The broker has or returns no records at the position: ask whether they still exist. */
  mustCheckRange: boolean
  /** Exclusive end of the range to read; undefined: read everything. */
  until: bigint | undefined
  /** Last stable offset of the latest fetch response. */
  end: bigint | undefined
  /** Partition count of the topic when it was first read, where positions contain it. */
  firstCount: number | undefined
  /** Time spent on empty fetch responses while records up to `until` should exist. */
  silentMs: number
  /** Reading has begun, now or earlier: records lost from here on are reported as lost. */
  isBegun: boolean
  /** The partition did not exist when the source was first read. */
  isLaterAddition: boolean
  /** The start must be stored even before there is a record. */
  mustStoreStart: boolean
  /** Fetched records that are not given out yet. They are unpacked only when they are due. */
  upcoming: RecordWalk | undefined
  /** `upcoming` stands at a record that is not given out yet. */
  hasHead: boolean
}

/** All requested records have been given out. */
export function isFinished({ position, until }: ReadPartition): boolean {
  return until !== undefined && position !== undefined && position >= until
}

export interface OffsetReset {
  /** Undefined until the leader has reported the earliest offset of the new log. */
  offset: bigint | undefined
  topicId: string | undefined
  after: string | undefined
  reason: string
  /** How many records are lost at most. `unread`: all that were not given out, including those that were never fetched. */
  records: bigint | 'unread' | 'unknown'
}
