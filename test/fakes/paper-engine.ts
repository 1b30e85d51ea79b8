// In-memory engine: tables behind the HTTP interface of ClickHouse, for the statements that Penstock sends to engines older than
// the one on npm (test/harness/embedded-engine.ts). It rejects the same input as the 18.16 of test/real, and keeps the received rows of
// an interrupted plain body.
import type { IncomingHttpHeaders } from 'node:http'
import { type EngineAnswer, openEngineFront, type SentRequest, settingsOf, type TestEngine } from './engine-front.ts'
import { shownRow } from './paper-engine/formats.ts'
import { execute } from './paper-engine/statements.ts'
import { knownSettings, type PaperStorage, type PaperTable } from './paper-engine/storage.ts'
import { SqlError } from './paper-engine/tokens.ts'

export interface PaperEngine extends TestEngine {
  /** By `database.table`. */
  tables: Map<string, PaperTable>
}

const [username, password] = ['penstock', 'paper password']
const database = 'default'

export async function startPaperEngine(): Promise<PaperEngine> {
  const storage: PaperStorage = { tables: new Map(), databases: new Set([database]) }
  const front = await openEngineFront({ perform: (sent) => perform(storage, sent), describeFailure })
  return Object.assign(front, {
    username,
    password,
    database,
    tables: storage.tables,
    async run(text: string, settings: Record<string, string> = {}) {
      const sent = Buffer.from(text).toString('latin1')
      return execute(sent, { storage, database, settings, isCut: false }).answer.toString()
    },
    async rows(table: string) {
      const found = storage.tables.get(`${database}.${table}`)
      if (!found) throw new Error(`the paper engine has no table ${table}`)
      return found.rows.map(shownRow)
    },
    rowsIfAny: async (table: string) => storage.tables.get(`${database}.${table}`)?.rows.map(shownRow) ?? [],
    listTables: async () => [...storage.tables.values()].map(({ name }) => name),
    close: () => front.stop(),
  })
}

function perform(storage: PaperStorage, sent: SentRequest): EngineAnswer | undefined {
  const { parameters, headers, text, isInsert, isCut, isBroken } = sent
  if (!isLetIn(headers)) return describeFailure({ code: 193, status: 401, message: 'Authentication failed' })
  const settings = settingsOf(parameters)
  const unknown = Object.keys(settings).find((name) => !knownSettings.includes(name))
  if (unknown !== undefined) return describeFailure({ code: 115, status: 404, message: `Unknown setting ${unknown}` })
  if (isBroken) return describeFailure({ code: 354, status: 500, message: 'inflate failed' })
  // The client has disconnected; a plain insert keeps the received rows.
  if (isCut && !isInsert) return undefined
  try {
    const { answer } = execute(text, { storage, database: parameters.get('database') ?? database, settings, isCut })
    return { status: 200, headers: {}, body: answer }
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    return describeFailure({ code: error.code, status: statusOf(error.code), message: error.message })
  }
}

function isLetIn({ 'x-clickhouse-user': user, 'x-clickhouse-key': key }: IncomingHttpHeaders): boolean {
  return user === username && key === password
}

function statusOf(code: number): number {
  if ([60, 81, 115, 46, 47, 50, 56, 73].includes(code)) return 404
  return [26, 41, 62, 72, 27].includes(code) ? 400 : 500
}

function describeFailure({ code, status, message }: { code: number; status: number; message: string }): EngineAnswer {
  const text = `Code: ${code}, e.displayText() = DB::Exception: ${message}, e.what() = DB::Exception\n`
  return { status, headers: {}, body: Buffer.from(text, 'latin1') }
}
