// Stands between a client and an engine: holds a request back, forgets an answer, or cuts a body short.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface HoldingProxy {
  port: number
  /** The next connection on which this text is sent waits with it. `held` resolves when it does. */
  hold(text: string): { held: Promise<void>; release(): void }
  /** What is answered to the next request with this text is not passed on: the connection breaks instead. */
  loseAnswer(text: string): void
  /** The next connection breaks after so many bytes were sent on it since now. */
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

/** The statement of an insert stands in the address. */
function shownText(chunk: Buffer): string {
  const decode = (_all: string, digits: string): string => String.fromCharCode(Number.parseInt(digits, 16))
  return chunk
    .toString('latin1')
    .replaceAll('+', ' ')
    .replaceAll(/%([\da-f]{2})/gi, decode)
}
