// Fake servers for PostgreSQL tests: silent, misbehaving or malicious ones, and proxies.
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

export interface StandIn {
  port: number
  /** Connections that are still open. */
  open(): number
  stop(): Promise<void>
}

/** Serves every connection with the function, on a free port. */
export async function standIn(serve: (socket: Socket) => void): Promise<StandIn> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    serve(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number }
  return {
    port,
    open: () => sockets.size,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Sends the next bytes whenever data arrives. */
export const answers =
  (...bytes: (string | Buffer)[]) =>
  (socket: Socket): void => {
    const left = [...bytes]
    socket.on('data', () => {
      const next = left.shift()
      if (next !== undefined) socket.write(next)
    })
  }

/** Proxy to the server on that port, without TLS. */
export const withoutTls = (port: number) => (socket: Socket) => {
  socket.once('data', () => {
    socket.write('N')
    const server = connect(port, '127.0.0.1')
    server.on('error', () => socket.destroy())
    server.on('close', () => socket.destroy())
    socket.on('close', () => server.destroy())
    socket.pipe(server).pipe(socket)
  })
}

/** Starts TLS with the certificate, then serves the connection with the function. */
export const withTls =
  ({ cert, key }: Certificate, serve: (socket: Socket) => void) =>
  (socket: Socket): void => {
    socket.once('data', () => {
      socket.write('S')
      const secured = new TLSSocket(socket, { isServer: true, cert, key })
      secured.on('error', () => undefined)
      serve(secured)
    })
  }

/** Encodes a message of the PostgreSQL protocol. */
export function message(letter: string, body: string | Buffer, lengthBytes?: number): Buffer {
  const bytes = Buffer.from(body)
  const header = Buffer.alloc(5)
  header.write(letter, 'latin1')
  header.writeUInt32BE(lengthBytes ?? bytes.length + 4, 1)
  return Buffer.concat([header, bytes])
}

/** An Authentication request message. */
export function signInRequest(kind: number): Buffer {
  const body = Buffer.alloc(4)
  body.writeUInt32BE(kind)
  return message('R', body)
}
