// R5: on a full disk writes are refused and reads work. Writes work again as soon as there is space, without a restart. In every
// second round the disk fills up just before a checkpoint.
import { execFile } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requirePrograms, unmountWithRetries } from './disk-tools.ts'
import type { SystemDrill } from './drill.ts'
import { NotStarted, readSample, type Server, startServer } from './drill-process.ts'
import { inStore, padLog } from './drill-store.ts'
import { compare, makeSend, makeWriters, openJournal, type Send, type WriteJournal } from './drill-writers.ts'

const run = promisify(execFile)
const diskMegabytes = 256
/** Growth of the database per round; padding its WAL needs twice as much. */
const megabytesPerFilling = 4
/** Time until the first write must be refused. */
const fillTimeoutMs = 60_000
const fullForMs = 1_500
const healWithinMs = 1_000
/** The WAL is this much shorter than the checkpoint threshold, and this much space is free: too little for the checkpoint. */
const shortByBytes = 24_576
const roomBytes = 98_304

export const diskFull: SystemDrill = {
  id: 'R5',
  promise: 'on a full disk writes get 503 and reads 200; writes work again within a second after space is freed',
  ci: 2,
  full: 40,
  unit: 'times full',
  run: async ({ size, folder }) => {
    const programs = requirePrograms({ mount: 'mount', umount: 'mount' })
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    const megabytes = diskMegabytes + megabytesPerFilling * size
    await run(programs.mount, ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', disk])
    try {
      return tell(await fillAgainAndAgain(disk, size))
    } finally {
      await unmountWithRetries(programs.umount, disk)
    }
  },
}

interface Filling {
  refusedWrites: number
  reads: number
  healedMs: number
  failedCheckpoints: number
  /** Violations of the promise. */
  broken: string[]
}

function tell(fillings: Filling[]) {
  const sum = (of: (filling: Filling) => number): number => fillings.reduce((total, filling) => total + of(filling), 0)
  const broken = fillings.flatMap((filling, index) => filling.broken.map((sentence) => `${index + 1}: ${sentence}`))
  return {
    isKept: broken.length === 0,
    measurements: {
      fillings: fillings.length,
      refusedWrites: sum(({ refusedWrites }) => refusedWrites),
      reads: sum(({ reads }) => reads),
      failedCheckpoints: sum(({ failedCheckpoints }) => failedCheckpoints),
      healedMs: Math.max(...fillings.map(({ healedMs }) => healedMs)),
      broken: broken.length,
    },
    ...(broken.length === 0 ? {} : { toLookAt: broken.slice(0, 20).join('; ') }),
  }
}

async function fillAgainAndAgain(disk: string, size: number): Promise<Filling[]> {
  const data = join(disk, 'data')
  mkdirSync(data, { mode: 0o700 })
  let server = await startServer({ folder: data })
  const fillings: Filling[] = []
  try {
    const journal = await inStore(data, (store) => openJournal(store, readSample(data)))
    while (fillings.length < size) {
      const meetsCheckpoint = fillings.length % 2 === 1
      if (meetsCheckpoint) {
        await server.kill()
        padLog(data, { shortByBytes })
        server = await startServer({ folder: data })
      }
      const filling = await fillOnce(disk, server, journal, meetsCheckpoint ? roomBytes : 0)
      await server.kill()
      server = await startServer({ folder: data })
      const findings = await inStore(data, (store) => compare(store, journal))
      for (const [kind, found] of Object.entries(findings))
        filling.broken.push(...found.map((one: string) => `${kind}: ${one}`))
      fillings.push(filling)
    }
    // A clean stop removes the WAL: the next start has to create one.
    server.child.kill('SIGTERM')
    await server.ended
    fillings.at(-1)!.broken.push(...(await startWhileFull(disk, data)))
    return fillings
  } finally {
    await server.kill()
  }
}

/** A start on a full disk must report the reason. Returns violations. */
async function startWhileFull(disk: string, data: string): Promise<string[]> {
  const filler = join(disk, 'filler')
  fill(disk, filler, 0)
  try {
    const server = await startServer({ folder: data })
    await server.kill()
    return ['Penstock started on a full disk']
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error
    return /The disk of \S+ is full/.test(error.message) ? [] : [`a start on a full disk said: ${error.message}`]
  } finally {
    rmSync(filler, { force: true })
  }
}

async function fillOnce(disk: string, server: Server, journal: WriteJournal, room: number): Promise<Filling> {
  const filling: Filling = { refusedWrites: 0, reads: 0, healedMs: 0, failedCheckpoints: 0, broken: [] }
  const { send, close } = makeSend(server.url, journal.sample)
  const write = takeTurns(makeWriters(journal, send))
  const filler = join(disk, 'filler')
  try {
    if ((await write()) !== 200) filling.broken.push('a write was refused before the disk was full')
    fill(disk, filler, room)
    await callWhileFull(journal, send, write, filling)
    rmSync(filler)
    const emptiedAt = performance.now()
    for (let status = await write(); status !== 200; status = await write()) {
      if (performance.now() - emptiedAt > fillTimeoutMs) break
      if (status !== 503) filling.broken.push(`a write was answered with ${status}`)
    }
    filling.healedMs = Math.round(performance.now() - emptiedAt)
    if (filling.healedMs > healWithinMs) filling.broken.push(`writes went on after ${filling.healedMs} ms only`)
    if (server.child.exitCode !== null || server.child.signalCode !== null) filling.broken.push('the process has ended')
  } finally {
    rmSync(filler, { force: true })
    close()
  }
  filling.failedCheckpoints = server.complaints().split('could not be moved into the database file').length - 1
  return filling
}

async function callWhileFull(
  journal: WriteJournal,
  send: Send,
  write: () => Promise<number | undefined>,
  filling: Filling,
): Promise<void> {
  const patientUntilMs = performance.now() + fillTimeoutMs
  let untilMs = patientUntilMs
  while (performance.now() < untilMs) {
    const status = await write()
    if (status === 503 && filling.refusedWrites++ === 0) untilMs = performance.now() + fullForMs
    if (status !== 200 && status !== 503) filling.broken.push(`a write was answered with ${status}`)
    const read = await send('GET', journal.ledgers[0]!.path)
    filling.reads++
    if (read !== 200) filling.broken.push(`a read was answered with ${read}`)
  }
  if (filling.refusedWrites === 0) filling.broken.push('the disk was never full')
}

function takeTurns(writers: (() => Promise<number | undefined>)[]): () => Promise<number | undefined> {
  let turn = 0
  return () => writers[turn++ % writers.length]!()
}

/** Fills the disk up to the given free space, or completely. */
function fill(disk: string, filler: string, roomBytes: number): void {
  const descriptor = openSync(filler, 'w')
  const { bsize } = statfsSync(disk)
  const block = Buffer.alloc(bsize)
  try {
    while (roomBytes === 0 || statfsSync(disk).bavail * bsize > roomBytes) writeSync(descriptor, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(descriptor)
  }
}
