// Positions as text, such as `100 of 3 in 0f4c… after 1`: the offset of the next record and the log that it belongs to. The same
// offset in a recreated topic is another record, so its position must differ.

export interface KafkaPosition {
  offset: bigint
  /**
   * Partition count when the topic was first read, where reading starts at a timestamp or the latest offset. Lower partition
   * numbers start there; partitions added later start at their earliest offset. Undefined where it makes no difference.
   */
  firstCount?: number | undefined
  /** Undefined where the brokers have no topic ids, and in positions from earlier versions of Penstock. */
  topicId?: string | undefined
  /** The id of the previous topic of this name, or how often reading has gone back within the topic. */
  after?: string | undefined
}

export function positionOf(text: string): KafkaPosition {
  const [, offset, count, topicId, after] =
    /^(\d+)(?: of (\d+))?(?: in ([\w-]+))?(?: after ([\w-]+))?$/.exec(text) ?? []
  if (offset === undefined) throw new Error('not a position of Kafka')
  return { offset: BigInt(offset), firstCount: count === undefined ? undefined : Number(count), topicId, after }
}

export function positionText({ offset, firstCount, topicId, after }: KafkaPosition): string {
  const parts = [
    String(offset),
    firstCount === undefined ? '' : ` of ${firstCount}`,
    topicId === undefined ? '' : ` in ${topicId}`,
    after === undefined ? '' : ` after ${after}`,
  ]
  return parts.join('')
}
