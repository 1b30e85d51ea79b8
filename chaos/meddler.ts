// Stands between Penstock and an engine, knows where a request begins, goes on and is answered, and strikes at exactly that
// moment: so every gap between two steps of an insert can be met, without a switch in the product.
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, startWay, type Way } from './way.ts'

export interface Moment {
  /** The statements that are meant; of those that are no inserts, nothing is known. */
  of: RegExp
  /** So many of them pass before. */
  skip: number
  /** `end`: everything was sent. `answer`: the engine has answered. `answered`: and Penstock knows. */
  when: 'begin' | 'middle' | 'end' | 'answer' | 'answered'
  /** Of `middle`: after so many bytes, or when the request ends before. */
  afterBytes: number
}

/**
 * What becomes of the connection after the strike. `cut`: both sides see its end, and what had come is there. `late`: Penstock sees its end, and the
 * engine gets the whole request when everybody has forgotten about it.
 */
export type Fate = 'pass' | 'cut' | 'late'

export interface Strike {
  moment: Moment
  fate: Fate
  lateMs: number
  /** Is told how the request begins. */
  act(request: string): void
}

export interface Meddler extends Way {
  /** Whether it came to the strike before the signal. Only one at a time. */
  strikeOnce(strike: Strike, signal: AbortSignal): Promise<boolean>
}

interface Armed {
  strike: Strike
  left: number
  struck(): void
}

export async function startMeddler(target: Address): Promise<Meddler> {
  let armed: Armed | undefined

  /** The strike, when it is meant for the request that begins with this. */
  const claim = (head: string): Armed | undefined => {
    if (!armed || !/^(?:POST|GET) /.test(head) || !armed.strike.moment.of.test(statementIn(head))) return undefined
    if (armed.left-- > 0) return undefined
    const claimed = armed
    armed = undefined
    return claimed
  }
  const way = await startWay(target, (client, engine) => meddle(client, engine, claim))

  return {
    ...way,
    async strikeOnce(strike, signal) {
      const struck = Promise.withResolvers<boolean>()
      armed = { strike, left: strike.moment.skip, struck: () => struck.resolve(true) }
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

/** Empty unless it stands in the address, as that of an insert does. */
function statementIn(head: string): string {
  const [, written = ''] = /[?&]query=([^& ]*)/.exec(head) ?? []
  return decodeURIComponent(written.replaceAll('+', ' '))
}

/** Of a request that is sent in chunks, as all are. */
const lastChunk = Buffer.from('0\r\n\r\n')

function meddle(client: Socket, engine: Socket, claim: (head: string) => Armed | undefined): void {
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
    const { act, fate, lateMs } = struck.strike
    act(statementIn(head))
    if (fate === 'cut') end()
    if (fate === 'late') {
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
    const { moment, fate } = trap.strike
    if (fate === 'late') {
      held.push(chunk)
      if (isEnd) strike()
      return
    }
    if (moment.when === 'begin') return strikeThenPass(chunk)
    if (moment.when === 'middle' && (isEnd || passedBytes + chunk.length >= moment.afterBytes)) {
      const until = Math.min(chunk.length - (isEnd ? 1 : 0), Math.max(0, moment.afterBytes - passedBytes))
      engine.write(chunk.subarray(0, until))
      return strikeThenPass(chunk.subarray(until))
    }
    passedBytes += chunk.length
    engine.write(chunk)
    if (moment.when === 'end' && isEnd) strike()
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
    if (trap?.strike.moment.when === 'answer') strike()
    if (client.destroyed) return
    client.write(chunk)
    if (trap?.strike.moment.when === 'answered') strike()
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
