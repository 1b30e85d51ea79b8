// Current ClickHouse: the embedded engine, with users of different permissions and a record of its queries.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installLibrary } from '../../../src/embedded-engine/install.ts'
import { findFreePort } from '../../../src/lib/free-port.ts'
import { cacheFolder } from '../../harness/shared-engine.ts'
import { type EngineServer, type LoggedQuery, startEngine } from './engine.ts'
import { makeServerFolder } from './server-process.ts'

/** `roles`: a grant for each additional user, who has the name of the role and the password of the others. */
export async function startModernEngine(roles: Record<string, string> = {}): Promise<EngineServer> {
  const password = randomBytes(16).toString('hex')
  const port = await findFreePort()
  const folder = await makeServerFolder('chdb')
  const program = join(import.meta.dirname, 'chdb-process.ts')
  const installedIn = await installLibrary('native', {
    cacheFolder,
    out: process.stdout,
    stopping: AbortSignal.timeout(600_000),
  })
  return startEngine({
    name: 'chDB',
    folder,
    port,
    command: [process.execPath, program, String(port), folder, installedIn],
    environment: { ENGINE_PASSWORD: password, ENGINE_ROLES: JSON.stringify(roles), UV_THREADPOOL_SIZE: '32' },
    users: {
      user: { username: 'penstock', password },
      reader: { username: 'reader', password },
      powerless: { username: 'powerless', password },
    },
    listQueries: async (_query, containing) =>
      (await readRecord(folder)).filter(({ query }) => query.includes(containing)),
  })
}

async function readRecord(folder: string): Promise<LoggedQuery[]> {
  const text = await readFile(join(folder, 'queries.jsonl'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
