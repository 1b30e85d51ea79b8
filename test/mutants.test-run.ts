// node bin/node24.js test/mutants.test-run.ts [names...]: runs the tests of every mutant, or of those named, and requires
// each test file to fail by an assertion. First the same files must pass without a mutant.
// With --part: those of the promises, and an eighth of the others, another eighth with every commit. For a run in which all tests
// have just passed.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { makeCommitPart } from './commit-part.ts'
import { type Mutant, mutants, readMutated } from './mutants.ts'
import { openTestRun, root } from './test-run.ts'

const isPart = process.argv[2] === '--part'
const names = isPart ? [] : process.argv.slice(2)

/** Named with what is promised (ROBUSTNESS.md). */
const promised = [
  'no-org-lock',
  'no-idempotency',
  'skip-authorization',
  'tenant-leak',
  'echo-secret',
  'no-egress-check',
  'activity-outside-transaction',
  'checkpoint-after',
  'plain-insert-body',
]

/** What needs more than npm breaks its promise in the tests there, by controls of their own. */
function partOfAll(): Mutant[] {
  const isInPart = makeCommitPart()
  return mutants.filter(
    ({ name, tests }) =>
      !tests.some((test) => test.startsWith('test/real/')) && (promised.includes(name) || isInPart(name)),
  )
}

const named = names.length === 0 ? mutants : mutants.filter(({ name }) => names.includes(name))
const chosen = isPart ? partOfAll() : named
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

/** One failure is enough, and nobody waits for the others: but what mounts disks takes them off only when it ends by itself. */
const mountDisks = ['test/real/power.test.ts', 'test/real/timed/disk.test.ts']
const running = new Set<ChildProcess>()
// One server for all of them: no mutant changes what another finds there.
const testRun = await openTestRun()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of running) endGroup(child)
    void testRun.close().finally(() => process.exit(1))
  })
}
try {
  await judgeAll()
} finally {
  await testRun.close()
}

async function judgeAll(): Promise<void> {
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
  const judgeNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { mutant, test } = next
      const started = performance.now()
      const verdict = await judge(mutant, test)
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      if (verdict === 'killed') passed++
      else failed++
      console.log(`${verdict.padEnd(9)} ${mutant.name} by ${test} (${seconds} s)`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, judgeNext))
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

async function judge(mutant: Mutant, test: string): Promise<'killed' | 'survived' | 'crashed'> {
  const { code, output } = await run([test], mutant.name, mountDisks.includes(test) ? undefined : failsByAssertion)
  if (failsByAssertion(output)) return 'killed'
  return code === 0 ? 'survived' : 'crashed'
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

async function run(
  files: string[],
  mutant: string | undefined,
  isEnough: (output: string) => boolean = () => false,
): Promise<{ code: number; output: string }> {
  const loader = new URL('mutate.ts', import.meta.url).href
  const flags = [`--import=${loader}`, '--test-reporter=tap']
  // A group of its own, so that nothing is left of what a test has started and could not end.
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
