// Proxy for a Kafka listener without TLS that changes responses: older versions, moved leaders, broken connections, invalid data.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Exchange {
  apiKey: number
  apiVersion: number
  /** Number of earlier requests with this API key, on all connections. */
  count: number
  /** The response, starting with its correlation id. */
  answer: Buffer
}

/** Returns the response, another one, or what to do instead. */
export type Alter = (exchange: Exchange) => Buffer | 'break off' | 'be silent'

export interface KafkaProxy {
  /** host:port. */
  address: string
  /** Connections with Kafka requests. */
  connectionCount(): number
  stop(): Promise<void>
}

/** Advertised addresses are replaced by that of the proxy. */
export async function startKafkaProxy(target: string, alter: Alter): Promise<KafkaProxy> {
  const [host, port] = target.split(':')
  const counts = new Map<number, number>()
  let connectionCount = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const pending = new Map<number, { apiKey: number; apiVersion: number; count: number }>()
    const upstream = connect(Number(port), host)
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end).on('close', end)
    }
    client.on(
      'data',
      splitFrames((request) => {
        const apiKey = request.readInt16BE(0)
        const count = counts.get(apiKey) ?? 0
        counts.set(apiKey, count + 1)
        if (pending.size === 0) connectionCount++
        pending.set(request.readInt32BE(4), { apiKey, apiVersion: request.readInt16BE(2), count })
        upstream.write(frame(request))
      }, end),
    )
    upstream.on(
      'data',
      splitFrames((answer) => {
        const request = pending.get(answer.readInt32BE(0))
        const altered = request && alter({ ...request, answer: redirect(answer, Number(port), ownPort) })
        if (Buffer.isBuffer(altered)) client.write(frame(altered))
        else if (altered !== 'be silent') end()
      }, end),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: ownPort } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${ownPort}`,
    connectionCount: () => connectionCount,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function frame(body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length)
  return Buffer.concat([length, body])
}

/** The port follows its host, as four bytes. */
function redirect(answer: Buffer, from: number, to: number): Buffer {
  const host = Buffer.from('127.0.0.1')
  const redirected = Buffer.from(answer)
  for (let at = redirected.indexOf(host); at >= 0; at = redirected.indexOf(host, at + 1)) {
    const portAt = at + host.length
    if (portAt + 4 <= redirected.length && redirected.readInt32BE(portAt) === from) redirected.writeInt32BE(to, portAt)
  }
  return redirected
}

/** Ends at bytes that are not a request, such as a TLS handshake. */
function splitFrames(take: (body: Buffer) => void, end: () => void): (chunk: Buffer) => void {
  let bytes = Buffer.alloc(0)
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 4) {
      const length = bytes.readInt32BE(0)
      if (length < 0 || length > 10_000_000) return end()
      if (bytes.length < 4 + length) return
      take(bytes.subarray(4, 4 + length))
      bytes = bytes.subarray(4 + length)
    }
  }
}

/** ApiVersions response of a broker without newer versions than these, by API key. */
export function withOlderVersions(answer: Buffer, newest: Record<number, number>): Buffer {
  const older = Buffer.from(answer)
  const count = older.readInt32BE(6)
  for (let at = 10; at < 10 + count * 6; at += 6) {
    const limit = newest[older.readInt16BE(at)]
    if (limit !== undefined) older.writeInt16BE(Math.min(limit, older.readInt16BE(at + 4)), at + 4)
  }
  return older
}

/** Runs the function with a proxy. */
export async function throughKafkaProxy(
  target: string,
  alter: Alter,
  use: (proxy: KafkaProxy) => Promise<void>,
): Promise<void> {
  const proxy = await startKafkaProxy(target, alter)
  try {
    await use(proxy)
  } finally {
    await proxy.stop()
  }
}
