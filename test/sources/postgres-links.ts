// Connections to PostgreSQL and to fake servers, for tests of the connection layer.
import type { Socket } from 'node:net'
import { type LinkOptions, openLink, type PostgresLink } from '../../src/sources/postgres/postgres-link.ts'
import type { SourceContext } from '../../src/sources/source.ts'
import { loopbackEgress } from './conformance.ts'
import { message, signInRequest } from './postgres-servers.ts'
import type { PostgresServer } from './postgres-world.ts'

export interface LinkChange extends Partial<LinkOptions> {
  username?: string
  password?: string
  database?: string
  context?: Partial<SourceContext>
}

type ServerAddress = Pick<PostgresServer, 'host' | 'port' | 'ca' | 'superuser'>

/** Default: as superuser, in the database `postgres`, not for replication. */
export function linkTo({ host, port, ca, superuser }: ServerAddress, change: LinkChange = {}): Promise<PostgresLink> {
  const { username, password, database = 'postgres', context, ...options } = change
  return openLink(
    { host, port, database, username: username ?? superuser.username, password: password ?? superuser.password },
    { organizationId: 'organization', caCertificates: ca, allowPlaintext: false, awsEndpoints: {}, ...context },
    { egress: loopbackEgress, isReplication: false, signal: AbortSignal.timeout(30_000), ...options },
  )
}

/** Connects to a fake server without TLS. */
export function linkToStandIn(port: number, change: LinkChange = {}): Promise<PostgresLink> {
  const superuser = { username: 'somebody', password: 'sesame street' }
  const context = { allowPlaintext: true, ...change.context }
  return linkTo({ host: '127.0.0.1', port, ca: '', superuser }, { ...change, context })
}

export const ready = message('Z', 'I')
export const complete = message('C', 'SELECT 1\0')
export const refusal = (code: string): Buffer => message('E', `SERROR\0C${code}\0Mhunter2\0\0`)

export function rowOf(...values: (string | null)[]): Buffer {
  const counted = values.map((value) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(value === null ? -1 : Buffer.byteLength(value))
    return Buffer.concat([length, Buffer.from(value ?? '')])
  })
  return message('D', Buffer.concat([Buffer.from([0, values.length]), ...counted]))
}

/** RowDescription; clients of the tests read only the column count. */
export const columns = (count: number): Buffer => message('T', Buffer.from([0, count]))

/** A fake server without TLS: accepts any login and the session settings, then answers each request with the next bytes. */
export const acceptsLogin =
  (...bytes: Buffer[]) =>
  (socket: Socket): void => {
    const settings = Buffer.concat([columns(1), rowOf('')])
    const left = [
      Buffer.from('N'),
      Buffer.concat([signInRequest(0), ready]),
      Buffer.concat([settings, complete, ready]),
      ...bytes,
    ]
    socket.on('data', () => {
      const next = left.shift()
      if (next) socket.write(next)
    })
  }
