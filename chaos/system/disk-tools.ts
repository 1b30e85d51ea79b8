// Debian programs for disk drills. A missing program is an error that names its package, never a skipped test.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Returns the paths of programs; `packages` maps each program to its Debian package. */
export function requirePrograms<Name extends string>(packages: Record<Name, string>): Record<Name, string> {
  if (process.getuid?.() !== 0)
    throw new Error('drills of disks mount file systems and trace processes: run them as root')
  const found: Partial<Record<Name, string>> = {}
  for (const [name, debianPackage] of Object.entries(packages) as [Name, string][]) {
    const file = folders.map((folder) => join(folder, name)).find((candidate) => existsSync(candidate))
    if (file === undefined) {
      throw new Error(`${name} is missing: run "apt-get install ${debianPackage}" or "npm run test:real:install"`)
    }
    found[name] = file
  }
  return found as Record<Name, string>
}

const run = promisify(execFile)
const unmountTimeoutMs = 20_000

/** Retries: a process that is still exiting keeps a file system busy. */
export async function unmountWithRetries(umount: string, mountPoint: string): Promise<void> {
  const deadlineMs = Date.now() + unmountTimeoutMs
  for (;;) {
    try {
      await run(umount, [mountPoint])
      return
    } catch (error) {
      if (Date.now() > deadlineMs) throw error
      await sleep(50)
    }
  }
}

export interface Tampering {
  /** System calls, separated by commas. */
  calls: string
  /** Only calls about these files. */
  files: string[]
  /** Effect on the calls, in the syntax of `inject` of strace. */
  effect: string
  traceFile: string
}

/** Command prefix that runs a process under strace. */
export function straceCommand({ calls, files, effect, traceFile }: Tampering): string[] {
  const { strace } = requirePrograms({ strace: 'strace' })
  return [
    strace,
    // `-D` runs the tracer in the background, so that the process is our direct child.
    ...['-D', '-qq', '-f', '-y', '--seccomp-bpf', '-o', traceFile],
    ...files.flatMap((file) => ['-P', file]),
    ...['-e', `trace=${calls}`, '-e', `inject=${calls}:${effect}`],
  ]
}
