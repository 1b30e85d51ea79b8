// R10: role updates through two processes on one PostgreSQL are linearizable: each takes effect at one time between its call and
// its answer, and an organization always has an admin.
import { type PostgresServer, startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import type { Installation } from '../penstock-process.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill, SystemResult } from './drill.ts'
import { type Api, startApi } from './drill-api.ts'
import { setUpOrganizations } from './drill-organizations.ts'
import { isLinearizable } from './linear-check.ts'
import { nameOfMembers, recordHistory } from './linear-members.ts'

/** Concurrent histories, so that one commit contains changes of several. */
const atOnce = 4

interface LinearOptions {
  seed: number
  size: number
  folder: string
  /** A mutant that both processes run. */
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
  // One organization per history, so that a violation does not affect the next history.
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
      if (!isFine) flagged.push([`from ${nameOfMembers(history.initial)}`, ...history.log].join('\n'))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, record))
  const [first] = flagged
  return {
    isKept: first === undefined,
    measurements: { histories: size, calls, flagged: flagged.length, strangeAnswers },
    ...(first === undefined ? {} : { toLookAt: first }),
  }
}
