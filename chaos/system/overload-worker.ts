// Thread that sends requests as bytes over many connections, either as fast as they are answered or at a fixed rate. It only
// counts answers by status, so that it can send more than Penstock can handle.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

export interface LoadOptions {
  port: number
  connections: number
  seconds: number
  /** Undefined: the next request follows each answer. */
  perSecond?: number
  /** Complete requests, sent round robin. */
  requests: string[]
  /** Most outstanding requests per connection. */
  mostUnanswered?: number
  /** Local addresses of the connections, used round robin. */
  addresses?: string[]
}

export interface LoadResult {
  sent: number
  /** Requests due while every connection was waiting for answers. */
  notSent: number
  statuses: Record<string, number>
  /** Connections that were closed early. */
  broken: number
  /** Connections without any answer in the second half of the time. */
  silent: number
}

const tickMs = 5
/** Wait for the last answers, without a fixed rate only. */
const lastAnswersMs = 2_000

if (parentPort) parentPort.postMessage(await sendLoad(workerData as LoadOptions))

async function sendLoad(options: LoadOptions): Promise<LoadResult> {
  const { port, requests, mostUnanswered = 4, addresses = ['127.0.0.1'] } = options
  const result: LoadResult = { sent: 0, notSent: 0, statuses: {}, broken: 0, silent: 0 }
  const isPaced = options.perSecond !== undefined
  let isOver = false
  const take = (count: number): string => {
    let text = ''
    for (let number = 0; number < count; number++) text += requests[result.sent++ % requests.length]
    return text
  }

  const begunAtMs = performance.now()
  const isSecondHalf = (): boolean => performance.now() - begunAtMs > options.seconds * 500
  /** Connections with an answer in the second half. */
  const answered = new Set<number>()
  /** Number of outstanding requests by socket. */
  const sockets = new Map<Socket, number>()
  const open = (connectionIndex: number): void => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: addresses[connectionIndex % addresses.length]! })
    socket.setNoDelay(true)
    sockets.set(socket, 0)
    let rest = ''
    if (!isPaced) socket.on('connect', () => socket.write(take(1)))
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      const text = rest + chunk
      let from = 0
      for (
        let at = text.indexOf('HTTP/1.1 ');
        at >= 0 && at + 12 <= text.length;
        at = text.indexOf('HTTP/1.1 ', from)
      ) {
        from = at + 12
        const status = text.slice(at + 9, from)
        if (status === '100') continue
        if (isSecondHalf()) answered.add(connectionIndex)
        result.statuses[status] = (result.statuses[status] ?? 0) + 1
        sockets.set(socket, (sockets.get(socket) ?? 1) - 1)
        if (!isPaced && !isOver) socket.write(take(1))
      }
      rest = text.slice(Math.max(from, text.length - 11))
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      if (isOver) return
      result.broken++
      setTimeout(() => {
        if (!isOver) open(connectionIndex)
      }, 50)
    })
  }
  for (let connectionIndex = 0; connectionIndex < options.connections; connectionIndex++) {
    open(connectionIndex)
    // Opening all at once would exceed the listen backlog of the kernel.
    if (connectionIndex % 50 === 49) await sleep(10)
  }

  let wanted = 0
  while (performance.now() - begunAtMs < options.seconds * 1000) {
    await sleep(tickMs)
    if (options.perSecond === undefined) continue
    const due = Math.floor(((performance.now() - begunAtMs) / 1000) * options.perSecond) - wanted
    wanted += due
    let left = due
    for (const [socket, unanswered] of [...sockets]) {
      if (left === 0) break
      if (socket.connecting || unanswered >= mostUnanswered) continue
      const count = Math.min(mostUnanswered - unanswered, left)
      socket.write(take(count))
      left -= count
      // Moves the socket to the end, so that the next round starts with other connections.
      sockets.delete(socket)
      sockets.set(socket, unanswered + count)
    }
    result.notSent += left
  }
  if (!isPaced) await sleep(Math.min(lastAnswersMs, options.seconds * 100))
  isOver = true
  result.silent = options.connections - answered.size
  for (const socket of sockets.keys()) socket.destroy()
  return result
}
