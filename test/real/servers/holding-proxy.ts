// Proxy between a client and an engine that delays a request, drops an answer, or truncates a body.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface HoldingProxy {
  port: number
  /** Holds the next connection on which this text is sent. `held` resolves when it is held. */
  hold(text: string): { held: Promise<void>; release(): void }
  /** Drops the answer to the next request with this text, and closes the connection. */
  loseAnswer(text: string): void
  /** Closes the next connection after it sent this many bytes from now on. */
  cutAfter(sentBytes: number): void
  close(): Promise<void>
}

interface Trap {
  text: string
  kind: 'hold' | 'lose'
  met(): void
  released: Promise<void>
}

export async function startHoldingProxy(to: { host: string; port: number }): Promise<HoldingProxy> {
  const traps: Trap[] = []
  const sockets = new Set<Socket>()
  let bytesUntilCut = Number.POSITIVE_INFINITY

  const server = createServer((client) => {
    const engine = connect(to.port, to.host)
    let isLosing = false
    for (const socket of [client, engine]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        engine.destroy()
      })
    }
    client.on('data', async (chunk: Buffer) => {
      client.pause()
      const sent = chunk.subarray(0, bytesUntilCut)
      bytesUntilCut -= sent.length
      const shown = shownText(chunk)
      const trap = traps.find(({ text }) => shown.includes(text))
      if (trap) {
        traps.splice(traps.indexOf(trap), 1)
        trap.met()
        if (trap.kind === 'lose') isLosing = true
        else await trap.released
      }
      engine.write(sent)
      if (bytesUntilCut === 0) {
        bytesUntilCut = Number.POSITIVE_INFINITY
        client.destroy()
        return
      }
      client.resume()
    })
    engine.on('data', (chunk) => {
      if (isLosing) client.destroy()
      else client.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    hold(text) {
      const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      traps.push({ text, kind: 'hold', met: held.resolve, released: released.promise })
      return { held: held.promise, release: released.resolve }
    },
    loseAnswer(text) {
      traps.push({ text, kind: 'lose', met: () => undefined, released: Promise.resolve() })
    },
    cutAfter(sentBytes) {
      bytesUntilCut = sentBytes
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The statement of an insert is in the URL. */
function shownText(chunk: Buffer): string {
  const decode = (_all: string, digits: string): string => String.fromCharCode(Number.parseInt(digits, 16))
  return chunk
    .toString('latin1')
    .replaceAll('+', ' ')
    .replaceAll(/%([\da-f]{2})/gi, decode)
}
