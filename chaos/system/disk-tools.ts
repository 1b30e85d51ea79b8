// The programs of Debian that drills of disks use. One that is missing is an error that says how to get it, never a skip.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Where they are. `packages` tells for each program the package that has it. */
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

/** Processes that still end keep a file system from being unmounted. */
export async function unmountPatiently(umount: string, mountPoint: string): Promise<void> {
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
  /** System calls, apart by commas. */
  calls: string
  /** Only those about these files. */
  files: string[]
  /** What becomes of them, as strace's `inject` takes it. */
  effect: string
  traceFile: string
}

/** Goes before the command of the process whose system calls are to be tampered with. */
export function straceCommand({ calls, files, effect, traceFile }: Tampering): string[] {
  const { strace } = requirePrograms({ strace: 'strace' })
  return [
    strace,
    // The tracer in the background: the process itself is our child.
    ...['-D', '-qq', '-f', '-y', '--seccomp-bpf', '-o', traceFile],
    ...files.flatMap((file) => ['-P', file]),
    ...['-e', `trace=${calls}`, '-e', `inject=${calls}:${effect}`],
  ]
}
