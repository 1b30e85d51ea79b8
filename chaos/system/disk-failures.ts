// R4: a failed write is reported. Makes the first, second and each further system call of a kind fail, until a run ends without
// reaching the failing call. A run is a start on data with a long WAL, writes and reads, a checkpoint and a stop.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openApp } from '../../src/app.ts'
import { allowedToTry, readConfig } from '../../src/config.ts'
import { Log } from '../../src/lib/log.ts'
import { straceCommand } from './disk-tools.ts'
import type { SystemDrill } from './drill.ts'
import { NotStarted, readSample, type Server, startServer } from './drill-process.ts'
import { inStore, padLog } from './drill-store.ts'
import { compare, makeSend, makeWriters, openJournal, type WriteJournal } from './drill-writers.ts'

/** System calls that fail, and the files in the data folder they are about. */
interface Fault {
  name: string
  calls: string
  files: string[]
  isSync?: boolean
  /** Of the calls that are to fail, where the same call has several files. */
  share?: number
}

const database = 'penstock.db'
const log = `${database}-wal`
const index = `${database}-shm`
const folderItself = '.'

const faults: Fault[] = [
  { name: 'sync of the log', calls: 'fsync,fdatasync', files: [log], isSync: true, share: 0.5 },
  { name: 'sync of the file', calls: 'fsync,fdatasync', files: [database], isSync: true, share: 0.5 },
  { name: 'sync of the folder', calls: 'fsync,fdatasync', files: [folderItself], isSync: true, share: 0.5 },
  { name: 'write to the log', calls: 'pwrite64', files: [log], share: 1 / 3 },
  { name: 'write to the file', calls: 'pwrite64', files: [database], share: 1 / 3 },
  { name: 'room for the index', calls: 'pwrite64,ftruncate', files: [index], share: 1 / 3 },
  { name: 'open', calls: 'openat', files: [folderItself, database, log, index, `${database}.lock`] },
]

const rounds = 2
/** Most of a run is a start, which leaves one core idle. */
const parallelRuns = 2
/** Stop after this many violations: continuing after a failed sync takes long and violates the promise each time. */
const enoughToLookAt = 5
const endTimeoutMs = 20_000
/** EX_IOERR of sysexits.h. */
const exitInputOutput = 74
/** Exit code of a start that was refused with an explanation. */
const exitRefused = 1

export const diskFailures: SystemDrill = {
  id: 'R4',
  promise: 'a write that failed on disk is never acknowledged, and a failed sync ends the process',
  ci: 30,
  full: 5_000,
  unit: 'calls of each kind',
  run: async ({ size, folder }) => {
    const prepared = await prepare(folder)
    const left = [...faults]
    const measurements = { runs: 0, failures: 0, refusedStarts: 0, ends: 0, writes: 0, refusedWrites: 0, broken: 0 }
    const sentences: string[] = []
    const takeFaults = async (lane: number): Promise<void> => {
      const fault = left.shift()
      if (fault === undefined) return
      const most = size * (fault.share ?? 1)
      for (let number = 1; number <= most && measurements.broken < enoughToLookAt; number++) {
        const outcome = await failOnce(prepared, fault, number, join(folder, String(lane)))
        if (!outcome.isReached) break
        measurements.runs++
        measurements.failures += outcome.failures
        measurements.refusedStarts += outcome.end === 'not started' ? 1 : 0
        measurements.ends += outcome.end === 'ended' ? 1 : 0
        measurements.writes += outcome.writes
        measurements.refusedWrites += outcome.refusedWrites
        measurements.broken += outcome.broken.length
        sentences.push(...outcome.broken.map((sentence) => `${fault.name}, ${number}: ${sentence}`))
      }
      return takeFaults(lane)
    }
    await Promise.all(Array.from({ length: parallelRuns }, (_, lane) => takeFaults(lane)))
    const isKept = measurements.broken === 0
    return { isKept, measurements, ...(isKept ? {} : { toLookAt: sentences.slice(0, 20).join('; ') }) }
  },
}

interface Prepared {
  template: string
  makeJournal(): WriteJournal
}

async function prepare(folder: string): Promise<Prepared> {
  const template = join(folder, 'template')
  mkdirSync(template, { mode: 0o700 })
  const server = await startServer({ folder: template })
  await server.kill()
  const journal = await inStore(template, (store) => openJournal(store, readSample(template)))
  padLog(template)
  const makeJournal = (): WriteJournal => ({
    ...journal,
    ledgers: journal.ledgers.map((ledger) => ({ ...ledger, attempted: [] })),
    endpoints: new Set(),
  })
  return { template, makeJournal }
}

interface Outcome {
  /** Whether the run reached the failing call. */
  isReached: boolean
  /** One for each thread that reached the call. */
  failures: number
  end: 'not started' | 'ended' | 'stopped'
  writes: number
  refusedWrites: number
  /** Violations of the promise. */
  broken: string[]
}

/** Makes the call with this number fail, in every thread that reaches it. */
async function failOnce(
  { template, makeJournal }: Prepared,
  fault: Fault,
  number: number,
  folder: string,
): Promise<Outcome> {
  const data = join(folder, 'data')
  const traceFile = join(folder, 'trace')
  rmSync(data, { recursive: true, force: true })
  rmSync(traceFile, { force: true })
  mkdirSync(data, { recursive: true, mode: 0o700 })
  cpSync(template, data, { recursive: true })
  const journal = makeJournal()
  const broken: string[] = []
  const outcome: Outcome = { isReached: false, failures: 0, end: 'stopped', writes: 0, refusedWrites: 0, broken }
  const strace = straceCommand({
    calls: fault.calls,
    files: fault.files.map((file) => join(data, file)),
    effect: `error=EIO:when=${number}`,
    traceFile,
  })
  let server: Server | undefined
  try {
    server = await startServer({ folder: data, strace })
    await work(journal, server, outcome)
    const atStop = readTrace(traceFile)
    if (fault.isSync && atStop.failures > 0) {
      const code = await within(server.ended)
      if (code !== exitInputOutput) broken.push(`the process went on after a failed sync (${code})`)
      else if (atStop.isSyncedAgain) broken.push('a failed sync was tried again')
      outcome.end = 'ended'
    } else {
      server.child.kill('SIGTERM')
      const code = await within(server.ended)
      // Sealing during the run or at the stop may reach the failing sync.
      const hasFailedSync = fault.isSync === true && readTrace(traceFile).failures > 0
      if (code !== 0 && !(hasFailedSync && code === exitInputOutput))
        broken.push(`a stop ended with ${code}: ${server.complaints().slice(-300)}`)
    }
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error
    outcome.end = 'not started'
    const isExplained = error.exitCode === exitRefused || error.exitCode === exitInputOutput
    if (!isExplained) broken.push(error.message.slice(0, 600))
  } finally {
    await server?.kill()
  }
  outcome.failures = readTrace(traceFile).failures
  outcome.isReached = outcome.failures > 0
  outcome.writes = journal.acknowledgedWrites
  broken.push(...(await lookAfterwards(data, journal)))
  return outcome
}

async function work(journal: WriteJournal, server: Server, outcome: Outcome): Promise<void> {
  const { send, close } = makeSend(server.url, journal.sample)
  const { broken } = outcome
  const isEnding = (): boolean => server.child.exitCode !== null
  let last: number | undefined
  for (let round = 0; round < rounds; round++) {
    for (const write of makeWriters(journal, send)) {
      last = await write()
      if (last === undefined) break
      if (last === 503) outcome.refusedWrites++
      else if (last !== 200) broken.push(`a write was answered with ${last}`)
      const read = await send('GET', journal.ledgers[0]!.path)
      if (read !== undefined && read !== 200 && read !== 503) broken.push(`a read was answered with ${read}`)
    }
    if (last === undefined) break
  }
  // The last write may have met the failure; the next one must succeed.
  if (last === 503) last = await makeWriters(journal, send)[0]!()
  close()
  if (last === undefined) {
    await within(server.ended)
    if (!isEnding()) broken.push('a write was not answered, and the process goes on')
  } else if (last !== 200 && (await within(server.ended)) !== exitInputOutput) {
    broken.push(`the last write was answered with ${last}: a single failure lasts`)
  }
}

/**
 * Checks that everything works without the failure. Opens the data in this process, as Penstock does at start: a separate process
 * would double the duration of the drill.
 */
async function lookAfterwards(data: string, journal: WriteJournal): Promise<string[]> {
  const sentences: string[] = []
  const config = { ...readConfig({ PENSTOCK_DATA: data, PENSTOCK_PORT: '0' }, { logLevel: 'error' }), ...allowedToTry }
  const app = await openApp(config, {
    log: new Log('error'),
    mayCreateKeys: false,
    onFatal: (reason) => sentences.push(`what was left behind ends the next Penstock: ${reason}`),
  }).catch((error: unknown) => {
    sentences.push(`the next Penstock does not start: ${error}`)
  })
  if (!app) return sentences
  try {
    await app.listen()
    const findings = await inStore(data, (store) => compare(store, journal))
    for (const [kind, found] of Object.entries(findings) as [string, string[]][]) {
      sentences.push(...found.map((one) => `${kind}: ${one}`))
    }
  } finally {
    await app.close()
  }
  return sentences
}

/** Another thread may be syncing the same file at that time; the thread that got the error must not sync it again. */
function readTrace(file: string): { failures: number; isSyncedAgain: boolean } {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const failed = new Set<string>()
  let failures = 0
  let isSyncedAgain = false
  for (const line of lines) {
    const [, thread, synced] = /^(\d+) +f(?:data)?sync\(\d+<([^>]*)>/.exec(line) ?? []
    const which = `${thread} ${synced}`
    if (line.includes('(INJECTED)')) {
      failures++
      failed.add(which)
    } else if (synced !== undefined && failed.has(which)) isSyncedAgain = true
  }
  return { failures, isSyncedAgain }
}

async function within(ended: Promise<number | null>): Promise<number | null | 'running'> {
  const waiting = new AbortController()
  const late = sleep(endTimeoutMs, 'running' as const, { signal: waiting.signal }).catch(() => 'running' as const)
  const outcome = await Promise.race([ended, late])
  waiting.abort()
  return outcome
}
