// TCP proxy that can be blocked.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  /** `http://127.0.0.1:port` */
  url: string
  /** Closes all connections and refuses new ones until `restore`. */
  block(): void
  restore(): void
  close(): Promise<void>
}

export interface Address {
  host: string
  port: number
}

/** `join` connects the two sockets of a connection. */
export async function startTcpProxy(
  to: Address,
  join: (client: Socket, server: Socket) => void = joinPlainly,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isBlocked = false
  const listener = createServer((client) => {
    if (isBlocked) {
      client.destroy()
      return
    }
    const server = connect(to.port, to.host)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    join(client, server)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const block = (): void => {
    isBlocked = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    block,
    restore() {
      isBlocked = false
    },
    async close() {
      block()
      listener.close()
      await once(listener, 'close')
    },
  }
}

function joinPlainly(client: Socket, server: Socket): void {
  client.pipe(server)
  server.pipe(client)
  client.on('close', () => server.destroy())
  server.on('close', () => client.destroy())
}
