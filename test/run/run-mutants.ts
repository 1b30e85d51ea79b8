// Runs the tests of all mutants, or of the named ones: node bin/node24.js test/run/run-mutants.ts [names...]
// Each test file of a mutant must fail by an assertion. --part selects the mutants of every commit and an eighth of the others, a
// different eighth with each commit, and skips the run without mutants, for use after a successful test run.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { makeCommitPart } from './commit-part.ts'
import { type Mutant, readMutated } from './mutants/mutant.ts'
import { mutants } from './mutants.ts'
import { openTestRun, root } from './test-run.ts'

const isPart = process.argv[2] === '--part'
const names = isPart ? [] : process.argv.slice(2)

/** Without tests on real servers: these break their promises by controls of their own. */
function partOfAll(): Mutant[] {
  const isInPart = makeCommitPart()
  return mutants.filter(
    ({ name, tests, everyCommit }) =>
      !tests.some((test) => test.startsWith('test/real/')) && (everyCommit || isInPart(name)),
  )
}

const named = names.length === 0 ? mutants : mutants.filter(({ name }) => names.includes(name))
const chosen = isPart ? partOfAll() : named
const unknown = names.filter((name) => !mutants.some((mutant) => mutant.name === name))
if (unknown.length > 0) {
  console.error(`No mutant is named ${unknown.join(', ')}`)
  process.exit(1)
}
// A mutant that does not apply would fail every test, and look like a killed one.
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

/** Other tests stop at the first failure. Tests that mount disks must end normally, because only then do they unmount. */
const mountDisks = ['test/real/power.test.ts', 'test/real/timed/disk.test.ts']
const running = new Set<ChildProcess>()
// Shared by all mutants: none changes data of another.
const testRun = await openTestRun()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of running) endGroup(child)
    void testRun.close().finally(() => process.exit(1))
  })
}
try {
  await evaluateAll()
} finally {
  await testRun.close()
}

async function evaluateAll(): Promise<void> {
  const healthy = isPart ? undefined : await run([...new Set(chosen.flatMap(({ tests }) => tests))], undefined)
  if (healthy && healthy.code !== 0) {
    console.error('The tests fail without a mutant:')
    for (const [, , name] of failuresIn(healthy.output)) console.error(name)
    process.exitCode = 1
    return
  }

  let passed = 0
  let failed = 0
  const waiting = chosen.flatMap((mutant) => mutant.tests.map((test) => ({ mutant, test })))
  const evaluateNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { mutant, test } = next
      const started = performance.now()
      const verdict = await evaluate(mutant, test)
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      if (verdict === 'killed') passed++
      else failed++
      console.log(`${verdict.padEnd(9)} ${mutant.name} by ${test} (${seconds} s)`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, evaluateNext))
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

async function evaluate(mutant: Mutant, test: string): Promise<'killed' | 'survived' | 'crashed'> {
  const { code, output } = await run([test], mutant.name, mountDisks.includes(test) ? undefined : failsByAssertion)
  if (failsByAssertion(output)) return 'killed'
  return code === 0 ? 'survived' : 'crashed'
}

/** A Penstock that does not start fails every test too, and proves nothing. */
function failsByAssertion(tap: string): boolean {
  return failuresIn(tap).some(([, , , details]) => /code: 'ERR_ASSERTION'|Property failed after/.test(details!))
}

/** Failing tests without `# TODO`: indentation, name and details. The details may contain `...` at a deeper indentation. */
function failuresIn(tap: string): RegExpExecArray[] {
  const failures = tap.matchAll(/^( *)not ok \d+ - (.*)\n\1 {2}---\n([\s\S]*?)\n\1 {2}\.\.\.$/gm)
  return [...failures].filter(([, , name]) => !name!.includes('# TODO'))
}

async function run(
  files: string[],
  mutant: string | undefined,
  isEnough: (output: string) => boolean = () => false,
): Promise<{ code: number; output: string }> {
  const loader = new URL('mutate.ts', import.meta.url).href
  const flags = [`--import=${loader}`, '--test-reporter=tap']
  // A process group of its own, so that processes started by a failed test can be killed.
  const child = testRun.spawn(files, flags, {
    env: { PENSTOCK_TEST_MUTANT: mutant },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      if (chunk.includes('...') && isEnough(output)) child.kill()
    })
  }
  const closed = once(child, 'close')
  const [code] = await once(child, 'exit')
  endGroup(child)
  await closed
  running.delete(child)
  return { code: code ?? 1, output }
}

function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL')
  } catch {
    // All of them have ended.
  }
}
