// The embedded engine as a test process: `chdb-process.ts <port> <folder> <installed in>`, with users of different permissions.
// The library has no system.query_log, so queries are recorded here with their effective settings.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHttpInterface } from '../../../src/embedded-engine/http-interface.ts'
import type { LibraryResult, LibrarySession } from '../../../src/embedded-engine/library.ts'
import { openNativeLibrary } from '../../../src/embedded-engine/native-library.ts'
import type { LoggedQuery } from './engine.ts'

const [port, folder, installedIn] = process.argv.slice(2) as [string, string, string]
const password = process.env.ENGINE_PASSWORD!
const roles: Record<string, string> = JSON.parse(process.env.ENGINE_ROLES!)
// createHttpInterface() gives the library the rows of an insert as a file.
const grants = Object.fromEntries(Object.entries(roles).map(([name, grant]) => [name, `${grant}, READ ON FILE`]))
const library = await openNativeLibrary({
  installedIn,
  folder,
  memoryBytes: 3_000_000_000,
  roles: { powerless: 'GRANT SELECT ON system.one', ...grants },
})
const recording = { ...library, openSession: async () => record(limit(await library.openSession())) }
const accounts = [
  { username: 'penstock', password, role: 'owner' },
  { username: 'reader', password, role: 'owner', isReadOnly: true },
  { username: 'powerless', password, role: 'powerless' },
  ...Object.keys(roles).map((name) => ({ username: name, password, role: name })),
]
createHttpInterface(recording, accounts, folder).listen(Number(port), '127.0.0.1')

/**
 * The library lets every user read all system tables. A server lets users of the given roles read only some without a grant: of
 * those that Penstock reads, these.
 */
function limit(session: LibrarySession): LibrarySession {
  const readable = ['columns', 'data_type_families', 'formats', 'settings', 'table_functions', 'tables']
  let grant: string | undefined
  return {
    set: (settings) => session.set(settings),
    provideFile: (path) => session.provideFile(path),
    close: () => session.close(),
    insert: (text) => session.insert(text),
    query: async (text, options) => {
      const [, role] = /^SET ROLE `(.*)`$/.exec(text) ?? []
      if (role !== undefined) grant = roles[role]
      for (const [name, table] of text.matchAll(/\bsystem\.(\w+)/g)) {
        if (grant === undefined || readable.includes(table!) || grant.includes(name)) continue
        throw new Error(
          `Code: 497. DB::Exception: Not enough privileges. To execute this query, it's necessary to have the grant SELECT ON ${name}. (ACCESS_DENIED)`,
        )
      }
      return session.query(text, options)
    },
  }
}

function record(session: LibrarySession): LibrarySession {
  const run = async (text: string, work: () => Promise<LibraryResult>): Promise<LibraryResult> => {
    const settings = await changedSettings(session, text)
    const write = (writtenRows: number, exception: string): void => {
      const logged: LoggedQuery = { query: text, settings, writtenRows, exception }
      appendFileSync(join(folder, 'queries.jsonl'), `${JSON.stringify(logged)}\n`)
    }
    try {
      const result = await work()
      write(result.writtenRows, '')
      return result
    } catch (error) {
      write(0, (error as Error).message)
      throw error
    }
  }
  return {
    set: (settings) => session.set(settings),
    provideFile: (path) => session.provideFile(path),
    close: () => session.close(),
    query: (text, options) => run(text, () => session.query(text, options)),
    insert: (text) => run(text, () => session.insert(text)),
  }
}

/** Settings of the session and of the statement. */
async function changedSettings(session: LibrarySession, text: string): Promise<Record<string, string>> {
  const ask = 'SELECT name, value FROM system.settings WHERE changed FORMAT JSONCompactEachRow'
  // A user without access to that table has no settings that a test checks.
  const answer = await session.query(ask).then(
    ({ bytes }) => Buffer.from(bytes).toString().trim(),
    () => '',
  )
  const [, clause = ''] = /\bSETTINGS\s(.*?)(?:\bFORMAT\b|\bSELECT\b|$)/is.exec(text) ?? []
  const named = [...clause.matchAll(/(\w+)\s*=\s*'?([^',\s]*)/g)].map(([, name, value]) => [name, value])
  const ofSession = answer === '' ? [] : answer.split('\n').map((line) => JSON.parse(line))
  return Object.fromEntries([...ofSession, ...named])
}
