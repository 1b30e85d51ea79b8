// Common interface of the ClickHouse servers in tests. A shell restarts a killed engine on the same port and data; when that
// shell ends, the engine ends too.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from './server-process.ts'

export interface EngineUser {
  username: string
  password: string
}

/** A finished or failed query, without the data of an insert. */
export interface LoggedQuery {
  query: string
  /** Settings that differ from the defaults of the engine. */
  settings: Record<string, string>
  writtenRows: number
  /** Empty for a successful query. */
  exception: string
}

export interface EngineServer {
  name: string
  version: string
  /** `http://127.0.0.1:port` */
  url: string
  host: string
  port: number
  /** All permissions. */
  user: EngineUser
  /** May read everything and change nothing, not even settings. */
  reader: EngineUser
  /** Valid user without access to the test databases. */
  powerless: EngineUser
  /** Runs a query as `user`; the body is its data. Rejects with the error of the engine. */
  query(sql: string, body?: string | Buffer<ArrayBuffer>, settings?: Record<string, string>): Promise<string>
  /** Queries whose text contains the given text, oldest first. */
  listQueries(containing: string): Promise<LoggedQuery[]>
  readonly pid: number
  /** SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>
  /** Kills it if it runs; resolves when it is ready again. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface EngineProgram {
  name: string
  /** From makeServerFolder(); removed when the engine is stopped. */
  folder: string
  port: number
  command: string[]
  environment?: Record<string, string>
  users: Pick<EngineServer, 'user' | 'reader' | 'powerless'>
  /** Implements EngineServer.listQueries; may query the engine. */
  listQueries(query: EngineServer['query'], containing: string): Promise<LoggedQuery[]>
}

// 137: killed. An engine that ends for another reason, such as a failed start, is not restarted.
const againScript = `
  mkfifo again
  while :; do
    setpriv --pdeathsig KILL -- "$@" &
    echo $! > pid.new
    mv pid.new pid
    wait $!
    ended=$?
    rm pid
    [ $ended = 137 ] || exit
    read -r _ < again
  done`

const host = '127.0.0.1'
const restartTimeoutMs = 90_000

export async function startEngine(program: EngineProgram): Promise<EngineServer> {
  const { name, folder, port, environment = {}, users } = program
  const url = `http://${host}:${port}`
  const query: EngineServer['query'] = (sql, body, settings) => ask(url, users.user, sql, body, settings)
  const isReady = async (): Promise<boolean> => (await query('SELECT 1').catch(() => '')) === '1\n'
  const command = ['/bin/sh', '-c', againScript, 'sh', ...program.command]
  const server = await startServer({ name, command, folder, environment, isReady })

  let pid = await findPid(folder)
  const kill = async (): Promise<void> => {
    if (pid === undefined) return
    if ((await findPid(folder)) === pid) killIfThere(pid)
    while ((await findPid(folder)) === pid) await sleep(5)
    pid = undefined
  }
  const restart = async (): Promise<void> => {
    await kill()
    await writeFile(join(folder, 'again'), '\n')
    const deadlineMs = Date.now() + restartTimeoutMs
    while (!(await isReady())) {
      if (Date.now() > deadlineMs) throw new Error(`${name} did not start again`)
      await sleep(20)
    }
    pid = await findPid(folder)
  }
  const stop = async (): Promise<void> => {
    await kill()
    await server.stop()
  }
  return {
    name,
    version: (await query('SELECT version()')).trim(),
    url,
    host,
    port,
    ...users,
    query,
    listQueries: (containing) => program.listQueries(query, containing),
    get pid() {
      if (pid === undefined) throw new Error(`${name} does not run`)
      return pid
    },
    kill,
    restart,
    stop,
  }
}

/** The process may have just ended. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

async function findPid(folder: string): Promise<number | undefined> {
  const written = await readFile(join(folder, 'pid'), 'utf8').catch(() => '')
  return written === '' ? undefined : Number(written)
}

async function ask(
  url: string,
  { username, password }: EngineUser,
  sql: string,
  body: string | Buffer<ArrayBuffer> | undefined,
  settings: Record<string, string> = {},
): Promise<string> {
  const parameters = new URLSearchParams(body === undefined ? settings : { ...settings, query: sql })
  const response = await fetch(`${url}/?${parameters}`, {
    method: 'POST',
    headers: { 'x-clickhouse-user': username, 'x-clickhouse-key': password },
    body: body ?? sql,
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${answer}`)
  return answer
}
