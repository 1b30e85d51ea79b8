// A position as text: the offset of the next record and, of a source that is read from a moment on, how many partitions the
// topic had when it was first read. Those have numbers below that and begin at the moment; what was added later begins at its
// beginning, whichever reader finds it and whenever.

export interface KafkaPosition {
  offset: bigint
  /** Undefined where it makes no difference. */
  firstCount: number | undefined
}

export function positionOf(text: string): KafkaPosition {
  const [, offset, count] = /^(\d+)(?: of (\d+))?$/.exec(text) ?? []
  if (offset === undefined) throw new Error('not a position of Kafka')
  return { offset: BigInt(offset), firstCount: count === undefined ? undefined : Number(count) }
}

export function positionText(offset: bigint, firstCount: number | undefined): string {
  return firstCount === undefined ? String(offset) : `${offset} of ${firstCount}`
}
