// S6 and S7: during thousands of wrong keys per second, from one address and from many, and during thousands of slow connections,
// other clients get their answers within 50 ms (99 of 100), and no request is refused.
import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { inRounds, type SystemDrill, type SystemResult } from './drill.ts'
import { type Api, callApi, startApi } from './drill-api.ts'
import { type DrillOrganization, setUpOrganizations } from './drill-organizations.ts'
import { requestText, sendLoad } from './overload-load.ts'
import type { SlowOptions, SlowResult } from './storms-slow.ts'

const longestMs = 50
/** A busy machine is slow without any storm: then answers may take this many times longer than before. */
const timesSlower = 5
const honestClients = 8
const honestRestMs = 10
/** Duration of the guesses or slow connections of one drill. */
const stormSeconds = 12
const stormAddress = '127.0.0.2'

interface StormOptions {
  seed: number
  size: number
  folder: string
  mutant?: string
}

type StormDrill = Omit<SystemDrill, 'run'> & { run(options: StormOptions): Promise<SystemResult> }

/** Resolves to its measurements. */
type Storm = (api: Api, organization: DrillOrganization, size: number) => Promise<Record<string, number>>

function stormDrill(drill: Omit<SystemDrill, 'run'>, storm: Storm): StormDrill {
  return { ...drill, run: (options) => runStorm(storm, options) }
}

export const guessStormDrill = stormDrill(
  {
    id: 'S6',
    promise:
      'during thousands of wrong keys per second, other clients get their answers within 50 ms, and none is refused',
    ci: 500,
    full: 10_000,
    unit: 'guesses in a second',
  },
  async (api, { key, path }, perSecond) => {
    const request = { method: 'GET', path }
    // Half of the requests guess the secret of the key that the other clients use.
    const requests = [
      requestText({ ...key, keySecret: 'wrong' }, request),
      requestText({ ...key, keyId: 'x'.repeat(20) }, request),
    ]
    const neighbours = Array.from({ length: 100 }, (_, number) => `127.0.3.${number + 1}`)
    const addresses = [...Array<string>(100).fill(stormAddress), ...neighbours]
    const { sent, statuses } = await sendLoad({
      port: api.port,
      connections: addresses.length,
      seconds: stormSeconds,
      perSecond,
      requests,
      addresses,
    })
    const { 401: unauthorized = 0, 429: throttled = 0, 200: letIn = 0 } = statuses
    return { guessesPerSecond: Math.round(sent / stormSeconds), unauthorized, throttled, letIn }
  },
)

export const slowStormDrill = stormDrill(
  {
    id: 'S7',
    promise: 'during slow connections, other clients get their answers within 50 ms, and none is refused',
    ci: 300,
    full: 2_000,
    unit: 'slow connections',
  },
  async (api, { key, path, memberIds }, connections) => {
    const change = requestText(key, {
      method: 'PATCH',
      path: `${path}/members/${memberIds[1]}`,
      body: { role: 'admin' },
    })
    const workerData: SlowOptions = {
      port: api.port,
      connections,
      seconds: stormSeconds,
      read: requestText(key, { method: 'GET', path: `${path}/members` }),
      changeHead: change.replace(/content-length: \d+/, 'content-length: 100000').replace(/\{.*$/, '{'),
      address: stormAddress,
    }
    const worker = new Worker(new URL('storms-slow.ts', import.meta.url), { workerData })
    const [{ opened, closed, mostOpen }] = (await once(worker, 'message')) as [SlowResult]
    await worker.terminate()
    return { slowConnections: mostOpen, opened, closedByPenstock: closed }
  },
)

async function runStorm(storm: Storm, { size, folder, mutant }: StormOptions): Promise<SystemResult> {
  const installation = { folder, databaseUrl: undefined }
  const roles = ['admin' as const, ...Array<'developer'>(honestClients).fill('developer')]
  const [organization] = await setUpOrganizations(installation, { count: 1, roles })
  const api = await startApi(installation, mutant === undefined ? {} : { mutant })
  try {
    // Once, to load and compile the code.
    await beHonest(api, organization!, sleep(1_000))
    const under = await inRounds(() => weather(storm, api, organization!, size))
    const { did, answers, refused, p99Ms, calmP99Ms, isFair, isOnlySlow, rounds } = under
    const isKept = isFair && !isOnlySlow
    return {
      isKept,
      measurements: {
        ...did,
        honestAnswers: answers,
        refused: refused.length,
        p99Ms: Math.round(p99Ms),
        calmP99Ms: Math.round(calmP99Ms),
        rounds,
      },
      ...(isKept ? {} : { toLookAt: `p99 ${p99Ms.toFixed(1)} ms; ${refused.slice(0, 5).join('; ')}` }),
    }
  } finally {
    await api.kill()
  }
}

interface Weathered extends Honest {
  did: Record<string, number>
  calmP99Ms: number
  isFair: boolean
  isOnlySlow: boolean
}

async function weather(storm: Storm, api: Api, organization: DrillOrganization, size: number): Promise<Weathered> {
  const { p99Ms: calmP99Ms } = await beHonest(api, organization, sleep(3_000))
  const storming = storm(api, organization, size)
  const under = await beHonest(api, organization, storming)
  const did = await storming
  const isFair = under.refused.length === 0 && under.answers > 0 && (did.letIn ?? 0) === 0
  const isSlow = under.p99Ms >= Math.max(longestMs, timesSlower * calmP99Ms)
  return { ...under, did, calmP99Ms, isFair, isOnlySlow: isFair && isSlow }
}

interface Honest {
  answers: number
  p99Ms: number
  refused: string[]
}

/** Reads and changes at an even rate with a valid key, from a separate address, until the work is done. */
async function beHonest(api: Api, organization: DrillOrganization, work: Promise<unknown>): Promise<Honest> {
  let isOver = false
  const done = work.finally(() => {
    isOver = true
  })
  const tookMs: number[] = []
  const refused: string[] = []
  const { key, path, memberIds } = organization
  const clients = memberIds.slice(1).map(async (memberId, client) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let turn = 0; !isOver; turn++) {
      const member = `${path}/members/${memberId}`
      const role = turn % 8 === 0 ? 'admin' : 'developer'
      const call = turn % 4 === 0 ? { method: 'PATCH', path: member, body: { role } } : { method: 'GET', path: member }
      const begunAtMs = performance.now()
      // One client opens a new connection per request, as a new client does.
      const { status, code } = await callApi(api.url, key, call, client === 0 ? undefined : agent)
      tookMs.push(performance.now() - begunAtMs)
      if (status !== 200) refused.push(`${call.method}: ${status} ${code}`)
      await sleep(honestRestMs)
    }
    agent.destroy()
  })
  await Promise.all(clients)
  await done
  tookMs.sort((one, other) => one - other)
  return { answers: tookMs.length - refused.length, p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? 0, refused }
}
