// R6: a disk that takes long to sync holds up writes and nothing else.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { straceCommand } from './disk-tools.ts'
import type { SystemDrill } from './drill.ts'
import { readSample, startServer } from './drill-process.ts'
import { inStore } from './drill-store.ts'
import { type Books, makeSend, makeWriters, openBooks, type Send } from './drill-writers.ts'

const delayMs = 1_500
const pauseMs = 5
const readLimitMs = 100
const healthLimitMs = 50

export const diskSlow: SystemDrill = {
  id: 'R6',
  promise: 'while every sync takes 1.5 s, reads take less than 100 ms and /health less than 50 ms (p99)',
  ci: 10,
  full: 120,
  unit: 'seconds',
  run: async ({ size, folder }) => {
    const data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    const first = await startServer({ folder: data })
    await first.kill()
    const books = await inStore(data, (store) => openBooks(store, readSample(data)))
    const strace = straceCommand({
      calls: 'fsync,fdatasync',
      files: ['penstock.db', 'penstock.db-wal'].map((file) => join(data, file)),
      effect: `delay_enter=${delayMs * 1_000}`,
      traceFile: '/dev/null',
    })
    const server = await startServer({ folder: data, strace })
    try {
      const { figures, refusals } = await use(server.url, books, size)
      const { readP99Ms, healthP99Ms, writes, fastestWriteMs } = figures
      // Without the delay it would be another drill.
      const wasSlow = writes > 0 && fastestWriteMs >= delayMs / 2
      const isKept = wasSlow && readP99Ms < readLimitMs && healthP99Ms < healthLimitMs && refusals.size === 0
      return { isKept, figures, ...(refusals.size === 0 ? {} : { toLookAt: `answers: ${[...refusals].join(', ')}` }) }
    } finally {
      await server.kill()
    }
  },
}

async function use(url: string, books: Books, seconds: number) {
  const { send, close } = makeSend(url, books.sample)
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
    timesOf(get(books.ledgers[0]!.path)),
    timesOf(get('/health')),
    ...makeWriters(books, send).map(timesOf),
  ])
  close()
  const figures = {
    reads: reads.length,
    readP99Ms: percentile99(reads),
    readMaxMs: Math.round(reads.at(-1) ?? 0),
    healths: healths.length,
    healthP99Ms: percentile99(healths),
    healthMaxMs: Math.round(healths.at(-1) ?? 0),
    writes: writes.flat().length,
    fastestWriteMs: Math.round(Math.min(...writes.flat())),
  }
  return { figures, refusals }
}

function percentile99(sorted: number[]): number {
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY)
}
