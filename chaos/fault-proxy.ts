// Proxy between Penstock and an engine that injects a fault at an exact point of a request. This covers every gap between two
// steps of an insert without a switch in the product.
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

export interface InjectionPoint {
  /** Matches the statement of an insert; other statements are not known and match as the empty string. */
  of: RegExp
  /** Number of matching requests to let pass first. */
  skip: number
  /** `end`: the request was sent completely. `answer`: the engine has answered. `answered`: Penstock has received the answer. */
  when: 'begin' | 'middle' | 'end' | 'answer' | 'answered'
  /** For `middle`: number of bytes to forward first; earlier if the request ends. */
  afterBytes: number
}

/**
 * What happens to the connection at the injection point. `cut`: both sides are closed; bytes already forwarded stay. `late`: the
 * side of Penstock is closed, and the engine gets the whole request `lateMs` later.
 */
export type ConnectionFault = 'pass' | 'cut' | 'late'

export interface Injection {
  point: InjectionPoint
  connectionFault: ConnectionFault
  lateMs: number
  /** Called with the statement of the request. */
  act(request: string): void
}

export interface FaultProxy extends TcpProxy {
  /** Resolves to whether the injection point was reached before the signal. Only one injection at a time. */
  injectOnce(strike: Injection, signal: AbortSignal): Promise<boolean>
}

interface Armed {
  strike: Injection
  left: number
  struck(): void
}

export async function startFaultProxy(target: Address): Promise<FaultProxy> {
  let armed: Armed | undefined

  /** Takes the pending injection if the request matches it. */
  const claim = (head: string): Armed | undefined => {
    if (!armed || !/^(?:POST|GET) /.test(head) || !armed.strike.point.of.test(statementIn(head))) return undefined
    if (armed.left-- > 0) return undefined
    const claimed = armed
    armed = undefined
    return claimed
  }
  const proxy = await startTcpProxy(target, (client, engine) => interceptConnection(client, engine, claim))

  return {
    ...proxy,
    async injectOnce(strike, signal) {
      const struck = Promise.withResolvers<boolean>()
      armed = { strike, left: strike.point.skip, struck: () => struck.resolve(true) }
      const giveUp = (): void => {
        armed = undefined
        struck.resolve(false)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      try {
        return await struck.promise
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
    },
  }
}

/** Statement in the URL, as inserts send it; otherwise empty. */
function statementIn(head: string): string {
  const [, written = ''] = /[?&]query=([^& ]*)/.exec(head) ?? []
  return decodeURIComponent(written.replaceAll('+', ' '))
}

/** End of a chunked request; all inserts are chunked. */
const lastChunk = Buffer.from('0\r\n\r\n')

function interceptConnection(client: Socket, engine: Socket, claim: (head: string) => Armed | undefined): void {
  let trap: Armed | undefined
  let isAnswered = true
  let isLeftAlone = false
  let passedBytes = 0
  let head = ''
  const held: Buffer[] = []

  const strike = (): void => {
    const struck = trap
    trap = undefined
    if (!struck) return
    const { act, connectionFault, lateMs } = struck.strike
    act(statementIn(head))
    if (connectionFault === 'cut') end()
    if (connectionFault === 'late') {
      isLeftAlone = true
      client.destroy()
      void sendLate(engine, Buffer.concat(held), lateMs)
    }
    struck.struck()
  }
  const end = (): void => {
    client.destroy()
    engine.destroy()
  }

  client.on('data', (chunk: Buffer) => {
    if (isAnswered) {
      isAnswered = false
      passedBytes = 0
      head = chunk.subarray(0, 16_384).toString('latin1')
      trap = claim(head)
    }
    const isEnd = chunk.subarray(-lastChunk.length).equals(lastChunk)
    if (!trap) {
      engine.write(chunk)
      return
    }
    const { point, connectionFault } = trap.strike
    if (connectionFault === 'late') {
      held.push(chunk)
      if (isEnd) strike()
      return
    }
    if (point.when === 'begin') return strikeThenPass(chunk)
    if (point.when === 'middle' && (isEnd || passedBytes + chunk.length >= point.afterBytes)) {
      const until = Math.min(chunk.length - (isEnd ? 1 : 0), Math.max(0, point.afterBytes - passedBytes))
      engine.write(chunk.subarray(0, until))
      return strikeThenPass(chunk.subarray(until))
    }
    passedBytes += chunk.length
    engine.write(chunk)
    if (point.when === 'end' && isEnd) strike()
  })
  const strikeThenPass = (rest: Buffer): void => {
    strike()
    if (!engine.destroyed) engine.write(rest)
  }
  engine.on('data', (chunk: Buffer) => {
    isAnswered = true
    if (isLeftAlone) {
      engine.destroy()
      return
    }
    if (trap?.strike.point.when === 'answer') strike()
    if (client.destroyed) return
    client.write(chunk)
    if (trap?.strike.point.when === 'answered') strike()
  })
  client.on('close', () => {
    if (!isLeftAlone) end()
  })
  engine.on('close', end)
}

async function sendLate(engine: Socket, request: Buffer, lateMs: number): Promise<void> {
  await sleep(lateMs, undefined, { ref: false })
  if (!engine.destroyed) engine.write(request)
}
