// Current ClickHouse for tests: a separate database in the engine that all tests of a run share, behind a proxy that fails on
// demand.
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { quoteName } from '../../src/engine/names.ts'
import { type EngineAnswer, openEngineFront, type SentRequest, type TestEngine } from '../fakes/engine-front.ts'
import { loadSharedEngine, type SharedEngine } from './shared-engine.ts'

/** Headers of a connection, not of a request. */
const ownHeaders = ['host', 'connection', 'transfer-encoding', 'content-length', 'keep-alive']

export async function openEmbeddedEngine(): Promise<TestEngine> {
  const shared = await loadSharedEngine()
  const { username, password } = shared
  const agent = new Agent({ keepAlive: true })
  const database = `test_${randomBytes(6).toString('hex')}`
  const front = await openEngineFront({ perform: (sent) => forward(shared, agent, sent), describeFailure })
  const run = async (text: string, settings: Record<string, string> = {}): Promise<string> => {
    const parameters = new URLSearchParams({ ...settings, ...(text.startsWith('CREATE DATABASE') ? {} : { database }) })
    const headers = { 'x-clickhouse-user': username, 'x-clickhouse-key': password }
    const response = await fetch(`${shared.url}/?${parameters}`, { method: 'POST', headers, body: text })
    const answer = await response.text()
    if (!response.ok) throw new Error(answer)
    return answer
  }
  const rows = async (table: string): Promise<Record<string, unknown>[]> => {
    const text = `SELECT * FROM ${quoteName(table)} ORDER BY ALL FORMAT JSONEachRow`
    const answer = await run(text, { output_format_json_quote_64bit_integers: '0' })
    return answer
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line, exactly))
  }
  await run(`CREATE DATABASE ${database}`)
  return Object.assign(front, {
    username,
    password,
    database,
    run,
    rows,
    rowsIfAny: (table: string) =>
      rows(table).catch((error: Error) => {
        if (!error.message.startsWith('Code: 60.')) throw error
        return []
      }),
    async listTables() {
      const answer = await run('SHOW TABLES FORMAT TabSeparatedRaw')
      return answer.split('\n').filter((line) => line !== '')
    },
    async close() {
      await front.stop()
      agent.destroy()
      await run(`DROP DATABASE ${database}`)
    },
  })
}

function exactly(_name: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value
  return BigInt(source)
}

/** Resolves to undefined when the client has disconnected; the engine then sees the disconnect too. */
async function forward({ url }: SharedEngine, agent: Agent, sent: SentRequest): Promise<EngineAnswer | undefined> {
  const headers = Object.fromEntries(Object.entries(sent.headers).filter(([name]) => !ownHeaders.includes(name)))
  const passedOn = request(`${url}${sent.path}`, {
    method: 'POST',
    headers: sent.isCut ? headers : { ...headers, 'content-length': sent.body.length },
    agent: sent.isCut ? false : agent,
  })
  const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer | undefined>()
  passedOn.on('error', (error) => (sent.isCut ? resolve(undefined) : reject(error)))
  if (sent.isCut) {
    passedOn.write(sent.body, () => passedOn.destroy())
    return promise
  }
  passedOn.on('response', (response) => {
    const headers = Object.entries(response.headers).filter(([name]) => !ownHeaders.includes(name))
    buffer(response).then(
      (body) =>
        resolve({ status: response.statusCode!, headers: Object.fromEntries(headers) as Record<string, string>, body }),
      reject,
    )
  })
  passedOn.end(sent.body)
  return promise
}

function describeFailure({ code, status, message }: { code: number; status: number; message: string }): EngineAnswer {
  return {
    status,
    headers: { 'x-clickhouse-exception-code': String(code) },
    body: Buffer.from(`Code: ${code}. DB::Exception: ${message}. (version 26.7.3.1 (official build))\n`),
  }
}
