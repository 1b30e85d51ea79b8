// One round of R21 for tables: a pipe replicates tables whose rows, columns and publication change at random times, with
// restarts. At the end each copy equals its source, or the pipe reports the difference.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../chaos/random.ts'
import { replicationName } from '../../src/runner/postgres/names.ts'
import { makeReplicationWorld, type ReplicationWorld, tableMapping } from '../runner-world/replication-world.ts'
import type { PostgresServer } from '../sources/postgres-world.ts'
import { isReported, listDifferences } from './differences.ts'
import { type DrawnSource, drawChange } from './draw-change.ts'
import { createPublication, help } from './remedies.ts'

export interface Round {
  /** `differs`: without a report of the pipe. */
  outcome: 'equal' | 'reported' | 'differs'
  history: string[]
}

const tables = ['a', 'b', 's']
const setUp = `
  CREATE TABLE a (id int PRIMARY KEY, v int, w text); CREATE TABLE b (LIKE a INCLUDING ALL); CREATE TABLE l (LIKE a INCLUDING ALL);
  ALTER TABLE l ADD COLUMN change bigint; CREATE SEQUENCE changes;
  CREATE FUNCTION number_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.change := nextval('changes'); RETURN NEW; END $$;
  CREATE TRIGGER number_change BEFORE INSERT OR UPDATE ON l FOR EACH ROW EXECUTE FUNCTION number_change();
  CREATE TABLE s (id int PRIMARY KEY, k text NOT NULL DEFAULT 'k', v int); ALTER TABLE s REPLICA IDENTITY FULL;
  ${['a', 'b', 'l'].map((name) => `INSERT INTO ${name} SELECT i, i, i FROM generate_series(1, 30) i`).join('; ')};
  INSERT INTO s SELECT i, i, i FROM generate_series(1, 30) i;
  CREATE TABLE p (id int PRIMARY KEY, k text NOT NULL DEFAULT 'k', v int) PARTITION BY RANGE (id);
  CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (100);
  CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (100) TO (200);
  INSERT INTO p SELECT i, i, i FROM generate_series(1, 20) i; INSERT INTO p SELECT i, i, i FROM generate_series(101, 120) i`
const fullIdentities = ['p', 'p0', 'p1'].map((name) => `ALTER TABLE ${name} REPLICA IDENTITY FULL`).join('; ')
const longestMs = 15_000
const sorted = { useCustomSortingKey: true, sortingKeys: ['k'] }

export async function runTableRound(
  server: PostgresServer,
  { random, steps }: { random: Random; steps: number },
): Promise<Round> {
  const isSorted = random.happens(0.5)
  const mappings = [
    ...['a', 'b'].map((name) => tableMapping(name)),
    tableMapping('s', sorted),
    tableMapping('p', isSorted ? sorted : {}),
    tableMapping('l', { tableEngine: 'MergeTree' }),
  ]
  const [isPublicationNamed, isSlotNamed] = [random.happens(0.3), random.happens(0.25)]
  const world = await makeReplicationWorld(server, { mappings })
  const slot = isSlotNamed ? `slot_of_${replicationName(world.pipe.id)}` : undefined
  Object.assign(world.source.settings, {
    ...(isPublicationNamed ? { publicationName: 'theirs' } : {}),
    ...(slot ? { replicationSlotName: slot } : {}),
  })
  const history: string[] = []
  const note = (text: string): void => void history.push(`${Math.round(performance.now())} ${text}`)
  // With an engine that answers late, changes and restarts come while tables are loading.
  const insertMs = random.pick([0, 50, 300])
  if (insertMs > 0) world.replicas.onInsert = (when) => (when === 'after' ? sleep(insertMs) : undefined)
  note(JSON.stringify({ isSorted, isPublicationNamed, isSlotNamed, insertMs }))
  try {
    await world.query(isSorted ? `${setUp}; ${fullIdentities}` : setUp)
    if (isPublicationNamed) await world.query(createPublication('theirs', [...tables, 'p', 'l']))
    if (slot) await world.query(`SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput')`)
    world.start()
    const source = drawnSource(world, random, { isPublicationNamed, isSlotNamed })
    for (let step = 0; step < steps; step++) {
      if (random.happens(isLoading(world) ? 0.3 : 0.12)) await restart(world, random, note)
      else await change(world, source, note)
      await help(world, source, note)
      await sleep(random.pick([0, 0, 20, 200, 700]))
    }
    return { outcome: await settle(world, source, note), history }
  } finally {
    if (slot) await dropSlot(world, slot)
    await world.stop()
  }
}

async function dropSlot(world: ReplicationWorld, slot: string): Promise<void> {
  world.running?.worker.abort()
  await world.running?.ended
  await world.until('the slot is dropped', () =>
    world.query(`SELECT pg_drop_replication_slot('${slot}')`).then(
      () => true,
      () => false,
    ),
  )
}

function drawnSource(
  world: ReplicationWorld,
  random: Random,
  named: Pick<DrawnSource, 'isPublicationNamed' | 'isSlotNamed'>,
): DrawnSource {
  const own = replicationName(world.pipe.id)
  const names = async (sql: string): Promise<string[]> => (await world.query(sql)).map(({ name }) => String(name))
  return {
    random,
    ...named,
    publication: named.isPublicationNamed ? 'theirs' : own,
    slot: own,
    plain: ['a', 'b'],
    tables,
    partitioned: 'p',
    log: 'l',
    listColumns: (table) =>
      names(
        `SELECT attname AS name FROM pg_attribute
         WHERE attrelid = to_regclass('${table}') AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'k') ORDER BY attnum`,
      ),
    listPartitions: async () =>
      (await world.query(
        `SELECT relid::text AS name, parentrelid::text AS parent FROM pg_partition_tree(to_regclass('p'))
         WHERE parentrelid IS NOT NULL ORDER BY 1`,
      )) as { name: string; parent: string }[],
  }
}

async function change(world: ReplicationWorld, source: DrawnSource, note: (text: string) => void): Promise<void> {
  const { name, sql } = await drawChange(source)
  const refusal = await world.query(`SET lock_timeout = '500ms'; ${sql}`).then(
    () => '',
    (error: Error) => ` refused: ${error.message}`,
  )
  note(`${name}: ${sql}${refusal}`)
}

function isLoading({ tables }: ReplicationWorld): boolean {
  return [...tables.tables.values()].some(({ phase, beginLsn }) => phase === 'snapshot' && beginLsn !== null)
}

async function restart(world: ReplicationWorld, random: Random, note: (text: string) => void): Promise<void> {
  if (random.happens(0.5)) {
    note('the pipe is stopped')
    await world.pause()
    await sleep(random.pick([0, 100]))
  }
  note('the pipe is started')
  world.start()
}

/** Waits until both sides are equal, twice: a final inserted row shows that changes are still replicated. */
async function settle(
  world: ReplicationWorld,
  source: DrawnSource,
  note: (text: string) => void,
): Promise<Round['outcome']> {
  const outcomes: Round['outcome'][] = []
  for (const last of [
    '',
    ...[...tables, 'l'].map((name) => `INSERT INTO ${name} (id) VALUES (1000)`),
    'INSERT INTO p0 (id) VALUES (99)',
  ]) {
    if (last !== '') await world.query(last).catch((error: Error) => note(`refused: ${error.message}`))
    const outcome = await untilEqual(world, source, note)
    if (outcome === 'differs') return outcome
    outcomes.push(outcome)
  }
  return outcomes.includes('reported') ? 'reported' : 'equal'
}

async function untilEqual(
  world: ReplicationWorld,
  source: DrawnSource,
  note: (text: string) => void,
): Promise<Round['outcome']> {
  const deadlineMs = performance.now() + longestMs
  for (;;) {
    const differences = await listDifferences(world)
    if (differences.length === 0) return 'equal'
    const { losses } = world.store
    // Permanent losses are not waited for.
    if (isReported(differences, '', losses)) return 'reported'
    const isOver = performance.now() > deadlineMs
    const end = await Promise.race([world.running?.ended, sleep(50)])
    if (await help(world, source, note)) {
      if (end) world.start()
      continue
    }
    if (!end && !isOver) continue
    const { state, reason = '', doing } = world.statuses.at(-1) ?? {}
    const what = differences.map((one) => one.what).join(', ')
    note(`${what}; ${JSON.stringify({ end, state, reason, doing, losses })}`)
    const isSaid = end ? end.end === 'failed' : state === 'degraded'
    const said = end && 'reason' in end ? end.reason : reason
    return isSaid && isReported(differences, said, losses) ? 'reported' : 'differs'
  }
}
