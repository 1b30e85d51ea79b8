// The test command: node test/run.ts [files or globs...] [--bundled files or globs...] [-- flags for node --test]
// Runs test files, those of the API and all that is behind it unless told. Files and globs are relative to the project. The other
// suites have commands of their own: what moves rows (test:pipes), whole processes (test:heavy), real servers (test:real), the
// console in a browser (test:console).
// Each file is a process of its own, except where there are so many that starting them takes a third of the time: of those after
// --bundled, and if no files are told, several share one.
import { once } from 'node:events'
import { globSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryName } from './slowest-files.ts'
import { openTestRun, root } from './test-run.ts'

const separator = process.argv.indexOf('--')
const told = process.argv.slice(2, separator < 0 ? undefined : separator)
const flags = separator < 0 ? [] : process.argv.slice(separator + 1)
const bundledFrom = told.indexOf('--bundled')

// The files that take longest come first, so that no core waits for the last one.
const usual = ['test/*.test.ts', 'src/**/*.test.ts', 'console/**/*.test.ts']
const ofOtherSuites = ['src/{sources,runner,engine,formats}/**']
const alone = find(bundledFrom < 0 ? told : told.slice(0, bundledFrom))
const bundled =
  told.length === 0 ? find(usual, ofOtherSuites) : bundledFrom < 0 ? [] : find(told.slice(bundledFrom + 1))
const shared = bundled.filter((file) => !alone.includes(file))

/** Who asks for another reporter gets that alone. */
const hasOwnReporter = flags.some((flag) => flag.startsWith('--test-reporter'))
const slowestFiles = pathToFileURL(join(root, 'test/slowest-files.ts')).href
const reporters = hasOwnReporter ? [] : ['spec', slowestFiles]
/** Enough that no core waits long for the last one. */
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

/** Dealt out in turn: those that take longest come first, and are not together. */
function bundle(files: string[]): string[][] {
  const count = Math.min(bundles, files.length)
  return Array.from({ length: count }, (_, number) => files.filter((_file, index) => index % count === number))
}

/** Files that import the test files, one for each process. Node sorts what it is given: their names begin with their order. */
function makeEntries(groups: string[][], folder: string): string[] {
  return groups.map((files, number) => {
    const place = String(number + 1).padStart(4, '0')
    const path = join(folder, `${place}-${entryName(files)}`)
    const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)}\n`)
    writeFileSync(path, `${imports.join('')}process.env.PENSTOCK_TEST_FILES = ${JSON.stringify(files.join(', '))}\n`)
    return path
  })
}
