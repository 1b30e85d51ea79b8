// Child processes of the benchmark: each is measured through /proc and ends with the benchmark, however that ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, truncateSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Running {
  pid: number
  child: ChildProcess
  /** Standard output. */
  logFile: string
}

const endTimeoutMs = 15_000
const readyTimeoutMs = 30_000
const clockTicksPerSecond = 100
const running = new Set<ChildProcess>()

process.on('exit', killAll)

/** With SIGKILL: nothing that they store is needed any more. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** Environment without the Penstock settings of the shell. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('PENSTOCK_') && !['DATABASE_URL', 'NODE_OPTIONS', 'NODE_ENV'].includes(name),
  )
  return { ...Object.fromEntries(kept), ...extra }
}

export async function start(
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; logFile: string },
): Promise<Running> {
  const log = openSync(options.logFile, 'a')
  const child = spawn(process.execPath, args, {
    cwd: options.cwd,
    env: options.env ?? cleanEnvironment(),
    stdio: ['ignore', log, log],
  })
  track(child)
  await once(child, 'spawn').finally(() => closeSync(log))
  return { pid: child.pid!, child, logFile: options.logFile }
}

/** Runs to the end and returns standard output. */
export async function run(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeoutMs: number },
): Promise<string> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
  })
  track(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  if (code !== 0) throw new Error(`${command} ${args[0]} failed (${code ?? signal}): ${errors}${output}`)
  return output
}

export async function end({ child }: Running): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const escalation = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs)
  await ended
  clearTimeout(escalation)
}

export async function untilAnswers({ child, logFile }: Running, url: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  while (Date.now() < deadline && !hasEnded(child)) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
      await response.arrayBuffer()
      if (response.status < 500) return
    } catch {
      // Not listening yet.
    }
    await sleep(50)
  }
  throw new Error(`No answer from ${url}:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`)
}

/** CPU time of all threads so far. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may contain spaces; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond
}

export function residentMegabytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

/** Truncates the log: writing back millions of lines would disturb the measurement of another contender. */
export function emptyLog({ logFile }: Running): void {
  truncateSync(logFile, 0)
}

function track(child: ChildProcess): void {
  running.add(child)
  child.on('exit', () => running.delete(child))
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
