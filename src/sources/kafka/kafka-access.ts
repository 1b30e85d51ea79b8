// Connection state shared by all brokers of a source.
import type { TlsOptions } from '../../lib/egress-tls.ts'
import type { KafkaSource } from '../../source-shapes/kafka-source.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { AwsCredentials } from '../aws/aws.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import type { Wire } from './kafka-wire.ts'

/** Everything needed to reach the brokers of a source, and what is known about them so far. */
export interface KafkaAccess extends SourceAccess {
  config: KafkaSource
  secrets: SourceSecrets
  context: SourceContext
  tls: TlsOptions
  /** Whether the brokers speak TLS. The first connection decides for all others. */
  hasTls: boolean | undefined
  /** AWS region of an IAM login. */
  region: string | undefined
  awsCredentials: AwsCredentials | undefined
  /** Ends all connections that were opened with it. */
  close(): void
}

export interface BrokerConnection extends Wire {
  /** Returns the first API that the broker supports, or the last if it supports none. Sort them newest first. */
  choose<Api extends { key: number; version: number }>(apis: readonly Api[]): Api
  /** Whether the login is about to expire, after which the broker closes the connection. */
  isExpired(): boolean
}
