// Facts from the operating system about this machine and process. The process has the same limits as the server when it is
// started the same way.
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'

export interface FileSystem {
  /** Magic number of the file system type. */
  type: number
  freeBytes: number
  /** Undefined when the file system has no limit of files. */
  freeFiles: number | undefined
}

export interface SyncTimings {
  perSecond: number
  medianMs: number
  slowestMs: number
}

export interface Machine {
  /** Undefined on platforms without numeric user ids. */
  userId: number | undefined
  fileSystemOf(folder: string): FileSystem
  /** Measures small appends to a file in the folder, each synced before the next. */
  measureSyncs(folder: string): SyncTimings
  /** Undefined: unknown or unlimited. */
  openFileLimit(): number | undefined
  /** Memory limit of the container, or else of the machine. */
  memoryBytes(): number
}

const mostSyncs = 500
const measureForMs = 1_000
/** Roughly what SQLite appends to its log for a small change. */
const appendBytes = 2_048

export const thisMachine: Machine = {
  userId: process.getuid?.(),
  fileSystemOf: (folder) => {
    const { type, bavail, bsize, files, ffree } = statfsSync(folder)
    return { type, freeBytes: bavail * bsize, freeFiles: files === 0 ? undefined : ffree }
  },
  measureSyncs,
  openFileLimit: () => {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readOrNothing('/proc/self/limits')) ?? []
    return soft === undefined ? undefined : Number(soft)
  },
  memoryBytes: () => {
    const limit = process.constrainedMemory()
    return limit === 0 ? totalmem() : Math.min(limit, totalmem())
  },
}

function measureSyncs(folder: string): SyncTimings {
  const file = join(folder, `.doctor-${process.pid}.tmp`)
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    const append = Buffer.alloc(appendBytes, 1)
    const times: number[] = []
    const begunMs = performance.now()
    let lastMs = begunMs
    while (times.length < mostSyncs && lastMs - begunMs < measureForMs) {
      writeSync(descriptor, append)
      fdatasyncSync(descriptor)
      const nowMs = performance.now()
      times.push(nowMs - lastMs)
      lastMs = nowMs
    }
    times.sort((one, other) => one - other)
    return {
      perSecond: (1_000 * times.length) / (lastMs - begunMs),
      medianMs: times[Math.floor(times.length / 2)] ?? 0,
      slowestMs: times.at(-1) ?? 0,
    }
  } finally {
    closeSync(descriptor)
    rmSync(file, { force: true })
  }
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
