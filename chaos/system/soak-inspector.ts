// Live heap of a process started with --inspect, including its threads, measured after a full collection. Uses the debugger
// protocol, so that the product needs no switch for it.
import { setTimeout as sleep } from 'node:timers/promises'

export const inspectFlag = '--inspect=127.0.0.1:0'
const collections = 3
const answerTimeoutMs = 30_000

export interface Inspector {
  /** Sum over all threads, after a full collection. */
  liveBytes(): Promise<number>
  close(): void
}

interface Message {
  id?: number
  method?: string
  params?: { sessionId: string; message?: string }
  result?: Record<string, unknown>
}

type Send = (method: string, params?: object) => Promise<Record<string, unknown>>

/** `printed` returns the standard error of the process, which contains the address of the inspector. */
export async function openInspector(printed: () => string): Promise<Inspector> {
  let url: string | undefined
  for (let tries = 0; url === undefined; tries++) {
    if (tries > 100) throw new Error(`the process did not print the address of its inspector: ${printed()}`)
    url = /ws:\/\/127\.0\.0\.1:\d+\/\S+/.exec(printed())?.[0]
    if (url === undefined) await sleep(50)
  }
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', () => reject(new Error('the inspector does not answer')), { once: true })
  })
  const threads = new Map<string, ReturnType<typeof makeSession>>()
  const main = makeSession((message) => socket.send(message))
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    const { sessionId = '', message: inner } = message.params ?? {}
    if (message.method === 'NodeWorker.attachedToWorker') {
      const send = (text: string) => main.send('NodeWorker.sendMessageToWorker', { sessionId, message: text })
      threads.set(
        sessionId,
        makeSession((text) => void send(text)),
      )
    } else if (message.method === 'NodeWorker.detachedFromWorker') threads.delete(sessionId)
    else if (inner !== undefined) threads.get(sessionId)?.receive(JSON.parse(inner) as Message)
    else main.receive(message)
  })
  await main.send('NodeWorker.enable', { waitForDebuggerOnStart: false })
  return {
    async liveBytes() {
      const each = [main, ...threads.values()].map(async ({ send }) => {
        // Finalizers of one collection free memory for the next.
        for (let time = 0; time < collections; time++) await send('HeapProfiler.collectGarbage')
        return Number((await send('Runtime.getHeapUsage')).usedSize)
      })
      return (await Promise.all(each)).reduce((sum, bytes) => sum + bytes, 0)
    },
    close: () => socket.close(),
  }
}

function makeSession(post: (text: string) => void): { send: Send; receive(message: Message): void } {
  const waiting = new Map<number, (message: Message) => void>()
  let lastId = 0
  return {
    send: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = ++lastId
        const tooLate = setTimeout(() => reject(new Error(`no answer to ${method}`)), answerTimeoutMs)
        waiting.set(id, ({ result }) => {
          clearTimeout(tooLate)
          if (result) resolve(result)
          else reject(new Error(`the inspector refuses ${method}`))
        })
        post(JSON.stringify({ id, method, params }))
      }),
    receive: (message) => {
      if (message.id === undefined) return
      waiting.get(message.id)?.(message)
      waiting.delete(message.id)
    },
  }
}
