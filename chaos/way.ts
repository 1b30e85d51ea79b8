// A way over TCP to some server, which can be blocked.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Way {
  /** `http://127.0.0.1:port` */
  url: string
  /** Breaks all connections, and lets nobody through until `restore`. */
  breakOff(): void
  restore(): void
  close(): Promise<void>
}

export interface Address {
  host: string
  port: number
}

/** `join` ties the two sides of a connection together. */
export async function startWay(
  to: Address,
  join: (client: Socket, server: Socket) => void = joinPlainly,
): Promise<Way> {
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
  const breakOff = (): void => {
    isBlocked = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    breakOff,
    restore() {
      isBlocked = false
    },
    async close() {
      breakOff()
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
