// The test command: node test/run.ts [--bundled] [files or globs...] [-- flags for node --test]
// Runs test files, those of the API and all that is behind it unless told. Files and globs are relative to the project. The other
// suites have commands of their own: what moves rows (test:pipes), whole processes (test:heavy), real servers (test:real), the
// console in a browser (test:console).
// Each file is a process of its own, except where there are so many that starting them takes a third of the time: with --bundled,
// and if no files are told, several share one.
import { once } from 'node:events'
import { globSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openTestRun, root } from './test-run.ts'

const separator = process.argv.indexOf('--')
const told = process.argv.slice(2, separator < 0 ? undefined : separator)
const patterns = told.filter((argument) => argument !== '--bundled')
const flags = separator < 0 ? [] : process.argv.slice(separator + 1)

const isTold = patterns.length > 0
const isBundled = !isTold || told.includes('--bundled')
/** Of bundles, nobody knows which file it was; and who asks for another reporter gets that alone. */
const hasOwnReporter = flags.some((flag) => flag.startsWith('--test-reporter'))
const slowestFiles = pathToFileURL(join(root, 'test/slowest-files.ts')).href
const reporters = isBundled || hasOwnReporter ? [] : ['spec', slowestFiles]
/** Enough that no core waits long for the last one. */
const bundles = 24

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
      isBundled ? bundle([...files], run.folder) : files,
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

/** Files that import the test files, dealt out in turn: those that take longest come first, and are not together. */
function bundle(testFiles: string[], folder: string): string[] {
  const count = Math.min(bundles, testFiles.length)
  return Array.from({ length: count }, (_, number) => {
    const its = testFiles.filter((_file, index) => index % count === number)
    const path = join(folder, `bundle-${number + 1}.test.mjs`)
    const imports = its.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)}\n`)
    writeFileSync(path, `${imports.join('')}process.env.PENSTOCK_TEST_FILES = ${JSON.stringify(its.join(', '))}\n`)
    return path
  })
}
