// The benchmark of pipes: npm run bench:pipes -- [--rows N] [--rounds N] [--only TEXT] [--long] [--write] [--profile]
// The same orders go from Kafka and from files into ClickHouse: over a bare socket (the limit), by Penstock, and by a program of
// usual libraries (the peer). They take turns in rounds, so that what else the machine does meets them all.
//   --rows     thousands of rows that each of them moves
//   --only     cases whose name begins with TEXT: kafka, objects, modern, memory
//   --long     50 million rows for the growth of memory, instead of 5
//   --write    puts the tables into bench/PIPES.md
//   --profile  instead: where the CPU time of Penstock goes, in the cases of --only
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Bodies, makeBodies } from './pipes/limit.ts'
import {
  type Measurement,
  type MemorySample,
  measureLimit,
  measurePeer,
  measurePenstock,
  type Work,
} from './pipes/measure.ts'
import { profileFlags, profileText } from './pipes/profile.ts'
import { bestPeer, type CaseResult, type Growth, growthOf, growthText, speedAgainst, table } from './pipes/report.ts'
import { type EngineName, type FeedName, makeServers } from './pipes/servers.ts'
import { cleanEnvironment, killAll, residentMegabytes, run } from './processes.ts'
import { commit, machine, type Promised, promises } from './report.ts'

interface Case {
  name: string
  feed: FeedName
  engine: EngineName
  contenders: string[]
}

const longestRunMs = 40 * 60_000
const idleMs = 3_000

const titles: Record<string, string> = {
  limit: 'the limit: plain bodies',
  'limit-gzip': 'the limit: bodies in gzip, not compressed',
  penstock: 'Penstock',
  'peer-10000': 'the peer, 10,000 rows per insert',
  'peer-100000': 'the peer, 100,000 rows per insert',
}
const bare = ['limit', 'limit-gzip', 'penstock']
// Of files and of the modern engine, the peer only with the size at which it is at its best there.
const cases: Case[] = [
  { name: 'kafka', feed: 'kafka', engine: 'debian', contenders: [...bare, 'peer-10000', 'peer-100000'] },
  { name: 'objects', feed: 'objects', engine: 'debian', contenders: [...bare, 'peer-10000'] },
  { name: 'modern', feed: 'kafka', engine: 'modern', contenders: [...bare, 'peer-100000'] },
]

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string' },
    rounds: { type: 'string' },
    only: { type: 'string', default: '' },
    long: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
})
const rows = wholeNumber('--rows', options.rows, 2_000) * 1_000
const rounds = wholeNumber('--rounds', options.rounds, 3)
const memoryRows = options.long ? 50_000_000 : 5_000_000
const selected = cases.filter(({ name }) => name.startsWith(options.only))
const measuresMemory = 'memory'.startsWith(options.only) && !options.profile
if (selected.length === 0 && !measuresMemory) fail(`No case begins with "${options.only}"`)

const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
const flags = options.profile ? profileFlags(folder) : []
const servers = makeServers({ folder, flags, starting: (name) => progress(`starting ${name}`) })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => abandon(`ended by ${signal}`, 128 + constants.signals[signal]))
}
const deadline = setTimeout(() => abandon('took too long', 1), longestRunMs)
try {
  await installPeer()
  if (options.profile) await profile()
  else await benchmark()
} catch (error) {
  console.error(`The benchmark failed: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  clearTimeout(deadline)
  await servers.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function benchmark(): Promise<void> {
  const startedAtMs = Date.now()
  const bodies = selected.length > 0 ? makeBodies(rows) : { plain: [], gzip: [] }
  const results: CaseResult[] = []
  for (const one of selected) results.push(await measureCase(one, bodies))
  const growth = measuresMemory ? await measureMemory() : undefined
  const minutes = ((Date.now() - startedAtMs) / 60_000).toFixed(1)
  report(results, growth, `${rounds} rounds of ${rows.toLocaleString('en')} rows, ${minutes} minutes`)
}

async function measureCase({ name, feed, engine, contenders }: Case, bodies: Bodies): Promise<CaseResult> {
  const [source, target] = [await servers.feed(feed, rows), await servers.engine(engine)]
  const penstock = await servers.penstock(name)
  const work: Work = { engine: target, feed: source.feed, rows }
  const measure = (contender: string): Promise<Measurement> => {
    if (contender === 'limit') return measureLimit(work, bodies.plain, 'plain')
    if (contender === 'limit-gzip') return measureLimit(work, bodies.gzip, 'gzip')
    if (contender === 'penstock') return measurePenstock(work, penstock)
    return measurePeer(work, Number(contender.slice('peer-'.length)))
  }
  const series = contenders.map((contender) => ({
    name: contender,
    title: titles[contender]!,
    measurements: [] as Measurement[],
  }))
  for (let round = 0; round < rounds; round++) {
    // Back and forth, so that nobody always has the same predecessor.
    for (const { name: contender, measurements } of round % 2 === 0 ? series : series.toReversed()) {
      const measured = await measure(contender)
      measurements.push(measured)
      const perSecond = Math.round(rows / measured.seconds).toLocaleString('en')
      progress(`round ${round + 1}/${rounds} ${name} ${contender}: ${perSecond} rows/s ${figuresOf(measured)}`)
    }
  }
  const bytes = bodies.plain.reduce((sum, body) => sum + body.length, 0)
  await penstock.stop()
  return { name, title: `${source.name}, ${target.name} ${target.version}`, rows, bytes, series }
}

function figuresOf({ cpuSeconds = 0, peakMegabytes = 0 }: Measurement): string {
  return cpuSeconds > 0 ? `(${cpuSeconds.toFixed(1)} s CPU, ${peakMegabytes.toFixed(0)} MB)` : ''
}

async function measureMemory(): Promise<Growth> {
  const [source, engine] = [await servers.feed('kafka', memoryRows), await servers.engine('debian')]
  const penstock = await servers.penstock('memory')
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  const idleMegabytes = residentMegabytes(penstock.pid)
  const samples: MemorySample[] = []
  let printedAt = 0
  await measurePenstock({ engine, feed: source.feed, rows: memoryRows }, penstock, (sample) => {
    samples.push(sample)
    if (sample.seconds - printedAt < 5) return
    printedAt = sample.seconds
    progress(`memory: ${sample.rows.toLocaleString('en')} rows, ${sample.megabytes.toFixed(0)} MB`)
  })
  await penstock.stop()
  return growthOf(samples, memoryRows, idleMegabytes)
}

async function profile(): Promise<void> {
  for (const { name, feed, engine } of selected) {
    const work = { engine: await servers.engine(engine), feed: (await servers.feed(feed, rows)).feed, rows }
    const penstock = await servers.penstock(name)
    for (let round = 0; round < rounds; round++) await measurePenstock(work, penstock)
    await penstock.stop()
    console.log(`${name}: ${profileText(folder, rows * rounds)}`)
  }
}

function report(results: CaseResult[], growth: Growth | undefined, how: string): void {
  const list: Promised[] = results.flatMap((result) => [
    {
      promise: `${result.name}: at least 0.7 of the limit`,
      value: speedAgainst(result, 'penstock', 'limit'),
      unit: '',
      holds: (value: number) => value >= 0.7,
    },
    {
      promise: `${result.name}: at least 2 × the peer at its best`,
      value: speedAgainst(result, 'penstock', bestPeer(result) ?? ''),
      unit: ' ×',
      holds: (value: number) => value >= 2,
    },
  ])
  list.push({
    promise: 'memory of a worker, above that of an idle Penstock: at most 256 MB',
    value: growth && growth.peakMegabytes - growth.idleMegabytes,
    unit: ' MB',
    holds: (value) => value <= 256,
  })
  const text = [
    ...(results.length > 0 ? [`## Against the limit and the peer\n\n${table(results)}`] : []),
    ...(growth ? [`## Memory\n\n${growthText(growth)}`] : []),
    `## Promised figures\n\n${promises(list)}`,
  ].join('\n\n')
  console.log(`\n${text}`)
  if (options.write) {
    writeFileSync(join(import.meta.dirname, 'PIPES.md'), `${introduction(how)}\n\n${text}\n`)
    progress('written to bench/PIPES.md')
  }
  if (list.some(({ value, holds }) => value !== undefined && !holds(value))) process.exitCode = 1
}

function introduction(how: string): string {
  return `# Benchmark results of pipes

Made by \`npm run bench:pipes -- --write\`; see bench/pipes.ts for how it measures.

- ${new Date().toISOString().slice(0, 10)}, commit ${commit()}
- ${machine()}
- ${how}; medians over the rounds, ratios within a round

Orders as JSON of ten columns go into a MergeTree table, all on one machine. *The limit* has the rows in memory, as bodies of
32 MB, and sends them over a bare socket one after the other. *Penstock* runs as in production (\`penstock start\`), but does
not wait longer than 500 ms for more rows; its time is from the request that creates the pipe until the last row is in the
table. *The peer* is kafkajs, or the S3 client of AWS, with JSON.parse and @clickhouse/client (bench/pipes-peer.ts); its time
begins when it has its partitions. The rows were counted, and the sum of their ids compared, after every measurement. Peak RSS is
that of the whole process in the worst round. The modern engine is the library chDB behind a small HTTP server of our tests;
Penstock knows a repeated batch there by its token, and in Debian's engine by a column and a staging table, which is more work for
that engine than a bare insert.`
}

async function installPeer(): Promise<void> {
  if (existsSync(join(import.meta.dirname, 'node_modules', '@clickhouse', 'client'))) return
  progress('installing the peer')
  await run('npm', ['ci', '--prefix', import.meta.dirname, '--ignore-scripts', '--no-audit', '--no-fund'], {
    env: cleanEnvironment(),
    timeoutMs: 180_000,
  })
}

function abandon(reason: string, code: number): never {
  console.error(`The benchmark was ${reason}`)
  killAll()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(code)
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,4}$/.test(text)) fail(`${name} must be a number from 1 to 99999, not ${text}`)
  return Number(text)
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

function fail(sentence: string): never {
  console.error(sentence)
  process.exit(1)
}
