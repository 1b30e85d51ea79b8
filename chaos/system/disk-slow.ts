// R6: a disk with slow syncs delays writes and nothing else; and not even writes when the sync belongs to a checkpoint.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { straceCommand } from './disk-tools.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, startServer } from './drill-process.ts'
import { inStore, padLog } from './drill-store.ts'
import { makeSend, makeWriters, openJournal, type Send, type WriteJournal } from './drill-writers.ts'

const delayMs = 1_500
const pauseMs = 5
const readLimitMs = 100
const healthLimitMs = 50
/** The checkpoint thread syncs three times before the writer has to. */
const besideCheckpointSeconds = 3
const besideCheckpointLimitMs = delayMs / 2

export const diskSlow: SystemDrill = {
  id: 'R6',
  promise:
    'while every sync takes 1.5 s, reads take less than 100 ms and /health less than 50 ms (p99); writes do not wait for a checkpoint that syncs',
  ci: 10,
  full: 120,
  unit: 'seconds',
  run: async ({ size, folder }) => {
    const data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    const first = await startServer({ folder: data })
    await first.kill()
    const journal = await inStore(data, (store) => openJournal(store, readSample(data)))
    const slow = await onSlowDisk(data, ['penstock.db', 'penstock.db-wal'], (url) => use(url, journal, size))
    padLog(data)
    const beside = await onSlowDisk(data, ['penstock.db'], (url) => use(url, journal, besideCheckpointSeconds))
    const { readP99Ms, healthP99Ms, writes, fastestWriteMs } = slow.measurements
    // Without the delay the drill would prove nothing.
    const wasSlow = writes > 0 && fastestWriteMs >= delayMs / 2 && beside.slowCalls > 0
    const measurements = {
      ...slow.measurements,
      writesBesideCheckpoint: beside.measurements.writes,
      longestBesideCheckpointMs: beside.measurements.slowestWriteMs,
    }
    const refusals = [...slow.refusals, ...beside.refusals]
    const isKept =
      wasSlow &&
      readP99Ms < readLimitMs &&
      healthP99Ms < healthLimitMs &&
      measurements.writesBesideCheckpoint > 0 &&
      measurements.longestBesideCheckpointMs < besideCheckpointLimitMs &&
      refusals.length === 0
    return { isKept, measurements, ...(refusals.length === 0 ? {} : { toLookAt: `answers: ${refusals.join(', ')}` }) }
  },
}

/** Runs a server whose syncs of these files are slow; `slowCalls` returns how many such syncs started. */
async function onSlowDisk<Result>(
  data: string,
  files: string[],
  work: (url: string) => Promise<Result>,
): Promise<Result & { slowCalls: number }> {
  const traceFile = join(data, '..', 'trace')
  const strace = straceCommand({
    calls: 'fsync,fdatasync',
    files: files.map((file) => join(data, file)),
    effect: `delay_enter=${delayMs * 1_000}`,
    traceFile,
  })
  const server = await startServer({ folder: data, strace })
  try {
    const result = await work(server.url)
    const slowCalls = readFileSync(traceFile, 'utf8').split('sync(').length - 1
    return { ...result, slowCalls }
  } finally {
    await server.kill()
  }
}

async function use(url: string, journal: WriteJournal, seconds: number) {
  const { send, close } = makeSend(url, journal.sample)
  const refusals = new Set<number | undefined>()
  const endMs = performance.now() + seconds * 1_000
  const timesOf = async (ask: () => Promise<number | undefined>): Promise<number[]> => {
    const times: number[] = []
    while (performance.now() < endMs) {
      const askedAt = performance.now()
      const status = await ask()
      times.push(performance.now() - askedAt)
      if (status !== 200) refusals.add(status)
      await sleep(pauseMs)
    }
    return times.sort((one, other) => one - other)
  }
  const get = (path: string) => (): ReturnType<Send> => send('GET', path)
  const [reads, healths, ...writes] = await Promise.all([
    timesOf(get(journal.ledgers[0]!.path)),
    timesOf(get('/health')),
    ...makeWriters(journal, send).map(timesOf),
  ])
  close()
  const measurements = {
    reads: reads.length,
    readP99Ms: percentile99(reads),
    readMaxMs: Math.round(reads.at(-1) ?? 0),
    healths: healths.length,
    healthP99Ms: percentile99(healths),
    healthMaxMs: Math.round(healths.at(-1) ?? 0),
    writes: writes.flat().length,
    fastestWriteMs: Math.round(Math.min(...writes.flat())),
    slowestWriteMs: Math.round(Math.max(...writes.flat())),
  }
  return { measurements, refusals }
}

function percentile99(sorted: number[]): number {
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY)
}
