// Common parts of a run, whatever its source: Penstock processes, an engine behind a fault proxy, one pipe, and a folder with
// logs and history that is kept after a failure.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { SqliteConnection } from '../src/database/sqlite.ts'
import type { PipeMetrics } from '../src/progress/progress.ts'
import type { EngineServer } from '../test/real/servers/engine.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { type History, makeHistory } from './history.ts'
import { type Installation, initialize, makePenstock, type PenstockProcess } from './penstock-process.ts'

export interface StageOptions {
  engine: EngineServer
  /** Unique per engine. */
  database: string
  /** URL of a PostgreSQL database; default: SQLite. */
  databaseUrl?: string | undefined
  processes?: number | undefined
  /** Additional environment variables of Penstock. */
  environment?: Record<string, string> | undefined
}

export interface Stage {
  engine: EngineServer
  /** Between Penstock and the engine. */
  faultProxy: FaultProxy
  penstocks: PenstockProcess[]
  history: History
  /** Empty until the pipe is created. */
  readonly pipePath: string
  createPipe(body: object): Promise<void>
  metrics(): Promise<PipeMetrics>
  /** Calls the first running process. */
  call<Result>(method: string, path: string, body?: object): Promise<Result>
  /** Queries the database of Penstock. */
  select<Row>(sql: string): Promise<Row[]>
  /** Stops everything. After a failure, keeps the folder with logs and history and returns its path. */
  close(isFailure: boolean): Promise<string | undefined>
}

export async function makeStage(options: StageOptions): Promise<Stage> {
  const { engine, database, databaseUrl, processes = 1, environment = {} } = options
  const history = makeHistory()
  const folder = mkdtempSync(join(tmpdir(), 'penstock-chaos-'))
  const installation: Installation = { folder, databaseUrl, environment }
  const key = await initialize(installation)
  const faultProxy = await startFaultProxy(engine)
  const penstocks = Array.from({ length: processes }, (_, index) =>
    makePenstock(installation, key, { name: `Penstock ${index + 1}`, history }),
  )
  await engine.query(`CREATE DATABASE ${database}`)
  await penstocks[0]?.start()

  let pipePath = ''
  const call: Stage['call'] = (method, path, body) => {
    const running = penstocks.find(({ isRunning }) => isRunning)
    if (!running) throw new Error('no Penstock process is running')
    return running.call(method, path, body)
  }
  return {
    engine,
    faultProxy,
    penstocks,
    history,
    get pipePath() {
      return pipePath
    },
    async createPipe(body) {
      const service = await call<{ id: string }>('POST', '/services', serviceOf(engine, faultProxy))
      const pipe = await call<{ id: string }>('POST', `/services/${service.id}/pipes`, body)
      pipePath = `/services/${service.id}/pipes/${pipe.id}`
      history.note(`the pipe ${pipe.id} is created`)
    },
    metrics: () => call('GET', `${pipePath}/metrics`),
    call,
    select: <Row>(sql: string) => selectFrom<Row>(installation, sql),
    async close(isFailure) {
      for (const penstock of penstocks) {
        penstock.thaw()
        await penstock.kill()
      }
      await faultProxy.close()
      if (!isFailure) {
        rmSync(folder, { recursive: true, force: true })
        await engine.query(`DROP DATABASE ${database}`).catch(() => undefined)
        return undefined
      }
      writeFileSync(join(folder, 'history.txt'), history.text())
      for (const [index, penstock] of penstocks.entries()) {
        writeFileSync(join(folder, `penstock-${index + 1}.log`), penstock.logged())
      }
      return folder
    },
  }
}

function serviceOf({ user }: EngineServer, { url }: FaultProxy): object {
  const { username, password } = user
  return { name: 'chaos', provider: 'aws', region: 'eu-west-1', endpoint: { url, username, password } }
}

async function selectFrom<Row>({ folder, databaseUrl }: Installation, sql: string): Promise<Row[]> {
  if (databaseUrl === undefined) {
    const connection = new SqliteConnection(join(folder, 'penstock.db'), { readOnly: true })
    try {
      return connection.database.prepare(sql).all() as Row[]
    } finally {
      connection.close()
    }
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}
