// What a run of test files needs: a folder for what they make, one PostgreSQL server, which they find in PENSTOCK_TEST_POSTGRES, and
// one ClickHouse for those that ask for it.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startPostgres } from '../src/embedded-postgres/postgres-server.ts'
import { prepareDatabases } from './prepared-databases.ts'
import { offerEngine } from './shared-engine.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

export interface TestRun {
  /** What is made there is gone after close(). */
  readonly folder: string
  /** `node --test`, with flags for it. */
  spawn(files: Iterable<string>, flags: string[], options: SpawnOptions): ChildProcess
  close(): Promise<void>
}

export const root = join(import.meta.dirname, '..')

/** Every file is a process of its own and loads most of Penstock: what Node made of it once serves them all. */
const compileCache = join(root, 'node_modules', '.cache', 'penstock-tests')

const beforeTestFile = pathToFileURL(join(root, 'test/before-test-file.ts')).href

export async function openTestRun(): Promise<TestRun> {
  const temporary = await makeTemporaryFolder()
  process.env.TMPDIR = temporary.path
  try {
    const postgres = await startPostgres()
    try {
      await prepareDatabases(postgres.url)
      const engine = await offerEngine(temporary.path)
      const found = { PENSTOCK_TEST_POSTGRES: postgres.url, PENSTOCK_TEST_ENGINE: engine.socket }
      const close = async (): Promise<void> => {
        await engine.close()
        await postgres.stop()
        await temporary.remove()
      }
      return { folder: temporary.path, spawn: (...told) => spawnTests(found, ...told), close }
    } catch (error) {
      await postgres.stop()
      throw error
    }
  } catch (error) {
    await temporary.remove()
    throw error
  }
}

function spawnTests(
  found: NodeJS.ProcessEnv,
  files: Iterable<string>,
  flags: string[],
  options: SpawnOptions,
): ChildProcess {
  const given = [
    '--test',
    // The runner's own default leaves a core idle, and one more than there are cores is busy while others wait.
    `--test-concurrency=${availableParallelism() + 1}`,
    // For what hangs: the longest tests take minutes on a machine that has much else to do.
    '--test-timeout=600000',
    `--import=${beforeTestFile}`,
  ]
  const env = { NODE_COMPILE_CACHE: compileCache, ...process.env, ...options.env, ...found }
  return spawn(process.execPath, [...given, ...flags, ...files], { cwd: root, ...options, env })
}
