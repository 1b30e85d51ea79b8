// A Kafka that tests talk to: our own broker in this process, or a real one. What a test asks of it must be true of both.

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

/** host:port by what the listener asks for. */
export interface KafkaListeners {
  /** No TLS, and no login. */
  plain: string
  /** No TLS; PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. */
  saslPlain: string
  tls: string
  saslTls: string
  /** TLS with a certificate of the client, and no login. */
  mutualTls: string
  /** As `saslTls`, but the certificate of the server has expired. */
  expired: string
  /** As `saslTls`, but the certificate is of another host. */
  otherHost: string
}

export interface KafkaServer {
  /** `our broker`, or `Apache Kafka 4.1.0`. */
  name: string
  listeners: KafkaListeners
  /** PEM of the authority that signed the certificates of the listeners. */
  ca: string
  /** Accepted by `mutualTls`. */
  client: KeyPair
  /** Not accepted by `mutualTls`. */
  strangeClient: KeyPair
  /** Logs in with PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
  user: Login
  /** May connect, and may read no topic. */
  powerlessUser: Login
  createTopic(name: string, partitions: number): Promise<void>
  produce(topic: string, records: KafkaRecord[], compression?: KafkaCompression): Promise<void>
  /** The host that clients are sent to, in place of 127.0.0.1. Only of our broker. */
  advertise?(host: string): void
  /** Removes the batches that lie between these offsets of the first partition. Only of our broker. */
  compact?(topic: string, firstOffset: number, beforeOffset: number): void
  /** Forgets the batches from the one with this offset on; gives the offset that the next record has. Only of our broker. */
  truncate?(topic: string, partition: number, offset: number): number
  /** By `topic/partition`. */
  committedOffsets(group: string): Promise<Record<string, number>>
  stop(): Promise<void>
}
