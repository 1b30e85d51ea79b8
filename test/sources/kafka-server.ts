// A Kafka server for tests: the fake broker in this process, or a real one. The suites must hold for both.

export interface Login {
  username: string
  password: string
}

export interface KeyPair {
  /** PEM. */
  cert: string
  key: string
}

export type KafkaCompression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

export interface KafkaRecord {
  partition: number
  key?: string
  value: Uint8Array
  timestampMs?: number
}

/** host:port of each listener. */
export interface KafkaListeners {
  /** PLAINTEXT. */
  plain: string
  /** SASL_PLAINTEXT with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. */
  saslPlain: string
  tls: string
  saslTls: string
  /** TLS with a client certificate. */
  mutualTls: string
  /** Like `saslTls`, with an expired server certificate. */
  expired: string
  /** Like `saslTls`, with the certificate of another host. */
  otherHost: string
}

export interface KafkaServer {
  /** `our broker`, or `Apache Kafka 4.1.0`. */
  name: string
  listeners: KafkaListeners
  /** PEM of the CA that signed the certificates of the listeners. */
  ca: string
  /** Accepted by `mutualTls`. */
  client: KeyPair
  /** Rejected by `mutualTls`. */
  strangeClient: KeyPair
  /** For PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
  user: Login
  /** May connect, but not read any topic. */
  powerlessUser: Login
  createTopic(name: string, partitions: number): Promise<void>
  produce(topic: string, records: KafkaRecord[], compression?: KafkaCompression): Promise<void>
  /** Advertised host; default: 127.0.0.1. Only the fake broker. */
  advertise?(host: string): void
  /** Removes the batches between these offsets of partition 0. Only the fake broker. */
  compact?(topic: string, firstOffset: number, beforeOffset: number): void
  /** Removes the batches from this offset on; returns the next offset. Only the fake broker. */
  truncate?(topic: string, partition: number, offset: number): number
  /** Keyed by `topic/partition`. */
  committedOffsets(group: string): Promise<Record<string, number>>
  stop(): Promise<void>
}
