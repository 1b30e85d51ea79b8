// A server with HTTP/1.1 and HTTP/2 on the same port, as AWS has: by ALPN with TLS, and by the first bytes without.
import { createServer as createHttpServer } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Certificate } from './certificates.ts'

export type Handle = (request: Http2ServerRequest, response: Http2ServerResponse) => void

export interface BothHttp {
  url: string
  connections(): number
  stop(): Promise<void>
}

export interface BothHttpOptions {
  tls?: Certificate | undefined
  /** Without it, HTTP/1.1 only. */
  hasHttp2: boolean
}

export async function startBothHttp({ tls, hasHttp2 }: BothHttpOptions, handle: Handle): Promise<BothHttp> {
  const open = new Set<Socket>()
  const server = tls ? secureServer(tls, hasHttp2, handle) : plainServer(hasHttp2, handle)
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => open.size,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/** Requests and responses of both versions have the same interface as far as it is used here. */
type HandleOfHttp1 = Parameters<typeof createHttpServer>[1]

function secureServer(tls: Certificate, hasHttp2: boolean, handle: Handle): Server {
  if (!hasHttp2) return createHttpsServer(tls, handle as unknown as HandleOfHttp1)
  return quiet(createSecureServer({ ...tls, allowHTTP1: true }, handle)) as unknown as Server
}

function plainServer(hasHttp2: boolean, handle: Handle): Server {
  const http1 = createHttpServer(handle as unknown as HandleOfHttp1)
  if (!hasHttp2) return http1
  const http2 = quiet(createHttp2Server(handle))
  return createServer((socket) => {
    socket.once('data', (first: Buffer) => {
      socket.pause()
      socket.unshift(first)
      const chosen = first.subarray(0, 3).equals(Buffer.from('PRI')) ? http2 : http1
      chosen.emit('connection', socket)
      process.nextTick(() => socket.resume())
    })
  })
}

/** Tests break connections. */
function quiet<Server extends Http2Server | ReturnType<typeof createSecureServer>>(server: Server): Server {
  server.on('sessionError', () => undefined)
  server.on('session', (session) => session.on('error', () => undefined))
  return server
}
