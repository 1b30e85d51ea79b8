// A fake Kafka broker for tests: one broker in this process, in memory. It speaks the Kafka protocol and rejects what a real broker
// rejects. It has no replicas, no retention and no auto-created topics.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { type Certificate, type Certificates, makeCertificates } from '../certificates.ts'
import type { KafkaCompression, KafkaListeners, KafkaRecord, KafkaServer, Login } from '../kafka-server.ts'
import type { BrokerState } from './api.ts'
import { serve } from './connection.ts'
import { Groups } from './groups.ts'
import { buildBatch } from './record-batch.ts'
import type { SaslSettings } from './sasl.ts'
import { Topics } from './topics.ts'
import { Transactions } from './transactions.ts'
import { allPermissions, anonymous, noPermissions, type Permissions } from './users.ts'

export interface KafkaBrokerOptions {
  /** Default: new certificates. */
  certificates?: Certificates
  /** Users in addition to `user` and `powerlessUser`. Permissions default to true. */
  users?: (Login & { permissions: Partial<Permissions> })[]
  /** Checks OAUTHBEARER tokens. Default: rejects all. */
  acceptsToken?(token: string): boolean | Promise<boolean>
}

const host = '127.0.0.1'
const user: Login = { username: 'reader', password: 'R3ader, of=every topic' }
const powerlessUser: Login = { username: 'onlooker', password: '0nlooker-without-rights' }

export async function startKafkaBroker(options: KafkaBrokerOptions = {}): Promise<KafkaServer> {
  const certificates = options.certificates ?? (await makeCertificates())
  const state: BrokerState = {
    topics: new Topics(),
    groups: new Groups(),
    transactions: new Transactions(),
    advertisedHost: host,
  }
  const listeners = await startListeners(state, certificates, {
    users: [
      { ...user, permissions: allPermissions },
      { ...powerlessUser, permissions: noPermissions },
      ...(options.users ?? []).map((each) => ({ ...each, permissions: { ...allPermissions, ...each.permissions } })),
    ],
    acceptsToken: options.acceptsToken ?? (() => false),
  })
  return {
    name: 'our broker',
    listeners: listeners.addresses,
    ca: certificates.ca,
    client: certificates.client,
    strangeClient: certificates.strangeClient,
    user,
    powerlessUser,
    async createTopic(name, partitions) {
      if (state.topics.find(name)) throw new Error(`The topic ${name} exists already`)
      state.topics.create(name, partitions)
    },
    async produce(topic, records, compression = 'none') {
      produce(state, topic, records, compression)
    },
    advertise(advertisedHost) {
      state.advertisedHost = advertisedHost
    },
    compact(topic, firstOffset, beforeOffset) {
      state.topics.find(topic)?.partitions[0]?.compact(firstOffset, beforeOffset)
    },
    truncate(topic, partition, offset) {
      const log = state.topics.find(topic)?.partitions[partition]
      if (!log) throw new Error(`The topic ${topic} has no partition ${partition}`)
      log.truncate(offset)
      state.topics.changed()
      return log.endOffset
    },
    async committedOffsets(group) {
      const offsets = [...(state.groups.find(group)?.offsets ?? [])]
      return Object.fromEntries(offsets.map(([partition, { offset }]) => [partition, offset]))
    },
    async stop() {
      try {
        await listeners.stop()
      } finally {
        state.groups.stop()
      }
    },
  }
}

/** Like real producers: several records per batch, and several batches. */
const batchSizeBytes = 16_384

function produce(state: BrokerState, name: string, records: KafkaRecord[], compression: KafkaCompression): void {
  const topic = state.topics.find(name)
  if (!topic) throw new Error(`There is no topic ${name}`)
  for (const [partition, ofPartition] of Map.groupBy(records, (record) => record.partition)) {
    const log = topic.partitions[partition]
    if (!log) throw new Error(`The topic ${name} has no partition ${partition}`)
    for (const batch of inBatches(ofPartition)) log.append(buildBatch(batch, compression))
  }
  state.topics.changed()
}

function inBatches(records: KafkaRecord[]): KafkaRecord[][] {
  const batches: KafkaRecord[][] = []
  let leftBytes = 0
  for (const record of records) {
    const last = batches.at(-1)
    if (last && record.value.length <= leftBytes) {
      last.push(record)
    } else {
      batches.push([record])
      leftBytes = batchSizeBytes
    }
    leftBytes -= record.value.length
  }
  return batches
}

interface ListenerOptions {
  certificate?: Certificate
  hasLogin: boolean
  wantsClientCertificate?: boolean
}

interface Listeners {
  addresses: KafkaListeners
  stop(): Promise<void>
}

async function startListeners(state: BrokerState, certificates: Certificates, sasl: SaslSettings): Promise<Listeners> {
  const sockets = new Set<Socket>()
  const servers: Server[] = []
  const faults: unknown[] = []

  const accept = (socket: Socket, hasLogin: boolean) => {
    const gone = new AbortController()
    socket.once('close', () => gone.abort())
    const login = hasLogin ? { user: undefined, sasl: { settings: sasl, isBare: false } } : { user: anonymous }
    const client = { port: socket.localPort ?? 0, signal: gone.signal, ...login }
    serve({ socket, client, broker: state, fail: (error) => faults.push(error) })
  }
  const listen = async ({
    certificate,
    hasLogin,
    wantsClientCertificate = false,
  }: ListenerOptions): Promise<string> => {
    const server = certificate
      ? createTlsServer(
          { ...certificate, ca: certificates.ca, requestCert: wantsClientCertificate, rejectUnauthorized: true },
          (socket) => accept(socket, hasLogin),
        )
      : createServer((socket) => accept(socket, hasLogin))
    // Includes connections that never finish their handshake.
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    servers.push(server)
    server.listen(0, host)
    await once(server, 'listening')
    return `${host}:${(server.address() as AddressInfo).port}`
  }

  const { server, expired, otherHost } = certificates
  const [plain, saslPlain, tls, saslTls, mutualTls, expiredTls, otherHostTls] = await Promise.all([
    listen({ hasLogin: false }),
    listen({ hasLogin: true }),
    listen({ certificate: server, hasLogin: false }),
    listen({ certificate: server, hasLogin: true }),
    listen({ certificate: server, hasLogin: false, wantsClientCertificate: true }),
    listen({ certificate: expired, hasLogin: true }),
    listen({ certificate: otherHost, hasLogin: true }),
  ])
  return {
    addresses: { plain, saslPlain, tls, saslTls, mutualTls, expired: expiredTls, otherHost: otherHostTls },
    async stop() {
      const closed = servers.map((each) => once(each, 'close'))
      for (const each of servers) each.close()
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
      // A bug of the broker must not look like one of the client.
      if (faults.length > 0) throw new AggregateError(faults, 'The broker failed')
    },
  }
}
