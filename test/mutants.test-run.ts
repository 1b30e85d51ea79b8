// node bin/node24.js test/mutants.test-run.ts [names...]: runs the tests of every mutant, or of those named, and requires
// each test file to fail by an assertion. First the same files must pass without a mutant.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Mutant, mutants, readMutated } from './mutants.ts'

const root = join(import.meta.dirname, '..')
const names = process.argv.slice(2)
const chosen = names.length === 0 ? mutants : mutants.filter(({ name }) => names.includes(name))
const unknown = names.filter((name) => !mutants.some((mutant) => mutant.name === name))
if (unknown.length > 0) {
  console.error(`No mutant is named ${unknown.join(', ')}`)
  process.exit(1)
}
// A mutant that does not apply would fail every test, and look like one that is caught.
const stale = chosen.flatMap((mutant) => {
  try {
    readMutated(root, mutant)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
})
if (stale.length > 0) {
  console.error(stale.join('\n'))
  process.exit(1)
}

const healthy = await run([...new Set(chosen.flatMap(({ tests }) => tests))], undefined)
if (healthy.code !== 0) {
  console.error('The tests fail without a mutant:')
  for (const [, , name] of failuresIn(healthy.output)) console.error(name)
  process.exit(1)
}

let passed = 0
let failed = 0
for (const mutant of chosen) {
  for (const test of mutant.tests) {
    const started = performance.now()
    const verdict = await judge(mutant, test)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    if (verdict === 'killed') passed++
    else failed++
    console.log(`${verdict.padEnd(9)} ${mutant.name} by ${test} (${seconds} s)`)
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

async function judge(mutant: Mutant, test: string): Promise<'killed' | 'survived' | 'crashed'> {
  const { code, output } = await run([test], mutant.name)
  if (code === 0) return 'survived'
  return failsByAssertion(output) ? 'killed' : 'crashed'
}

/** A Penstock that does not even start fails every test too, and proves nothing. */
function failsByAssertion(tap: string): boolean {
  return failuresIn(tap).some(([, , , details]) => /code: 'ERR_ASSERTION'|Property failed after/.test(details!))
}

/**
 * Every test that fails and is not known to: its indentation, its name and the details. The details may have dots of their
 * own, deeper in.
 */
function failuresIn(tap: string): RegExpExecArray[] {
  const failures = tap.matchAll(/^( *)not ok \d+ - (.*)\n\1 {2}---\n([\s\S]*?)\n\1 {2}\.\.\.$/gm)
  return [...failures].filter(([, , name]) => !name!.includes('# TODO'))
}

async function run(files: string[], mutant: string | undefined): Promise<{ code: number; output: string }> {
  const loader = new URL('mutate.ts', import.meta.url).href
  const env = { ...process.env }
  if (mutant === undefined) delete env.PENSTOCK_TEST_MUTANT
  else env.PENSTOCK_TEST_MUTANT = mutant
  const flags = [`--import=${loader}`, '--test-reporter=tap']
  const child = spawn(process.execPath, [join(root, 'test/run.ts'), ...files, '--', ...flags], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const [code] = await once(child, 'close')
  return { code: code ?? 1, output }
}
