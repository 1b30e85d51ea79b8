// Penstock process with one pipe at a time: created over the API, and deleted when its rows have arrived.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeFlags } from '../../bin/launch.js'
import { findFreePort } from '../../src/lib/free-port.ts'
import type { PipeMetrics } from '../../src/progress/progress.ts'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { end, type Running, start, untilAnswers } from '../processes.ts'
import { makeSqliteStore, penstockEnvironment } from '../stores.ts'
import type { Feed } from './feeds.ts'
import { pipeOf, serviceOf, type TableRef } from './pipe-requests.ts'

export interface Penstock {
  pid: number
  /** Resolves with the path of the pipe, which runs from then on. */
  createPipe(feed: Feed, engine: EngineServer, table: TableRef): Promise<string>
  metrics(pipePath: string): Promise<PipeMetrics>
  command(pipePath: string, command: 'start' | 'stop'): Promise<void>
  untilState(pipePath: string, states: string[]): Promise<void>
  deletePipe(pipePath: string): Promise<void>
  stop(): Promise<void>
}

const root = join(import.meta.dirname, '..', '..')
const requestTimeoutMs = 30_000
const stateTimeoutMs = 30_000

export interface PenstockOptions {
  folder: string
  /** Flags of Node. */
  flags: string[]
  environment: Record<string, string>
}

export async function startPenstock(name: string, { folder, flags, environment }: PenstockOptions): Promise<Penstock> {
  const store = await makeSqliteStore(join(folder, name), { members: 0, pipes: 0 })
  const port = await findFreePort()
  const running = await start([...nodeFlags, ...flags, join(root, 'src', 'main.ts'), 'start'], {
    cwd: store.folder,
    env: {
      ...penstockEnvironment(store.folder, undefined),
      PENSTOCK_PORT: String(port),
      PENSTOCK_ALLOW_LOOPBACK: 'true',
      PENSTOCK_ALLOW_PLAINTEXT: 'true',
      PENSTOCK_RATE_LIMIT: '100000/1s',
      ...environment,
    },
    logFile: join(folder, `${name}.log`),
  })
  const url = `http://127.0.0.1:${port}`
  await untilAnswers(running, `${url}/ready`)
  const call = makeCall(`${url}/v1/organizations/${store.organizationId}`, store.authorization)
  return penstockOf(running, call)
}

type Call = <Result>(method: string, path: string, body?: object) => Promise<Result>

function makeCall(url: string, authorization: string): Call {
  return async <Result>(method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(requestTimeoutMs),
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (JSON.parse(text) as { result: Result }).result
  }
}

function penstockOf(running: Running, call: Call): Penstock {
  const services = new Map<EngineServer, Promise<{ id: string }>>()
  const serviceFor = (engine: EngineServer): Promise<{ id: string }> => {
    const service = services.get(engine) ?? call('POST', '/services', serviceOf(engine))
    services.set(engine, service)
    return service
  }
  return {
    pid: running.pid,
    async createPipe(feed, engine, table) {
      const { id: serviceId } = await serviceFor(engine)
      const pipe = await call<{ id: string }>('POST', `/services/${serviceId}/pipes`, pipeOf(feed, table))
      return `/services/${serviceId}/pipes/${pipe.id}`
    },
    metrics: (pipePath) => call('GET', `${pipePath}/metrics`),
    command: async (pipePath, command) => void (await call('PATCH', `${pipePath}/state`, { command })),
    untilState: (pipePath, states) => untilState(call, pipePath, states),
    async deletePipe(pipePath) {
      await call('PATCH', `${pipePath}/state`, { command: 'stop' }).catch(() => undefined)
      await untilState(call, pipePath, ['Stopped', 'Paused', 'Completed', 'Failed'])
      await call('DELETE', pipePath)
    },
    stop: () => end(running),
  }
}

async function untilState(call: Call, pipePath: string, states: string[]): Promise<void> {
  const deadlineMs = Date.now() + stateTimeoutMs
  for (;;) {
    const { state, stateReason } = await call<PipeMetrics>('GET', `${pipePath}/metrics`)
    if (states.includes(state)) return
    if (Date.now() > deadlineMs)
      throw new Error(`a pipe is ${state} (${stateReason}) instead of ${states.join(' or ')}`)
    await sleep(50)
  }
}
