// Temporary folder of the tests: in memory if the machine has enough, because databases wait for the disk at every commit and the
// disk of a shared machine can be a hundred times slower. Effects of disks are tested on separate devices
// (test/real/power.test.ts, test/real/timed/disk.test.ts).
import { chmod, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const gigabyte = 2 ** 30
/** Several times the maximum of the tests. */
const neededBytes = 8 * gigabyte

export interface TemporaryFolder {
  path: string
  remove(): Promise<void>
}

export async function makeTemporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join((await hasMemory()) ? memory : tmpdir(), 'penstock-tests-'))
  // Like the system folder: test servers run under other accounts.
  await chmod(path, 0o1777)
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) }
}

async function hasMemory(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(memory)
    const available = /^MemAvailable: +(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))
    return bavail * bsize >= neededBytes && Number(available?.[1]) * 1024 >= neededBytes + 4 * gigabyte
  } catch {
    // Not Linux, or a container without /dev/shm.
    return false
  }
}
