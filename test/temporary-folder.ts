// Where tests keep what they make: in memory, where the machine has enough of it. Databases wait for the disk with every commit,
// and the disk of a machine that many share is at times a hundred times slower. What a disk does to data is tested on devices of
// their own (test/real/power.test.ts, test/real/timed/disk.test.ts).
import { chmod, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const gigabyte = 2 ** 30
/** Several times of what the tests have there at most. */
const neededBytes = 8 * gigabyte

export interface TemporaryFolder {
  path: string
  remove(): Promise<void>
}

export async function makeTemporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join((await hasMemory()) ? memory : tmpdir(), 'penstock-tests-'))
  // As the one of the system: servers of the tests have accounts of their own.
  await chmod(path, 0o1777)
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) }
}

async function hasMemory(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(memory)
    const available = /^MemAvailable: +(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))
    return bavail * bsize >= neededBytes && Number(available?.[1]) * 1024 >= neededBytes + 4 * gigabyte
  } catch {
    // Not Linux, or a container without it.
    return false
  }
}
