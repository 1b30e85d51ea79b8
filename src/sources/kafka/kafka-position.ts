// A position as text, such as `100 of 3 in 0f4c… after 1`: the offset of the next record, and which log the offset belongs to. The
// same offset of a topic that was deleted and created again is another record, and must never look like the same position.

export interface KafkaPosition {
  offset: bigint
  /**
   * Of a source that is read from a timestamp on: how many partitions the topic had when it was first read. Those have numbers below
   * that and begin at the timestamp; partitions that were added later begin at their beginning. Undefined where it makes no difference.
   */
  firstCount?: number | undefined
  /** Undefined where the brokers have no topic ids, and in positions of earlier versions of Penstock. */
  topicId?: string | undefined
  /** The id of the topic that this one took the place of, or how often reading has gone back within the topic. */
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
