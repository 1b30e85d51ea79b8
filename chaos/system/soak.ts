// R15: nothing grows with the number of requests. Under mixed load with wrong keys and clients that disconnect, the heap after a
// full collection grows by less than 1 MB per 100,000 requests, and the number of open files does not grow.
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SystemDrill, SystemResult } from './drill.ts'
import { type Api, startApi } from './drill-api.ts'
import { type DrillOrganization, setUpOrganizations } from './drill-organizations.ts'
import { padLog } from './drill-store.ts'
import { mixedRequests, requestText, residentMegabytes, sendLoad } from './overload-load.ts'
import { inspectFlag, openInspector } from './soak-inspector.ts'

const mostBytesPerRequest = 1_048_576 / 100_000
/** Variation between collections of a short run; a smaller growth is not significant. */
const noiseBytes = 1_572_864
const mostMoreFiles = 4
const connections = 32
const samples = 10
/** Fills caches, compiles code and loads lazy modules. */
const warmUpShare = 0.25
/** A slow machine needs several times as long for this many requests. */
const warmUpRequests = 8_000
const mostWarmUps = 6
/** Penstock closes disconnected connections with a delay. */
const closeTimeoutMs = 10_000

interface SoakOptions {
  seed: number
  size: number
  folder: string
  mutant?: string
}

export const soakDrill: Omit<SystemDrill, 'run'> & { run(options: SoakOptions): Promise<SystemResult> } = {
  id: 'R15',
  promise: 'the heap grows by less than 1 MB in 100,000 requests, and no file stays open',
  ci: 60,
  full: 3_600,
  unit: 'seconds',
  async run({ size, folder, mutant }) {
    const installation = { folder, databaseUrl: undefined }
    const roles = ['admin' as const, ...Array<'developer'>(20).fill('developer')]
    const [organization] = await setUpOrganizations(installation, { count: 1, roles })
    // The checkpoint thread starts with the first checkpoint; this makes it run from the beginning.
    padLog(folder)
    const api = await startApi(installation, { flags: [inspectFlag], ...(mutant === undefined ? {} : { mutant }) })
    try {
      return await soak(api, organization!, size)
    } finally {
      await api.kill()
    }
  },
}

interface Sample {
  requests: number
  liveBytes: number
  openFiles: number
}

async function soak(api: Api, organization: DrillOrganization, seconds: number): Promise<SystemResult> {
  const inspector = await openInspector(api.printed)
  let requests = 0
  const unexpected: Record<string, number> = {}
  const send = async (forSeconds: number): Promise<void> => {
    const { statuses } = await sendLoad({
      port: api.port,
      connections,
      seconds: forSeconds,
      requests: soakRequests(organization),
    })
    for (const [status, count] of Object.entries(statuses)) {
      requests += count
      if (!['200', '401', '404', '429'].includes(status)) unexpected[status] = (unexpected[status] ?? 0) + count
    }
  }
  const countFiles = (): number => readdirSync(`/proc/${api.pid}/fd`).length
  const look = async (): Promise<Sample> => ({
    requests,
    liveBytes: await inspector.liveBytes(),
    openFiles: countFiles(),
  })
  for (let times = 0; times < mostWarmUps && (times === 0 || requests < warmUpRequests); times++) {
    await send(seconds * warmUpShare)
  }
  const taken = [await look()]
  for (let number = 1; number < samples; number++) {
    await send((seconds * (1 - warmUpShare)) / (samples - 1))
    taken.push(await look())
  }
  const [first, last] = [taken[0]!, taken.at(-1)!]
  const deadlineMs = Date.now() + closeTimeoutMs
  while (last.openFiles - first.openFiles > mostMoreFiles && Date.now() < deadlineMs) {
    await sleep(100)
    last.openFiles = countFiles()
  }
  inspector.close()

  const bytesPerRequest = slope(taken)
  const riseBytes = bytesPerRequest * (last.requests - first.requests)
  const isLeaking = bytesPerRequest > mostBytesPerRequest && riseBytes > noiseBytes
  const moreFiles = last.openFiles - first.openFiles
  const complaints = [
    ...(isLeaking ? [`${bytesPerRequest.toFixed(1)} bytes more with each request`] : []),
    ...(moreFiles > mostMoreFiles ? [`${moreFiles} more open files`] : []),
    ...Object.entries(unexpected).map(([status, count]) => `${count} answers with ${status}`),
  ]
  return {
    isKept: complaints.length === 0,
    measurements: {
      seconds,
      requests,
      kilobytesPer100000: Math.round((bytesPerRequest * 100_000) / 1024),
      liveMegabytes: Math.round(last.liveBytes / 1_048_576),
      openFilesBefore: first.openFiles,
      openFilesAfter: last.openFiles,
      residentMegabytes: residentMegabytes(api.pid),
      unexpected: Object.values(unexpected).reduce((sum, count) => sum + count, 0),
    },
    ...(complaints.length === 0
      ? {}
      : { toLookAt: `${complaints.join('; ')}; heap: ${taken.map(({ liveBytes }) => liveBytes).join(', ')}` }),
  }
}

/** Includes requests that leave state behind: idempotency keys, unknown paths, wrong secrets. */
function soakRequests(organization: DrillOrganization): string[] {
  const { key, path, memberIds } = organization
  const [, member] = memberIds
  const wrongKey = { ...key, keySecret: 'wrong' }
  const withKeys = Array.from({ length: 200 }, () =>
    requestText(key, {
      method: 'PATCH',
      path: `${path}/members/${member}`,
      body: { role: 'developer' },
      headers: [`idempotency-key: ${randomUUID()}`],
    }),
  )
  const mixed = Array.from({ length: 10 }, () => mixedRequests(organization)).flat()
  const spaced = withKeys.flatMap((text, index) => [text, ...mixed.slice(index * 4, index * 4 + 4)])
  return [
    ...spaced,
    requestText(key, { method: 'GET', path: `${path}/members/${randomUUID()}` }),
    // One wrong secret per thousand requests: more would throttle the address and all other requests.
    requestText(wrongKey, { method: 'GET', path }),
  ]
}

/** Slope of the linear regression, in bytes per request. */
function slope(taken: Sample[]): number {
  const meanRequests = taken.reduce((sum, { requests }) => sum + requests, 0) / taken.length
  const meanBytes = taken.reduce((sum, { liveBytes }) => sum + liveBytes, 0) / taken.length
  let above = 0
  let below = 0
  for (const { requests, liveBytes } of taken) {
    above += (requests - meanRequests) * (liveBytes - meanBytes)
    below += (requests - meanRequests) ** 2
  }
  return above / below
}
