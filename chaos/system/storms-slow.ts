// Thread with slow connections: headers byte by byte, bodies byte by byte, answers that are not read, and idle connections.
// Reopens each connection that Penstock closes.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

export interface SlowOptions {
  port: number
  connections: number
  seconds: number
  /** A complete read request with a valid key. */
  read: string
  /** Headers of a change whose body never arrives completely. */
  changeHead: string
  address: string
}

export interface SlowResult {
  opened: number
  /** Closed by Penstock, which is allowed. */
  closed: number
  mostOpen: number
}

const dripEveryMs = 1_000

type Kind = (socket: Socket, options: SlowOptions) => (() => void) | undefined

const dripHeader: Kind = (socket, { read }) => {
  let at = 0
  return () => socket.write(read[at++ % (read.length - 2)]!)
}
const dripBody: Kind = (socket, { changeHead }) => {
  socket.write(changeHead)
  return () => socket.write(' ')
}
const neverRead: Kind = (socket, { read }) => {
  socket.pause()
  socket.write(read.repeat(20))
  return undefined
}
const silence: Kind = () => undefined
const kinds = [dripHeader, dripBody, neverRead, silence]

if (parentPort) parentPort.postMessage(await holdConnections(workerData as SlowOptions))

async function holdConnections(options: SlowOptions): Promise<SlowResult> {
  const { port, address } = options
  const result: SlowResult = { opened: 0, closed: 0, mostOpen: 0 }
  const drips = new Map<Socket, (() => void) | undefined>()
  let isOver = false
  const open = (place: number): void => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: address })
    result.opened++
    drips.set(socket, undefined)
    result.mostOpen = Math.max(result.mostOpen, drips.size)
    const kind = kinds[place % kinds.length]!
    socket.on('connect', () => drips.set(socket, kind(socket, options)))
    if (kind !== neverRead) socket.resume()
    socket.on('error', () => undefined)
    socket.on('close', () => {
      drips.delete(socket)
      if (isOver) return
      result.closed++
      setTimeout(() => {
        if (!isOver) open(place)
      }, 100)
    })
  }
  for (let place = 0; place < options.connections; place++) {
    open(place)
    if (place % 50 === 49) await sleep(10)
  }
  const endsAtMs = performance.now() + options.seconds * 1000
  while (performance.now() < endsAtMs) {
    await sleep(dripEveryMs)
    for (const drip of drips.values()) drip?.()
  }
  isOver = true
  for (const socket of drips.keys()) socket.destroy()
  return result
}
