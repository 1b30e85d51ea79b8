// R10: role updates through two processes on one PostgreSQL are linearizable: each looks as if it happened at one moment between
// its call and its answer, and an organization has an admin at every such moment.
import { type PostgresServer, startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import type { Installation } from '../penstock-process.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill, SystemResult } from './drill.ts'
import { type Api, startApi } from './drill-api.ts'
import { setUpOrganizations } from './drill-organizations.ts'
import { isLinearizable } from './linear-check.ts'
import { nameOfMembers, recordHistory } from './linear-members.ts'

/** So that one commit holds changes of several. */
const atOnce = 4

interface LinearOptions {
  seed: number
  size: number
  folder: string
  /** A mutant that the processes have. */
  mutant?: string
}

export const linearDrill: Omit<SystemDrill, 'run'> & { run(options: LinearOptions): Promise<SystemResult> } = {
  id: 'R10',
  promise: 'role updates over two processes are linearizable, and an organization always has an admin',
  ci: 100,
  full: 3_000,
  unit: 'histories',
  async run(options) {
    const postgres = await startPostgres()
    const apis: Api[] = []
    try {
      return await recordAndCheck(options, postgres, apis)
    } finally {
      await Promise.all(apis.map((api) => api.kill()))
      await postgres.stop()
    }
  },
}

async function recordAndCheck(
  { seed, size, folder, mutant }: LinearOptions,
  postgres: PostgresServer,
  apis: Api[],
): Promise<SystemResult> {
  const random = makeRandom(seed)
  const installation: Installation = { folder, databaseUrl: await postgres.createDatabase('penstock') }
  // One for each history: what one that went wrong leaves behind must not be taken for the next one's.
  const organizations = await setUpOrganizations(installation, { count: size, roles: ['admin', 'admin', 'developer'] })
  const options = mutant === undefined ? {} : { mutant }
  apis.push(...(await Promise.all([1, 2].map(() => startApi(installation, options)))))
  const urls = apis.map(({ url }) => url)

  let calls = 0
  let strangeAnswers = 0
  const flagged: string[] = []
  const waiting = organizations.values()
  const record = async (): Promise<void> => {
    for (const organization of waiting) {
      const history = await recordHistory(organization, urls, random)
      calls += history.calls.length
      strangeAnswers += history.strange.length
      const isFine = history.strange.length === 0 && isLinearizable(history.calls, history.initial, nameOfMembers)
      if (!isFine) flagged.push([`from ${nameOfMembers(history.initial)}`, ...history.told].join('\n'))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, record))
  const [first] = flagged
  return {
    isKept: first === undefined,
    figures: { histories: size, calls, flagged: flagged.length, strangeAnswers },
    ...(first === undefined ? {} : { toLookAt: first }),
  }
}
