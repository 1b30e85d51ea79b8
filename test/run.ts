// The test command: node test/run.ts [files or globs...] [-- flags for node --test]
// Runs test files, those of the API and all that is behind it unless told, against one PostgreSQL server, which they find in
// PENSTOCK_TEST_POSTGRES. Files and globs are relative to the project. The other suites have commands of their own: what moves rows
// (test:pipes), whole processes (test:heavy), real servers (test:real), the console in a browser (test:console).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from './postgres-server.ts'
import { prepareDatabases } from './prepared-databases.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

const root = join(import.meta.dirname, '..')
const separator = process.argv.indexOf('--')
const patterns = process.argv.slice(2, separator < 0 ? undefined : separator)
const flags = separator < 0 ? [] : process.argv.slice(separator + 1)

/** Every file is a process of its own and loads most of Penstock: what Node made of it once serves them all. */
const compileCache = join(root, 'node_modules', '.cache', 'penstock-tests')

const isTold = patterns.length > 0
// The files that take longest come first, so that no core waits for the last one.
if (!isTold) patterns.push('test/*.test.ts', 'src/**/*.test.ts', 'console/**/*.test.ts')
const files = new Set<string>()
for (const pattern of patterns) {
  const found = globSync(pattern, { cwd: root, exclude: isTold ? [] : ['src/{sources,runner,engine}/**'] }).sort()
  // A misspelt name must not pass as a green run.
  if (found.length === 0) {
    console.error(`No test file matches ${pattern}`)
    process.exit(1)
  }
  for (const file of found) files.add(file)
}

// Fails a file whose tests are done while something still runs, such as a pool or a server. --test-timeout covers single
// tests only, so that such a file would never end, and --test-force-exit would hide it. Workers and processes that a test
// starts inherit both the import and the environment: the mark keeps them from taking themselves for test files.
const failIfLeftRunning = `
  import { after } from 'node:test'
  if (process.env.NODE_TEST_CONTEXT && !process.env.PENSTOCK_TEST_WATCHED) {
    process.env.PENSTOCK_TEST_WATCHED = '1'
    after(() => {
      setTimeout(() => {
        console.error('Left running:', process.getActiveResourcesInfo().join(', '))
        process.exit(1)
      }, 30_000).unref()
    })
  }`

let interruptedBy: NodeJS.Signals | undefined
let forward = (_signal: NodeJS.Signals) => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interruptedBy ??= signal
    forward(signal)
  })
}

const temporary = await makeTemporaryFolder()
process.env.TMPDIR = temporary.path
try {
  const postgres = await startPostgres()
  try {
    await prepareDatabases(postgres.url)
    if (!interruptedBy) process.exitCode = await runTests(postgres.url)
  } finally {
    await postgres.stop()
  }
} finally {
  await temporary.remove()
}
if (interruptedBy) process.exitCode = 128 + constants.signals[interruptedBy]

async function runTests(postgresUrl: string): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--test',
      // The runner's own default leaves a core idle, and one more than there are cores is busy while others wait.
      `--test-concurrency=${availableParallelism() + 1}`,
      // For what hangs: the longest tests take minutes on a machine that has much else to do.
      '--test-timeout=600000',
      `--import=data:text/javascript,${encodeURIComponent(failIfLeftRunning)}`,
      ...flags,
      ...files,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { NODE_COMPILE_CACHE: compileCache, ...process.env, PENSTOCK_TEST_POSTGRES: postgresUrl },
    },
  )
  forward = (signal) => child.kill(signal)
  const [code] = await once(child, 'exit')
  return code ?? 1
}
