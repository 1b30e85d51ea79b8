// Start of a read within a shard.

export type ShardStart =
  | { type: 'TRIM_HORIZON' | 'LATEST' }
  | { type: 'AT_TIMESTAMP'; atMs: number }
  | { type: 'AT_SEQUENCE_NUMBER' | 'AFTER_SEQUENCE_NUMBER'; sequence: string }
