// Runs test files: node bin/node24.js test/run/run.ts [files or globs...] [--bundled files or globs...] [-- flags for node --test]
// Without arguments: the tests of the API and everything below it. Paths are relative to the project. Other suites have npm
// scripts: test:pipes (sources, engines, runner), test:heavy (processes), test:real (real servers), test:console (browser).
// Each file is a separate process. Where starting processes would take a third of the time, several files share one: the
// files after --bundled, or all files without arguments.
import { once } from 'node:events'
import { globSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryName } from './slowest-files.ts'
import { openTestRun, root } from './test-run.ts'

const separator = process.argv.indexOf('--')
const args = process.argv.slice(2, separator < 0 ? undefined : separator)
const flags = separator < 0 ? [] : process.argv.slice(separator + 1)
const bundledFrom = args.indexOf('--bundled')

// Slow files start first, so that no core waits for the last one.
const usual = ['test/{checks,fakes,models,run,suites}/*.test.ts', 'src/**/*.test.ts', 'console/**/*.test.ts']
const otherSuites = ['src/{sources,runner,engine,formats}/**']
const alone = find(bundledFrom < 0 ? args : args.slice(0, bundledFrom))
const bundled = args.length === 0 ? find(usual, otherSuites) : bundledFrom < 0 ? [] : find(args.slice(bundledFrom + 1))
const shared = bundled.filter((file) => !alone.includes(file))

/** A reporter flag replaces the default reporters. */
const hasOwnReporter = flags.some((flag) => flag.startsWith('--test-reporter'))
const slowestFiles = pathToFileURL(join(root, 'test/run/slowest-files.ts')).href
const reporters = hasOwnReporter ? [] : ['spec', slowestFiles]
/** Many enough that no core waits long for the last one. */
const bundles = 24

function find(patterns: string[], exclude: string[] = []): string[] {
  const files = new Set<string>()
  for (const pattern of patterns) {
    const found = globSync(pattern, { cwd: root, exclude }).sort()
    // A misspelt name must not pass as a green run.
    if (found.length === 0) {
      console.error(`No test file matches ${pattern}`)
      process.exit(1)
    }
    for (const file of found) files.add(file)
  }
  return [...files]
}

let interruptedBy: NodeJS.Signals | undefined
let forward = (_signal: NodeJS.Signals) => {}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interruptedBy ??= signal
    forward(signal)
  })
}

const run = await openTestRun()
try {
  if (!interruptedBy) {
    const child = run.spawn(
      makeEntries([...alone.map((file) => [file]), ...bundle(shared)], run.folder),
      [...flags, ...reporters.flatMap((name) => [`--test-reporter=${name}`, '--test-reporter-destination=stdout'])],
      { stdio: 'inherit' },
    )
    forward = (signal) => child.kill(signal)
    const [code] = await once(child, 'exit')
    process.exitCode = code ?? 1
  }
} finally {
  await run.close()
}
if (interruptedBy) process.exitCode = 128 + constants.signals[interruptedBy]

/** Dealt out round robin, so that slow files, which come first, are in different bundles. */
function bundle(files: string[]): string[][] {
  const count = Math.min(bundles, files.length)
  return Array.from({ length: count }, (_, number) => files.filter((_file, index) => index % count === number))
}

/** Files that import the test files, one per process. Node sorts its arguments, so the names begin with their order. */
function makeEntries(groups: string[][], folder: string): string[] {
  return groups.map((files, number) => {
    const order = String(number + 1).padStart(4, '0')
    const path = join(folder, `${order}-${entryName(files)}`)
    const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)}\n`)
    writeFileSync(path, `${imports.join('')}process.env.PENSTOCK_TEST_FILES = ${JSON.stringify(files.join(', '))}\n`)
    return path
  })
}
