// Unexpected servers: silent ones, closed ports, web servers, and invalid certificates.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Certificate } from './certificates.ts'

export interface OddServer {
  port: number
  /** Open connections. */
  connections(): number
  /** Connections accepted so far. */
  accepted(): number
  nextAccepted(): Promise<unknown>
  stop(): Promise<void>
}

async function listen(server: Server): Promise<OddServer> {
  const open = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket: Socket) => {
    accepted++
    open.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => open.size,
    accepted: () => accepted,
    nextAccepted: () => once(server, 'connection'),
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/** Accepts connections, and sends nothing. */
export function startSilent(): Promise<OddServer> {
  return listen(createServer((socket) => socket.resume()))
}

/** Answers any data with these bytes, and closes the connection. */
export function startBabbling(text: string): Promise<OddServer> {
  return listen(createServer((socket) => socket.once('data', () => socket.end(text))))
}

/** A web server with a fixed response. */
export function startWeb(status: number, contentType: string, body: string): Promise<OddServer> {
  return listen(
    createHttpServer((request, response) => {
      request.resume()
      response.writeHead(status, { 'content-type': contentType }).end(body)
    }),
  )
}

/** Completes TLS handshakes with this certificate, and sends nothing more. */
export function startTls(certificate: Certificate): Promise<OddServer> {
  const server = createTlsServer(certificate)
  server.on('tlsClientError', () => undefined)
  return listen(server)
}

/** A port without a listener. */
export async function closedPort(): Promise<number> {
  const server = await startSilent()
  await server.stop()
  return server.port
}
