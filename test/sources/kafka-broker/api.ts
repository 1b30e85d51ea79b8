// What a kind of request is to the broker, and what its handler is given.
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
  /** Clients are sent to this host, at the port they came by. */
  advertisedHost: string
}

/** A connection, as far as requests are concerned. */
export interface Client {
  port: number
  /** Who has logged in; on a listener without login, somebody who may do everything. */
  user: KafkaUser | undefined
  /** Only on listeners that want a login. */
  sasl?: SaslSession
  /** Aborted when the connection is gone. */
  signal: AbortSignal
}

export interface Exchange {
  version: number
  /** Handlers read all of it before they write. */
  request: WireReader
  response: WireWriter
  client: Client
  user: KafkaUser
  broker: BrokerState
}

/** What follows; nothing said means that the response is sent. */
export type Outcome = 'no response' | 'response, then close' | undefined

export interface Api {
  key: number
  firstVersion: number
  lastVersion: number
  /** None when no version is. */
  flexibleFrom?: number
  /** May be asked before the login. */
  isOpen?: true
  answer(exchange: Exchange): Outcome | Promise<Outcome>
}

export const brokerId = 1
export const clusterId = 'penstock-test-cluster'
