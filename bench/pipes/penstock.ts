// Penstock as a process, with one pipe at a time: created over the API, and deleted when its rows have arrived.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeFlags } from '../../bin/launch.js'
import type { PipeMetrics } from '../../src/progress/progress.ts'
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { end, freePort, type Running, start, untilAnswers } from '../processes.ts'
import { makeSqliteStore, penstockEnvironment } from '../stores.ts'
import type { Feed } from './feeds.ts'
import { columns, sortingKey } from './orders.ts'

export interface Penstock {
  pid: number
  /** Resolves with its path when it is created; from then on it runs. */
  createPipe(feed: Feed, engine: EngineServer, table: TablePlace): Promise<string>
  metrics(pipePath: string): Promise<PipeMetrics>
  deletePipe(pipePath: string): Promise<void>
  stop(): Promise<void>
}

export interface TablePlace {
  database: string
  table: string
}

const root = join(import.meta.dirname, '..', '..')
const requestTimeoutMs = 30_000
const goneTimeoutMs = 30_000

/** `flags` are given to the Node that runs it. */
export async function startPenstock(folder: string, name: string, flags: string[]): Promise<Penstock> {
  const store = await makeSqliteStore(join(folder, name), { members: 0, pipes: 0 })
  const port = await freePort()
  const running = await start([...nodeFlags, ...flags, join(root, 'src', 'main.ts'), 'start'], {
    cwd: store.folder,
    env: {
      ...penstockEnvironment(store.folder, undefined),
      PENSTOCK_PORT: String(port),
      PENSTOCK_ALLOW_LOOPBACK: 'true',
      PENSTOCK_ALLOW_PLAINTEXT: 'true',
      PENSTOCK_RATE_LIMIT: '100000/1s',
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
    async deletePipe(pipePath) {
      await call('PATCH', `${pipePath}/state`, { command: 'stop' }).catch(() => undefined)
      const deadlineMs = Date.now() + goneTimeoutMs
      for (;;) {
        const { state } = await call<{ state: string }>('GET', pipePath)
        if (['Stopped', 'Completed', 'Failed'].includes(state) || Date.now() > deadlineMs) break
        await sleep(50)
      }
      await call('DELETE', pipePath)
    },
    stop: () => end(running),
  }
}

function serviceOf({ name, url, user }: EngineServer): object {
  return { name, provider: 'aws', region: 'eu-west-1', endpoint: { url, ...user } }
}

function pipeOf(feed: Feed, { database, table }: TablePlace): object {
  return {
    name: table,
    source: sourceOf(feed),
    destination: {
      database,
      table,
      columns,
      tableDefinition: { engine: { type: 'MergeTree' }, sortingKey },
    },
    // The last rows of a stream wait for more of them to come: by themselves 5 s, which would be most of what is measured.
    settings: { streaming_max_insert_wait_ms: 500 },
  }
}

function sourceOf(feed: Feed): object {
  if (feed.kind === 'kafka') {
    const { broker, username, password, topic } = feed
    return {
      kafka: {
        type: 'kafka',
        format: 'JSONEachRow',
        brokers: broker,
        topics: topic,
        authentication: 'PLAIN',
        credentials: { username, password },
        offset: { strategy: 'from_beginning' },
      },
    }
  }
  const { endpoint, bucket, accessKeyId, secretKey } = feed
  return {
    objectStorage: {
      type: 's3',
      format: 'JSONEachRow',
      url: `${endpoint}/${bucket}/orders/*.json`,
      authentication: 'IAM_USER',
      accessKey: { accessKeyId, secretKey },
    },
  }
}
