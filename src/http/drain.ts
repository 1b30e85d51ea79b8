// Graceful shutdown: stops accepting connections and finishes the requests in progress.
import { once } from 'node:events'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

const longestMs = 10_000
/** How long idle connections stay open: a request may already be on its way. */
const idleMs = 500
/** Limit for accepting the connections that the kernel holds; new ones may keep arriving. */
const longestAcceptingMs = 250

export interface Drain {
  /** Whether responses close their connections. Only after listening has stopped: otherwise clients would reconnect here. */
  isHangingUp(): boolean
  run(): Promise<void>
}

/** Must be called before the server listens. */
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

  /** Node accepts one connection per event-loop turn, and the kernel resets those that are still queued when listening stops. */
  async function acceptQueued(): Promise<void> {
    const deadlineMs = performance.now() + longestAcceptingMs
    let before: number
    // The first immediate may still run in the current event-loop turn, which accepts nothing.
    await nextTurn()
    do {
      before = accepted
      await nextTurn()
    } while (accepted > before && performance.now() < deadlineMs)
  }

  async function run(): Promise<void> {
    const cut = setTimeout(() => http.closeAllConnections(), longestMs)
    await acceptQueued()
    const allGone = new AbortController()
    const gone = once(http, 'close')
    // The `close` of http would drop idle connections, on which a client may be sending a request. This one keeps them: each gets
    // its response, with `Connection: close`.
    Server.prototype.close.call(http)
    isHangingUp = true
    await Promise.race([gone, sleep(idleMs, undefined, { signal: allGone.signal })])
    allGone.abort()
    // Requests that arrived while this process waited for the CPU are read first.
    await nextTurn()
    for (const socket of silent) socket.destroy()
    const idle = setInterval(() => http.closeIdleConnections(), 50)
    await server.close()
    clearInterval(idle)
    clearTimeout(cut)
  }

  return { isHangingUp: () => isHangingUp, run }
}
