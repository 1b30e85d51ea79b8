// Benchmark of pipes: npm run bench:pipes -- [--rows N] [--rounds N] [--only TEXT] [--long] [--write] [--profile]
// Moves the same orders from Kafka, Kinesis, files and PostgreSQL into ClickHouse: as fast as possible (the limit), with
// Penstock, and with a program of common libraries (the peer). Contenders alternate in rounds, so that other load affects all.
//   --rows     thousands of rows or changes per contender
//   --only     cases whose name begins with TEXT: kafka, objects, modern, kinesis, queue, snapshot, snapshot-modern, cdc, lag, memory
//   --long     50 million rows for memory growth, instead of 5
//   --write    writes the tables to bench/PIPES.md
//   --profile  instead: CPU profile of Penstock in the cases of --only
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fail, progress, wholeNumber } from './command-line.ts'
import { type Case, cases, type OpenCase, titles } from './pipes/cases.ts'
import { type Lag, lagText, measureLag } from './pipes/lag.ts'
import { type Measurement, type MemorySample, measurePenstock } from './pipes/measure.ts'
import { syncIntervalSeconds } from './pipes/pipe-requests.ts'
import { pipeProfileFlags, profileText } from './pipes/profile.ts'
import { type CaseResult, type Growth, growthOf, growthText, promisedOf, table } from './pipes/report.ts'
import { makeServers } from './pipes/servers.ts'
import { cleanEnvironment, killAll, residentMegabytes, run } from './processes.ts'
import { commit, machine, type Promised, promises, ratioNote } from './report.ts'
import { orderOfRound } from './round-order.ts'

const longestRunMs = 40 * 60_000
const idleMs = 3_000
const lagSeconds = 20

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
const thousands = wholeNumber('--rows', options.rows, { otherwise: 0, most: 99_999 })
const rowsOf = ({ usualRows }: Case): number => (thousands > 0 ? thousands * 1_000 : usualRows)
const rounds = wholeNumber('--rounds', options.rounds, { otherwise: 3, most: 999 })
const memoryRows = options.long ? 50_000_000 : 5_000_000
const selected = cases.filter(({ name }) => name.startsWith(options.only))
const measures = (name: string): boolean => name.startsWith(options.only) && !options.profile
const [measuresLag, measuresMemory] = [measures('lag'), measures('memory')]
if (selected.length === 0 && !measuresLag && !measuresMemory) fail(`No case begins with "${options.only}"`)

const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
const flags = options.profile ? pipeProfileFlags(folder) : []
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
  const results: CaseResult[] = []
  for (const one of selected) results.push(await measureCase(one))
  const lag = measuresLag ? await lagOf() : undefined
  const growth = measuresMemory ? await measureMemory() : undefined
  const minutes = ((Date.now() - startedAtMs) / 60_000).toFixed(1)
  report({ results, lag, growth }, `${rounds} rounds, ${minutes} minutes`)
}

async function measureCase(one: Case): Promise<CaseResult> {
  const { name, contenders, promised, limits = contenders.slice(0, 1) } = one
  const rows = rowsOf(one)
  const open = await openCase(one, rows)
  const series = contenders.map((contender) => ({
    name: contender,
    title: titles[contender]!,
    measurements: [] as Measurement[],
  }))
  for (let round = 0; round < rounds; round++) {
    await open.beginRound?.(round)
    for (const { name: contender, measurements } of orderOfRound(series, round)) {
      const measured = await open.measure(contender)
      measurements.push(measured)
      const perSecond = Math.round((measured.rows ?? rows) / measured.seconds).toLocaleString('en')
      progress(`round ${round + 1}/${rounds} ${name} ${contender}: ${perSecond} rows/s ${resourcesOf(measured)}`)
    }
    await open.endRound?.()
  }
  await open.close()
  return { name, title: titleOf(open, rows), rows, bytes: open.bytes, series, limits, promised }
}

async function openCase(one: Case, rows: number): Promise<OpenCase> {
  const open = await one.open(servers, rows)
  // Creating the rows blocks the event loop for seconds: let it notice connections closed since then.
  await sleep(100)
  return open
}

function titleOf({ title }: OpenCase, rows: number): string {
  return `${title}; ${(rows / 1_000_000).toLocaleString('en')} million`
}

function resourcesOf({ cpuSeconds = 0, peakMegabytes = 0 }: Measurement): string {
  return cpuSeconds > 0 ? `(${cpuSeconds.toFixed(1)} s CPU, ${peakMegabytes.toFixed(0)} MB)` : ''
}

async function measureMemory(): Promise<Growth> {
  const [source, engine] = [await servers.feed('kafka'), await servers.engine('debian')]
  const feed = await source.feed(memoryRows)
  const penstock = await servers.penstock('memory')
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  const idleMegabytes = residentMegabytes(penstock.pid)
  const samples: MemorySample[] = []
  let printedAt = 0
  await measurePenstock({ engine, feed, rows: memoryRows }, penstock, (sample) => {
    samples.push(sample)
    if (sample.seconds - printedAt < 5) return
    printedAt = sample.seconds
    progress(`memory: ${sample.rows.toLocaleString('en')} rows, ${sample.megabytes.toFixed(0)} MB`)
  })
  await penstock.stop()
  return growthOf(samples, memoryRows, idleMegabytes)
}

async function lagOf(): Promise<Lag> {
  const [source, engine] = [await servers.postgres(), await servers.engine('debian')]
  const penstock = await servers.penstock('lag', { PENSTOCK_CA_CERTIFICATES: source.feed('').caFile })
  const lag = await measureLag({ source, engine, penstock, seconds: lagSeconds })
  progress(lagText(lag))
  await penstock.stop()
  return lag
}

async function profile(): Promise<void> {
  for (const one of selected) {
    const rows = rowsOf(one)
    const open = await openCase(one, rows)
    for (let round = 0; round < rounds; round++) {
      await open.beginRound?.(round)
      await open.measure('penstock')
      await open.endRound?.()
    }
    await open.close()
    console.log(`${one.name}: ${profileText(folder, rows * rounds)}`)
  }
}

interface Results {
  results: CaseResult[]
  lag: Lag | undefined
  growth: Growth | undefined
}

function report({ results, lag, growth }: Results, how: string): void {
  const list: Promised[] = [
    ...results.flatMap(promisedOf),
    {
      promise: 'lag: a change can be read at most a second after syncIntervalSeconds',
      value: lag && lag.mostSeconds - syncIntervalSeconds,
      unit: ' s',
      holds: (value) => value <= 1,
    },
    {
      promise: 'memory of a worker, above that of an idle Penstock: at most 256 MB',
      value: growth && growth.peakMegabytes - growth.idleMegabytes,
      unit: ' MB',
      holds: (value) => value <= 256,
    },
  ]
  const text = [
    ...(results.length > 0 ? [`## Against the limit and the peer\n\n${table(results)}`] : []),
    ...(lag ? [`## Lag\n\n${lagText(lag)}`] : []),
    ...(growth ? [`## Memory\n\n${growthText(growth)}`] : []),
    `## Promises\n\n${promises(list)}`,
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

Orders of ten columns are inserted into a MergeTree table, all on one machine. *Penstock* runs as in production
(\`penstock start\`); its time is from the request that creates the pipe until the last row is in the table. Each measurement is
checked by the number of rows and the sum of their ids. Peak RSS is that of the whole process in the worst round. The modern engine
is the chDB library behind a small HTTP server of our tests. There Penstock deduplicates batches by token; in the engine of Debian
by a column that a view per insert fills, which is more work for the engine than a bare insert. Bare inserts *through marking views*
show the maximum of such an engine for exactly-once inserts.

Kafka and files contain JSON. *The limit* sends insert bodies of 32 MB from memory over a bare socket, one after another, in the
order of the source: the engine sorts unsorted rows, and topics with several partitions are unsorted. Penstock waits at most 500 ms
for more rows. *The peer* is kafkajs, or the S3 client of AWS, with JSON.parse and @clickhouse/client (bench/pipes-peer.ts); it
moves a million rows, and its time begins at the assignment of its partitions. *A bare copy* (bench/pipes-copy.ts) streams file
after file from the store into inserts: the minimum of work when the rows are not in memory already.

Kinesis and files announced by a queue have two limits, and the slower one counts: that of the engine, and the time *a bare client*
needs to read and discard everything. Kinesis is kinesalite, a JavaScript program in a separate process, with four shards and
responses of up to 10 MB, as Kinesis has; a record holds 100 rows, one per line (20 KB), as producers aggregate them to pay for
fewer records. The bare client reads all shards concurrently without pauses; Penstock reads a shard five times per second, the
maximum of Kinesis. Files have 5 MiB, as Firehose writes them; the bare client reads ten at once, and deletes their messages.

PostgreSQL rows go over TLS into a ReplacingMergeTree with the columns that Penstock creates. *The limit* of table rows is one COPY,
piped by psql into one insert of curl. *Changes* are half inserts, half updates, in transactions of 1,000, written while the pipe is
paused; the time is from the request that starts the pipe, including the connection, until FINAL equals the source. Their limit is
how fast PostgreSQL sends its WAL; nothing is inserted. *The peer* is pg-logical-replication with @clickhouse/client, and
acknowledges inserted rows (bench/pipes-peer-postgres.ts).

${ratioNote}
*Of the limit* is a ratio to the slower limit.`
}

async function installPeer(): Promise<void> {
  const modules = ['@clickhouse/client', 'pg-logical-replication']
  if (modules.every((name) => existsSync(join(import.meta.dirname, 'node_modules', name)))) return
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
