// Environment of a test run: a temporary folder, one PostgreSQL server (PENSTOCK_TEST_POSTGRES), and one ClickHouse that starts
// on first use.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startPostgres } from '../../src/embedded-postgres/postgres-server.ts'
import { prepareDatabases } from '../harness/prepared-databases.ts'
import { offerEngine } from '../harness/shared-engine.ts'
import { makeTemporaryFolder } from '../harness/temporary-folder.ts'

export interface TestRun {
  /** Removed by close(). */
  readonly folder: string
  /** `node --test` with these flags. */
  spawn(files: Iterable<string>, flags: string[], options: SpawnOptions): ChildProcess
  close(): Promise<void>
}

export const root = join(import.meta.dirname, '../..')

/** Every file is a separate process that loads most of Penstock: they share compiled code. */
const compileCache = join(root, 'node_modules', '.cache', 'penstock-tests')

const beforeTestFile = pathToFileURL(join(root, 'test/run/before-test-file.ts')).href

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
      return { folder: temporary.path, spawn: (...args) => spawnTests(found, ...args), close }
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
    // The default of the runner leaves a core idle; one test more than cores keeps them busy while others wait.
    `--test-concurrency=${availableParallelism() + 1}`,
    // For hangs: the longest tests take minutes on a busy machine.
    '--test-timeout=600000',
    `--import=${beforeTestFile}`,
  ]
  const env = { NODE_COMPILE_CACHE: compileCache, ...process.env, ...options.env, ...found }
  return spawn(process.execPath, [...given, ...flags, ...files], { cwd: root, ...options, env })
}
