// Shutting down without dropping a request: stop accepting, finish what is under way, and wait for nothing else.
import { once } from 'node:events'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

const longestMs = 10_000
/** Whoever asks nothing gets this long: a request may be in the kernel already, or on its way. */
const atRestMs = 500
/** For connections that the kernel holds; more may come all the time. */
const longestAcceptingMs = 250

export interface Drain {
  /** Whether the answers given now are the last ones on their connections. Not before nobody listens: who goes comes back. */
  isHangingUp(): boolean
  run(): Promise<void>
}

/** Call before the server listens. */
export function prepareDrain(server: FastifyInstance): Drain {
  const http = server.server
  const silent = new Set<Socket>()
  let isHangingUp = false
  let accepted = 0
  http.on('connection', (socket) => {
    accepted++
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  http.prependListener('request', (request, response) => {
    silent.delete(request.socket)
    if (isHangingUp) response.setHeader('connection', 'close')
  })

  /** The kernel hands over one connection in a turn, and resets what it still holds when nobody listens any more. */
  async function acceptTheRest(): Promise<void> {
    const deadlineMs = performance.now() + longestAcceptingMs
    let before: number
    // The first turn may be the rest of the present one, in which the kernel is not asked.
    await nextTurn()
    do {
      before = accepted
      await nextTurn()
    } while (accepted > before && performance.now() < deadlineMs)
  }

  async function run(): Promise<void> {
    const cut = setTimeout(() => http.closeAllConnections(), longestMs)
    await acceptTheRest()
    const allGone = new AbortController()
    const gone = once(http, 'close')
    // Not that of http, which hangs up on clients at rest: one that keeps its connection may be sending at this moment. It gets
    // its answer, and with it the word to go.
    Server.prototype.close.call(http)
    isHangingUp = true
    await Promise.race([gone, sleep(atRestMs, undefined, { signal: allGone.signal })])
    allGone.abort()
    // What came while this process had to wait for its turn is read first.
    await nextTurn()
    for (const socket of silent) socket.destroy()
    const idle = setInterval(() => http.closeIdleConnections(), 50)
    await server.close()
    clearInterval(idle)
    clearTimeout(cut)
  }

  return { isHangingUp: () => isHangingUp, run }
}
