// Interfaces of the fake broker: its APIs, connections and state.
import type { Groups } from './groups.ts'
import type { SaslSession } from './sasl.ts'
import type { Topics } from './topics.ts'
import type { Transactions } from './transactions.ts'
import type { KafkaUser } from './users.ts'
import type { WireReader, WireWriter } from './wire.ts'

export interface BrokerState {
  topics: Topics
  groups: Groups
  transactions: Transactions
  /** Advertised host; the advertised port is that of the listener. */
  advertisedHost: string
}

/** State of a connection that APIs use. */
export interface Client {
  port: number
  /** The logged-in user; a user with all permissions on listeners without login. */
  user: KafkaUser | undefined
  /** Only on listeners with SASL. */
  sasl?: SaslSession
  /** Aborted when the connection ends. */
  signal: AbortSignal
}

export interface Exchange {
  version: number
  /** Handlers read the whole request before they write. */
  request: WireReader
  response: WireWriter
  client: Client
  user: KafkaUser
  broker: BrokerState
}

/** What to do after the handler; undefined: send the response. */
export type Outcome = 'no response' | 'response, then close' | undefined

export interface Api {
  key: number
  firstVersion: number
  lastVersion: number
  /** Undefined: no version is flexible. */
  flexibleFrom?: number
  /** Allowed before the login. */
  isOpen?: true
  answer(exchange: Exchange): Outcome | Promise<Outcome>
}

export const brokerId = 1
export const clusterId = 'penstock-test-cluster'
