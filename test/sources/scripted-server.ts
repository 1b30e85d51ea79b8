// A server with responses from the test.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'

export interface ScriptedServer {
  /** `http://127.0.0.1:port` */
  url: string
  requests: IncomingMessage[]
  stop(): Promise<void>
}

export async function startScripted(answer: RequestListener): Promise<ScriptedServer> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  const url = await listen(server)
  const stop = (): Promise<void> => {
    server.closeAllConnections()
    return close(server)
  }
  return { url, requests, stop }
}

/** Accepts connections, and sends nothing. `left` resolves when the last client has disconnected. */
export async function startSilent(): Promise<{ url: string; left(): Promise<void>; stop(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  })
  const url = await listen(server)
  const left = async (): Promise<void> => {
    for (const socket of sockets) await new Promise((resolve) => socket.once('close', resolve))
  }
  const stop = (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    return close(server)
  }
  return { url, left, stop }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
