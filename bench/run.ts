// Benchmark of the API: npm run bench -- [--quick] [--only TEXT] [--seconds N] [--rounds N] [--write] [--profile] [--against COMMIT]
// One run measures every contender of every case for a few seconds per round, so that other load on the machine affects all.
// Only the ratios are comparable between machines.
//   --quick    short rounds, promised cases only
//   --only     cases whose name begins with TEXT: patch-member, get-pipe/32, growth, prism, idle
//   --write    writes the tables to bench/RESULTS.md
//   --against  instead: compares this code with a commit, alternating. Two full runs of the same code differ by up to a fifth
//   --profile  instead: CPU profile of PATCH member by thread
import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { fail, progress, wholeNumber } from './command-line.ts'
import { type ContenderName, Contenders } from './contenders.ts'
import { type Contender, measure, once, operations } from './load.ts'
import { emptyLog, residentMegabytes } from './processes.ts'
import { profile, profilingFlags } from './profile.ts'
import { type CaseResult, commit, machine, median, type Promised, promises, ratio, ratioNote, table } from './report.ts'
import { orderOfRound } from './round-order.ts'
import { lastActivity } from './stores.ts'

interface Case {
  name: string
  title: string
  operation: string
  connections: number
  contenders: ContenderName[]
}

/** Promises with a narrow margin: single ratios of two seconds vary by a fifth. */
const promisedTimes: Record<string, number> = { 'patch-member/32': 6, 'growth/patch-member/32': 4 }
const againstTimes = 4
const longestRunMs = 25 * 60_000
const idleMs = 5_000
const tmpfs = 0x01021994

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    write: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
})
const seconds = wholeNumber('--seconds', options.seconds, { otherwise: options.quick ? 1 : 2, most: 999 })
const rounds = wholeNumber('--rounds', options.rounds, { otherwise: options.quick ? 3 : 5, most: 999 })

const titles: Record<string, string> = {
  'patch-member': 'PATCH member',
  'post-endpoint': 'POST private endpoint',
  'patch-pipe': 'PATCH pipe (4 KB)',
  'get-pipe': 'GET pipe (4 KB)',
  'list-members': 'GET a page of 100 of 1,000,000 members',
  'list-pipes': 'GET a page of 100 of 100,000 pipes',
}

const cases: Case[] = []
const againstCases: Case[] = []
for (const [operation, title] of Object.entries(titles)) {
  if (operation.startsWith('list-')) continue
  for (const connections of [1, 32, 256]) {
    if (options.quick && (operation !== 'patch-member' || connections !== 32)) continue
    const name = `${operation}/${connections}`
    cases.push({ name, title, operation, connections, contenders: ['limit', 'sqlite', 'postgres'] })
    againstCases.push({ name, title, operation, connections, contenders: ['sqlite-before', 'sqlite'] })
  }
}
const prismCase: Case = {
  name: 'prism/patch-member/32',
  title: 'PATCH member',
  operation: 'patch-member',
  connections: 32,
  contenders: ['prism', 'sqlite'],
}
const growthCases = ['patch-member', 'get-pipe'].map(
  (operation): Case => ({
    name: `growth/${operation}/32`,
    title: titles[operation]!,
    operation,
    connections: 32,
    contenders: ['sqlite-small', 'sqlite-large', 'sqlite-large-hot'],
  }),
)
const pageCases = ['list-members', 'list-pipes'].map(
  (operation): Case => ({
    name: `pages/${operation}/32`,
    title: titles[operation]!,
    operation,
    connections: 32,
    contenders: ['sqlite-large', 'sqlite-large-deep'],
  }),
)
cases.push(prismCase, ...growthCases, ...pageCases)
const offered = options.against ? againstCases : cases
const selected = offered.filter(({ name }) => name.startsWith(options.only))
const measuresIdle = !options.against && 'idle'.startsWith(options.only)
if (selected.length === 0 && !measuresIdle) {
  const names = offered.map(({ name }) => name)
  fail(`No case begins with "${options.only}": ${[...names, ...(options.against ? [] : ['idle'])].join(', ')}`)
}
if (options.against && (options.write || options.profile)) fail('--against has no --write and no --profile.')
requireWrk()
const folder = makeFolder()
const flags = options.profile ? profilingFlags(folder) : []
const contenders = new Contenders(folder, { flags, against: options.against })
let interrupted = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void abandon(`ended by ${signal}`, 128 + constants.signals[signal]))
}
const deadline = setTimeout(() => void abandon('took too long', 1), longestRunMs)
try {
  if (options.profile) console.log(await profile(contenders, folder, seconds * rounds))
  else await benchmark()
} catch (error) {
  if (!interrupted) console.error(`The benchmark failed: ${(error as Error).message}`)
  process.exitCode ||= 1
} finally {
  clearTimeout(deadline)
  if (!interrupted) {
    await contenders.endAll()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function benchmark(): Promise<void> {
  const startedAt = Date.now()
  const names = [...new Set(selected.flatMap((one) => one.contenders))]
  const idle = measuresIdle ? await measureIdle() : undefined
  const started = new Map<ContenderName, Contender>()
  for (const name of names) {
    progress(`starting ${name}`)
    started.set(name, await contenders.get(name))
  }
  await checkSameWork(started)
  await warmUp(started)

  const syncs = [syncsPerSecond()]
  const results = selected.map(
    (one): CaseResult => ({
      name: one.name,
      title: one.title,
      connections: one.connections,
      series: one.contenders.map((contender) => ({ contender, measurements: [] })),
    }),
  )
  for (let round = 0; round < rounds; round++) {
    const turns = selected.flatMap((one, index) => {
      const times = options.against ? againstTimes : (promisedTimes[one.name] ?? 1)
      return Array.from({ length: times }, (_, time) => ({ one, index, turn: round * times + time }))
    })
    for (const { one, index, turn } of turns) {
      const series = results[index]!.series
      for (const { contender, measurements } of orderOfRound(series, turn)) {
        const server = started.get(contender as ContenderName)!
        const load = { connections: one.connections, seconds }
        const measured = await measure(server, operations[one.operation]!, load, folder)
        measurements.push(measured)
        progress(`round ${round + 1}/${rounds} ${one.name} ${contender}: ${Math.round(measured.perSecond)}/s`)
        emptyLog(server.running)
      }
    }
    syncs.push(syncsPerSecond())
  }
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1)
  const extraRounds = Object.entries(promisedTimes).map(([name, times]) => `${times} times in each for ${name}`)
  const how = `${rounds} rounds of ${seconds} s each (${extraRounds.join(', ')}), ${minutes} minutes`
  report(results, idle, how, median(syncs))
}

async function measureIdle(): Promise<number> {
  progress('starting sqlite, to see what it takes when idle')
  const { running } = await contenders.get('sqlite')
  await sleep(idleMs)
  return residentMegabytes(running.pid)
}

/** A limit must do the same work: equal answers and records for equal requests on equal stores. */
async function checkSameWork(started: Map<ContenderName, Contender>): Promise<void> {
  for (const [name, operation] of Object.entries(operations)) {
    const asked = new Set(selected.filter((one) => one.operation === name).flatMap((one) => one.contenders))
    const answers = new Map<string, unknown>()
    for (const [contender, server] of started) {
      if (!asked.has(contender)) continue
      const { requestId: _, ...answer } = await once(server, operation)
      const { updatedAt: __, ...result } = answer.result as Record<string, unknown>
      // Requests contain a run number in names, which is not compared.
      const recorded = server.keepsData && operation.method !== 'GET' ? lastActivity(server.store) : undefined
      const text = JSON.stringify({ ...answer, result, recorded }).replaceAll(/(orders |vpce-)[0-9a-f ]+/g, '$1')
      answers.set(contender, JSON.parse(text))
    }
    if (answers.has('limit') && !isDeepStrictEqual(answers.get('limit'), answers.get('sqlite'))) {
      throw new Error(
        `${name}: the limit answers ${JSON.stringify(answers.get('limit'))}, Penstock ${JSON.stringify(answers.get('sqlite'))}`,
      )
    }
  }
}

/** Runs until the measured code is compiled. */
async function warmUp(started: Map<ContenderName, Contender>): Promise<void> {
  const pairs = new Set(selected.flatMap((one) => one.contenders.map((name) => `${name} ${one.operation}`)))
  for (const pair of pairs) {
    progress(`warming up ${pair}`)
    const [name, operation] = pair.split(' ') as [ContenderName, string]
    const server = started.get(name)!
    await measure(server, operations[operation]!, { connections: 32, seconds: options.quick ? 1 : 2 }, folder)
    emptyLog(server.running)
  }
}

function report(results: CaseResult[], idle: number | undefined, how: string, syncs: number): void {
  const find = (name: string): CaseResult | undefined => results.find((result) => result.name === name)
  const comparisons = results.map(
    (result): Promised => ({
      promise: `${result.title}, ${result.connections} connections: at least 0.9 of ${options.against}`,
      value: ratio(result, 'sqlite'),
      unit: '',
      holds: (value) => value >= 0.9,
    }),
  )
  const promised: Promised[] = [
    {
      promise: 'PATCH member on SQLite, 32 connections: at least 0.80 of the limit',
      value: ratio(find('patch-member/32'), 'sqlite'),
      unit: '',
      holds: (value) => value >= 0.8,
    },
    {
      promise: 'PATCH member on SQLite, 32 connections: at least 4 × Prism',
      value: ratio(find(prismCase.name), 'sqlite'),
      unit: ' ×',
      holds: (value) => value >= 4,
    },
    {
      // Spread over the store, like changes of users; the case with a hot set measures the size of the store alone.
      promise: 'PATCH member with 1,000,000 members: at least 0.9 of the throughput with 1,000',
      value: ratio(find('growth/patch-member/32'), 'sqlite-large'),
      unit: '',
      holds: (value) => value >= 0.9,
    },
    ...pageCases.map(({ name, title }) => ({
      promise: `${title}: the thousandth page costs at most 1.5 times the first`,
      value: inverse(ratio(find(name), 'sqlite-large-deep')),
      unit: ' ×',
      holds: (value: number) => value <= 1.5,
    })),
    {
      promise: `memory (RSS) ${idleMs / 1000} s after the start: below 120 MB`,
      value: idle,
      unit: ' MB',
      holds: (value) => value < 120,
    },
  ]
  const list = options.against ? comparisons : promised
  const sections: [string, CaseResult[]][] = [
    [
      options.against ? `Against ${options.against}` : 'Against the limit',
      results.filter(({ name }) => /^(?:patch|post|get)-/.test(name)),
    ],
    ['Against a mock of the same API', results.filter(({ name }) => name.startsWith('prism/'))],
    ['With a large store', results.filter(({ name }) => name.startsWith('growth/'))],
    ['Deep in a long list', results.filter(({ name }) => name.startsWith('pages/'))],
  ]
  const text = [
    ...sections.filter(([, part]) => part.length > 0).map(([title, part]) => `## ${title}\n\n${table(part)}`),
    `## Promises\n\n${promises(list)}`,
  ].join('\n\n')
  console.log(`\n${text}`)
  if (options.write) {
    writeFileSync(join(import.meta.dirname, 'RESULTS.md'), `${introduction(how, syncs)}\n\n${text}\n`)
    progress('written to bench/RESULTS.md')
  }
  if (list.some(({ value, holds }) => value !== undefined && !holds(value))) process.exitCode = 1
}

function inverse(value: number | undefined): number | undefined {
  return value === undefined ? undefined : 1 / value
}

function introduction(how: string, syncs: number): string {
  return `# Benchmark results

Made by \`npm run bench -- --write\`; see bench/run.ts for how it measures.

- ${new Date().toISOString().slice(0, 10)}, commit ${commit()}
- ${machine()}
- ${how}; medians over the rounds, ratios within a round; the disk did ${Math.round(syncs).toLocaleString('en')} fdatasync/s

*The limit* is bare \`node:http\` in one thread that does the same durable work (bench/limit-server.ts). All servers run as in
production (\`penstock start\`, log to a file), on the same machine as the load generator. Ratios are requests/s relative to the
first row of each block. CPU is the time of the server process with all threads, without PostgreSQL. Each run checks that writes
changed rows and recorded activities; any answer other than 2xx fails the run.

${ratioNote}`
}

/** Speed of the disk, to compare two result files. */
function syncsPerSecond(): number {
  const file = openSync(join(folder, 'sync'), 'w')
  const page = Buffer.alloc(4_096)
  const startedAt = performance.now()
  let count = 0
  for (; performance.now() - startedAt < 300; count++) {
    writeSync(file, page)
    fdatasyncSync(file)
  }
  closeSync(file)
  return (count * 1_000) / (performance.now() - startedAt)
}

function makeFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
  if (statfsSync(made).type === tmpfs) {
    rmSync(made, { recursive: true })
    fail('The temporary folder is in memory, where nothing is durable. Set TMPDIR to a folder on a disk.')
  }
  return made
}

function requireWrk(): void {
  try {
    execFileSync('which', ['wrk'], { stdio: 'ignore' })
  } catch {
    fail('The load generator wrk is missing. Install it with bench/install.sh (apt-get install -y wrk).')
  }
}

async function abandon(reason: string, code: number): Promise<void> {
  if (interrupted) return
  interrupted = true
  process.exitCode = code
  console.error(`The benchmark was ${reason}`)
  await contenders.abandon().catch(() => undefined)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(code)
}
