// Updates a pipe repeatedly while rows flow: every update takes effect, an invalid update changes nothing and is reported, and no
// row is lost or duplicated.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { columns } from './expected-rows.ts'
import { untilRowsCome } from './faults.ts'
import type { Credentials, Feed } from './feeds.ts'
import { inWorld, type Run } from './in-world.ts'
import type { PipeWorld, WorldOptions } from './pipe-world.ts'
import type { Random } from './random.ts'

const effectTimeoutMs = 120_000

interface Change {
  name: string
  path?: string
  body: object
}

export async function runUpdates(options: WorldOptions, changes: number): Promise<Run> {
  const { random } = options
  return inWorld(options, async (world) => {
    await world.begin()
    const stopFlow = world.flow(80)
    try {
      await untilRowsCome(world, 0)
      for (let number = 0; number < changes; number++) {
        const { name, path = '', body } = random.pick(makers)(options, number)
        world.history.note(`${number + 1}. ${name}: ${JSON.stringify(body)}`)
        await world.call('PATCH', `${world.pipePath}${path}`, body)
        // Some updates arrive before the previous one is in effect.
        if (random.happens(0.6)) await untilInEffect(world)
        else await sleep(random.between(0, 500))
      }
      await untilInEffect(world)
      await changeBadly(world)
      await isInEffectOnEngine(world, random)
    } finally {
      await stopFlow()
    }
  })
}

const makers: ((options: WorldOptions, number: number) => Change)[] = [
  ({ feed }) => ({ name: 'credentials', body: { source: credentialsOf(feed).next() } }),
  (_options, number) => ({
    name: 'columns',
    body: {
      destination: { columns: [...columns, ...Array.from({ length: number + 1 }, (_, index) => extraColumn(index))] },
    },
  }),
  ({ random }) => ({
    name: 'settings',
    body: {
      settings: { engine_max_threads: random.between(1, 8), streaming_max_insert_wait_ms: random.between(500, 900) },
    },
  }),
  ({ random }) => ({
    name: 'mappings',
    body: { fieldMappings: [{ destinationField: 'note', sourceField: random.pick(['note', 'at']) }] },
  }),
  ({ random }) => ({
    name: 'scaling',
    path: '/scaling',
    body: { replicas: random.between(1, 3), concurrency: random.below(3) },
  }),
  (_options, number) => ({ name: 'name', body: { name: `rows ${number}` } }),
]

function extraColumn(index: number): { name: string; type: string } {
  return { name: `extra_${index}`, type: 'String' }
}

export async function untilInEffect(world: PipeWorld): Promise<void> {
  const deadlineMs = Date.now() + effectTimeoutMs
  for (;;) {
    const [pipe] = await world.select<{ version: number }>('SELECT version FROM pipes')
    const workers = await world.select<{ version: number }>('SELECT pipe_version AS version FROM pipe_workers')
    const { state, stateReason } = await world.metrics()
    const isEverywhere = workers.length > 0 && workers.every(({ version }) => version === pipe?.version)
    if (state === 'Running' && isEverywhere) return
    if (Date.now() > deadlineMs) throw new Error(`the update did not take effect: ${state}, ${stateReason}`)
    await sleep(100)
  }
}

/** The previous configuration stays in effect, and the pipe reports the reason. */
export async function changeBadly(world: PipeWorld): Promise<void> {
  const { next, wrong } = credentialsOf(world.feed)
  await world.call('PATCH', world.pipePath, { source: wrong })
  const deadlineMs = Date.now() + effectTimeoutMs
  let metrics = await world.metrics()
  while (!metrics.stateReason?.startsWith('the change is not in effect')) {
    if (Date.now() > deadlineMs) throw new Error('the pipe does not report the invalid update')
    await sleep(100)
    metrics = await world.metrics()
  }
  world.history.note(`invalid update: ${metrics.state}, ${metrics.stateReason}`)
  assert.equal(metrics.state, 'Degraded')
  await untilRowsCome(world, await world.countRows())
  await world.call('PATCH', world.pipePath, { source: next() })
  await untilInEffect(world)
}

export function credentialsOf({ credentials }: Feed): Credentials {
  if (!credentials) throw new Error('this source has no credentials')
  return credentials
}

/** Checks with the query log of the engine that inserts after the update use it. */
async function isInEffectOnEngine(world: PipeWorld, random: Random): Promise<void> {
  const threads = random.between(9, 16)
  await world.call('PATCH', world.pipePath, { settings: { engine_max_threads: threads } })
  await untilInEffect(world)
  await untilRowsCome(world, await world.countRows())
  const inserts = (await world.engine.listQueries(`${world.table.split('.')[1]}`)).filter(
    ({ query, settings }) => query.startsWith('INSERT INTO') && settings.max_threads === String(threads),
  )
  assert.ok(inserts.length > 0, `no insert has max_threads = ${threads}`)
}
