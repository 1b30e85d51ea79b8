// Measures a survey of a runner and a lease renewal on a real PostgreSQL, with the real statements and connections:
// npm run simulate:database -- `[--pipes n] [--places n]`
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openPostgres } from '../src/database/postgres.ts'
import { startPostgres } from '../src/embedded-postgres/postgres-server.ts'
import { newMasterKeys, Vault } from '../src/lib/vault.ts'
import { defaultScaling } from '../src/pipes/scaling.ts'
import { listPipesToRun } from '../src/pipes/store.ts'
import { listRunners } from '../src/progress/runners/store.ts'
import { listWorkers } from '../src/progress/workers/store.ts'
import { progressWrites } from '../src/progress/writes.ts'
import { makePlan } from '../src/runner/plan.ts'

const rounds = 9
const { values } = parseArgs({
  options: { pipes: { type: 'string', default: '100000' }, places: { type: 'string', default: '100' } },
})
const pipes = Number(values.pipes)
const places = Number(values.places)
const startedAt = '2026-01-01T00:00:00.000Z'
const expiresAt = '2100-01-01T00:00:00.000Z'

const server = await startPostgres()
const url = await server.createDatabase('penstock')
const events = { onFatal: () => undefined, onTrouble: (message: string) => console.error(message) }
const vault = new Vault(newMasterKeys())
const database = await openPostgres({ url, writes: progressWrites, vault, events })
const client = new pg.Client(url)
await client.connect()
try {
  await fill()
  await measure()
} finally {
  await client.end()
  await database.close()
  await server.stop()
}

async function fill(): Promise<void> {
  const { rows } = await client.query('SELECT count(*) FROM pipes')
  if (Number(rows[0].count) > 0) throw new Error('the database is not empty')
  const at = `'${startedAt}'`
  const each = (last: number): string => `FROM generate_series(0, ${last - 1}) AS n`
  const groups = Math.ceil(pipes / 100)
  await client.query(`INSERT INTO organizations (id, name, created_at) SELECT 'o' || n, 'o', ${at} ${each(groups)}`)
  await client.query(
    `INSERT INTO services (id, organization_id, name, provider, region, created_at)
     SELECT 's' || n, 'o' || n, 's', 'aws', 'eu', ${at} ${each(groups)}`,
  )
  // A source of usual size: the rows must be as long as real ones.
  await client.query(
    `INSERT INTO pipes (id, organization_id, service_id, name, kind, state, source, destination, field_mappings, scaling, settings,
       created_at, updated_at)
     SELECT gen_random_uuid(), 'o' || n / 100, 's' || n / 100, 'p' || n, 'kafka', 'Running', repeat('x', 1500), repeat('y', 1000), '[]',
       '${JSON.stringify(defaultScaling)}', '{}', ${at}, ${at} ${each(pipes)}`,
  )
  await client.query(
    `INSERT INTO pipe_workers (pipe_id, slot, slots, runner_id, epoch, expires_at, pipe_version, state)
     SELECT id, 0, 1, 'runner-' || row_number() OVER () / ${places}, 1, '${expiresAt}', 1, 'running' FROM pipes`,
  )
  await client.query('VACUUM ANALYZE')
}

async function measure(): Promise<void> {
  const { reader, write } = database
  const look = () => Promise.all([listPipesToRun(reader), listWorkers(reader), listRunners(reader, startedAt)])
  await measureMedian('survey: pipes, workers and runners', look)
  const [seenPipes, workers, listed] = await look()
  const runners = listed.map(({ id }) => id)
  const now = new Date().toISOString()
  await measureMedian('plan', async () => makePlan({ now, pipes: seenPipes, workers, runners, held: [] }))
  await measureMedian(`renewal of ${places} leases`, () =>
    write('reportRunner', { runnerId: 'runner-1', startedAt, now, expiresAt }, 'runner'),
  )
  await explain(`SELECT pipes.id, pipes.organization_id, service_id, kind, pipes.state, scaling, settings, pipes.version,
    replay_requested_at, services.version FROM pipes JOIN services ON services.id = pipes.service_id
    WHERE pipes.state IN ('Provisioning', 'Setup', 'Snapshot', 'Running', 'Modifying', 'Resync', 'Degraded', 'Stopping', 'Pausing')`)
  await explain('SELECT * FROM pipe_workers')
  await explain(`UPDATE pipe_workers SET expires_at = '${expiresAt}' WHERE runner_id = 'runner-1'`)
}

async function measureMedian(what: string, work: () => Promise<unknown>): Promise<void> {
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now()
    await work()
    took.push(performance.now() - begun)
  }
  const [least, median] = took.toSorted((one, other) => one - other).filter((_, at) => at % ((rounds - 1) / 2) === 0)
  console.log(`${what}: ${median?.toFixed(1)} ms (median of ${rounds}; least ${least?.toFixed(1)} ms)`)
}

async function explain(text: string): Promise<void> {
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) ${text}`)
  console.log(`\n${text}\n${rows.map((row) => `  ${row['QUERY PLAN']}`).join('\n')}`)
}
