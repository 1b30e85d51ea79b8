// Shutting down without dropping a request: stop accepting, finish what is under way, and wait for nothing else.
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const longestMs = 10_000
/** A connection that has sent nothing yet gets this long: its request may be in the kernel already. */
const silentMs = 500

/** Call before the server listens; call what it returns to shut it down. */
export function prepareDrain(server: FastifyInstance): () => Promise<void> {
  const http = server.server
  const silent = new Set<Socket>()
  http.on('connection', (socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  http.on('request', (request) => silent.delete(request.socket))

  return async () => {
    const idle = setInterval(() => http.closeIdleConnections(), 50)
    const hangUp = setTimeout(() => {
      for (const socket of silent) socket.destroy()
    }, silentMs)
    const cut = setTimeout(() => http.closeAllConnections(), longestMs)
    await server.close()
    clearInterval(idle)
    clearTimeout(hangUp)
    clearTimeout(cut)
  }
}
