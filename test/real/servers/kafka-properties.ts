// Broker configuration: a listener of every kind, logins, and permissions.
import { join } from 'node:path'
import type { Login } from '../../sources/kafka-server.ts'

/** In the order of their ports. `certificate` is a file name in the folder of the server. */
const listeners = {
  plain: { protocol: 'PLAINTEXT' },
  saslPlain: { protocol: 'SASL_PLAINTEXT' },
  tls: { protocol: 'SSL', certificate: 'server' },
  saslTls: { protocol: 'SASL_SSL', certificate: 'server' },
  mutualTls: { protocol: 'SSL', certificate: 'server', clientAuthentication: 'required' },
  expired: { protocol: 'SASL_SSL', certificate: 'expired' },
  otherHost: { protocol: 'SASL_SSL', certificate: 'otherHost' },
  controller: { protocol: 'PLAINTEXT' },
} as const satisfies Record<string, { protocol: string; certificate?: string; clientAuthentication?: string }>
export type Listener = keyof typeof listeners
export const listenerNames = Object.keys(listeners) as Listener[]

/** host:port of each listener. */
export type Addresses = Record<Listener, string>

export interface BrokerLogins {
  superUser: Login
  /** May connect only. */
  powerlessUser: Login
}

/** Kafka requires listener names in capitals, and their settings in lower case. */
function configured(name: Listener): string {
  return name.toUpperCase()
}

export function brokerProperties(folder: string, addresses: Addresses, logins: BrokerLogins): string {
  const protocols = listenerNames.map((name) => `${configured(name)}:${listeners[name].protocol}`)
  const lines = [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@${addresses.controller}`,
    'controller.listener.names=CONTROLLER',
    'inter.broker.listener.name=PLAIN',
    `listeners=${listenerNames.map((name) => `${configured(name)}://${addresses[name]}`)}`,
    `listener.security.protocol.map=${protocols}`,
    `log.dirs=${join(folder, 'data')}`,
    'num.network.threads=1',
    'num.io.threads=2',
    'auto.create.topics.enable=false',
    'offsets.topic.num.partitions=1',
    'offsets.topic.replication.factor=1',
    'transaction.state.log.num.partitions=1',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'share.coordinator.state.topic.num.partitions=1',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    'group.initial.rebalance.delay.ms=0',
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // Everyone but the powerless user: anonymous users, users with a certificate, and the user.
    `super.users=User:ANONYMOUS;User:CN=penstock;User:${logins.superUser.username}`,
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
  ]
  const users = [logins.superUser, logins.powerlessUser]
  for (const name of listenerNames) lines.push(...listenerLines(name, folder, users))
  return `${lines.join('\n')}\n`
}

function listenerLines(name: Listener, folder: string, users: Login[]): string[] {
  const listener: { protocol: string; certificate?: string; clientAuthentication?: string } = listeners[name]
  const prefix = `listener.name.${name.toLowerCase()}`
  const lines: string[] = []
  if (listener.certificate !== undefined) {
    lines.push(
      `${prefix}.ssl.keystore.type=PEM`,
      `${prefix}.ssl.keystore.location=${join(folder, `${listener.certificate}.pem`)}`,
      `${prefix}.ssl.truststore.type=PEM`,
      `${prefix}.ssl.truststore.location=${join(folder, 'ca.pem')}`,
      `${prefix}.ssl.client.auth=${listener.clientAuthentication ?? 'none'}`,
    )
  }
  if (listener.protocol.startsWith('SASL')) {
    const security = 'org.apache.kafka.common.security'
    const passwords = users.map(({ username, password }) => `user_${username}="${password}"`).join(' ')
    lines.push(
      `${prefix}.plain.sasl.jaas.config=${security}.plain.PlainLoginModule required ${passwords};`,
      `${prefix}.scram-sha-256.sasl.jaas.config=${security}.scram.ScramLoginModule required;`,
      `${prefix}.scram-sha-512.sasl.jaas.config=${security}.scram.ScramLoginModule required;`,
    )
  }
  return lines
}
