// Two API and two runner processes on PostgreSQL behind nginx, as in docs/how-to/deploy-on-several-machines.md. One API process at a time is killed
// under load, and sometimes a runner. Clients lose nothing, nothing is done twice, and no request takes long.
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { findFreePorts } from '../../src/lib/free-port.ts'
import { startNginx } from '../../test/real/servers/nginx.ts'
import { makeRandom } from '../random.ts'
import type { SystemDrill, SystemResult } from './drill.ts'
import { makeRoleProcess, type RoleProcess, setUp } from './nginx-processes.ts'
import { compareEntries, writeThroughProxy } from './nginx-writers.ts'

const killEveryMs = 5_000
/** RestartSec of deploy/penstock@.service. */
const restartAfterMs = 2_000
const longestGapMs = 10_000
/** Slow commits, as on a slow disk: many processes are killed between the start of a commit and the answer. */
const slowCommits = { commit_delay: '100000', commit_siblings: '0' }

export const nginxDrill: SystemDrill = {
  id: 'nginx',
  promise:
    'behind nginx, an API process killed every 5 seconds loses no acknowledged write, applies none twice, and delays no request by 10 seconds',
  ci: 30,
  full: 600,
  unit: 'seconds',
  async run({ seed, size, folder }) {
    const cleanUp: (() => Promise<void>)[] = []
    try {
      return await runBehindNginx({ seed, seconds: size, folder }, (step) => cleanUp.push(step))
    } finally {
      for (const step of cleanUp.reverse()) await step()
    }
  },
}

async function runBehindNginx(
  { seed, seconds, folder }: { seed: number; seconds: number; folder: string },
  afterwards: (step: () => Promise<void>) => void,
): Promise<SystemResult> {
  const postgres = await startPostgres({ settings: slowCommits })
  afterwards(() => postgres.stop())
  const databaseUrl = await postgres.createDatabase('penstock')
  const place = { folder, databaseUrl }
  const admin = await setUp(place)
  const ports = await findFreePorts(4)
  const [one, other, ...runners] = ports.map((port, index) =>
    makeRoleProcess(place, index < 2 ? 'api' : 'runner', port),
  )
  const processes = [one!, other!, ...runners]
  afterwards(async () => void (await Promise.all(processes.map((each) => each.kill()))))
  await Promise.all(processes.map((each) => each.start()))
  const nginx = await startNginx([one!.port, other!.port])
  afterwards(() => nginx.stop())

  const stopping = new AbortController()
  const writing = writeThroughProxy({ url: nginx.url, ca: nginx.ca, admin }, stopping.signal)
  const kills = await killInTurn({ apis: [one!, other!], runners, seed, seconds }).finally(() => stopping.abort())
  const journal = await writing

  const { lost, twice } = await compareEntries(databaseUrl, journal)
  const passages = await nginx.listPassages()
  const unexpected = [...lost, ...twice, ...journal.refused]
  return {
    isKept: unexpected.length === 0 && journal.longestGapMs < longestGapMs && kills > 0,
    measurements: {
      seconds,
      kills,
      writes: journal.acknowledgedWrites,
      lost: lost.length,
      twice: twice.length,
      refused: journal.refused.length,
      longestGapMs: Math.round(journal.longestGapMs),
      repeatedByNginx: passages.filter(({ attempts }) => attempts > 1).length,
      repeatedByClients: journal.retries,
    },
    ...(unexpected.length === 0 ? {} : { toLookAt: unexpected.slice(0, 10).join('; ') }),
  }
}

/** Resolves to the number of kills when all processes run again. */
async function killInTurn(options: {
  apis: RoleProcess[]
  runners: RoleProcess[]
  seed: number
  seconds: number
}): Promise<number> {
  const { apis, runners, seed, seconds } = options
  const random = makeRandom(seed)
  const endsMs = performance.now() + seconds * 1000
  let kills = 0
  while (performance.now() + killEveryMs < endsMs) {
    const killedAtMs = performance.now() + random.below(1_000)
    await sleep(killedAtMs - performance.now())
    const killed = [random.pick(apis), ...(random.happens(1 / 3) ? [random.pick(runners)] : [])]
    kills += killed.length
    await Promise.all(
      killed.map(async (each) => {
        await each.kill()
        await sleep(restartAfterMs)
        await each.start()
      }),
    )
    await sleep(Math.max(0, killedAtMs + killEveryMs - performance.now()))
  }
  return kills
}
