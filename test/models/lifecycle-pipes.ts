// R9: the rows of pipes, their parts and their states.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Key } from '../harness/test-app.ts'
import {
  type Acceptance,
  ask,
  type Command,
  command,
  invalidBody,
  type Json,
  nothingToUpdate,
  operationOf,
  type Real,
  sparsely,
  timestampIn,
} from './against-model.ts'
import { acceptedPipeBodies, defaultScaling, defaultSettings, pipeBodies } from './lifecycle-pipe-bodies.ts'
import { change, checkList, limits, lookAt, type Row, read } from './lifecycle-rows.ts'
import { serviceAt } from './lifecycle-services.ts'
import {
  alive,
  changesBetween,
  checkTag,
  defined,
  type Model,
  newThing,
  noPipe,
  type PipeThing,
  pick,
  pipes,
  type ServiceThing,
  services,
  type ThingSelector,
  thingSelector,
  words,
} from './lifecycle-world.ts'

export const pipeAt = (model: Model, at: ThingSelector): PipeThing => pick(model.pipes, at) ?? noPipe()
export const pipeTarget = ({ id, serviceId }: PipeThing): Record<string, string> => ({ type: 'pipe', id, serviceId })

/** A change of a pipe: increments the version, and sets `updatedAt`. */
function changePipe(
  model: Model,
  thing: PipeThing,
  type: string,
  { shown, changes, part }: { shown: Json; changes: object[]; part?: 'settings' },
): Acceptance {
  const isChanged = changes.length > 0
  if (isChanged) Object.assign(thing, { shown, version: thing.version + 1 })
  return {
    status: 200,
    result: (answered, span, { headers }) => {
      checkTag(pipes, thing, headers.etag)
      if (isChanged) thing.shown.updatedAt = span
      return part ? thing.shown[part] : pipes.show(model, thing, answered)
    },
    ...(isChanged ? { activity: { type, target: pipeTarget(thing), changes } } : {}),
  }
}

/** State after each command; undefined if the command is refused. */
function stateAfter(thing: PipeThing, pipeCommand: string): string | undefined {
  const { state } = thing.shown
  const isPostgres = thing.kind === 'postgres'
  const atRest = isPostgres ? 'Paused' : 'Stopped'
  const onTheWay = isPostgres ? 'Pausing' : 'Stopping'
  const rests = [atRest, 'Completed', 'Failed', 'InternalError'].includes(state)
  if (pipeCommand === 'start') return rests ? 'Provisioning' : undefined
  if (pipeCommand === 'stop') {
    if (state === 'Provisioning' || state === 'Failed' || state === 'InternalError') return atRest
    return rests || state === onTheWay ? state : onTheWay
  }
  if (!isPostgres || rests || state === onTheWay) return undefined
  return ['Provisioning', 'Setup', 'Snapshot', 'Resync'].includes(state) ? state : 'Resync'
}

/** Metrics of a pipe without a worker; `doing` is a sentence. */
function metricsOf({ shown: { state, source }, replayRequestedAt }: PipeThing, { doing }: Json): Json {
  assert.match(doing, /^[A-Z].*\.$/)
  const counted = ['rowsRead', 'bytesRead', 'rowsWritten', 'bytesWritten', 'rowsRefused', 'inserts', 'retries']
  const told = ['stateReason', 'delivery', 'deliveryReason', 'lastInsertAt', 'lastError', 'lastErrorAt']
  const unknown = [...told, 'lag', 'retainedBytes', 'freshnessSeconds']
  const mappings: Json[] = source.postgres?.tableMappings ?? []
  const notBegun = {
    state: 'waiting',
    isResync: false,
    rowsLoaded: 0,
    rowsEstimated: null,
    percent: 0,
    secondsLeft: null,
  }
  return {
    state,
    doing,
    replayRequestedAt,
    ...Object.fromEntries(counted.map((name) => [name, 0])),
    ...Object.fromEntries(unknown.map((name) => [name, null])),
    workers: [],
    tables: mappings.map(({ sourceSchemaName, sourceTable, targetTable }) => ({
      sourceSchemaName,
      sourceTable,
      targetTable,
      ...notBegun,
    })),
    throughput: [],
  }
}

const settingsPatch = fc.record(
  {
    streaming_max_insert_wait_ms: fc.constantFrom(500, 5_000, null),
    engine_max_threads: fc.constantFrom(0, 64, null),
    object_storage_use_cluster_function: fc.constantFrom(true, false, null),
  },
  { requiredKeys: [] },
)
const scalingPatch = fc.record(
  { replicas: fc.constantFrom(1, 2, 40, null), replicaMemoryGb: fc.constantFrom(0.5, 8, null) },
  { requiredKeys: [] },
)
const withDefaults = (patch: Json, defaults: Json): Json =>
  Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? defaults[name]]))

export const pipeRows: Row[] = [
  change(
    'createPipe',
    fc.record({
      at: thingSelector,
      which: fc.oneof(
        { weight: 3, arbitrary: fc.nat(acceptedPipeBodies - 1) },
        { weight: 1, arbitrary: fc.nat(pipeBodies.length - 1) },
      ),
      startPaused: sparsely(fc.boolean()),
      settings: sparsely(fc.constant({ engine_max_threads: 8 })),
      scaling: sparsely(fc.constant({ replicas: 2 })),
    }),
    (model, { at, which, startPaused, settings = {}, scaling = {} }) => {
      const service = serviceAt(model, at)
      const { body, shown, refused } = pipeBodies[which]!
      return {
        ids: services.ids(service),
        body: { ...defined({ startPaused, settings, scaling }), ...body },
        misshapen: refused === 'shape',
        in: service,
        decide: () => {
          if (refused === 'samples') return { status: 400, code: 'source_not_validated' }
          if (!shown) return invalidBody
          const { kind, atRest, destination, source } = shown
          const target = { type: 'pipe', id: '', serviceId: service.id }
          return {
            status: 200,
            result: ({ id, createdAt }, span) => {
              const thing: PipeThing = {
                ...newThing(id, {
                  id,
                  serviceId: service.id,
                  name: body.name,
                  state: startPaused ? atRest : 'Provisioning',
                  createdAt: timestampIn(createdAt, span),
                  updatedAt: createdAt,
                  destination,
                  fieldMappings: body.fieldMappings ?? [],
                  scaling: { ...defaultScaling, ...scaling },
                  settings: { ...defaultSettings, ...settings },
                  source: { [kind]: source(id) },
                }),
                kind,
                serviceId: service.id,
                replayRequestedAt: null,
              }
              model.pipes.push(thing)
              target.id = id
              return thing.shown
            },
            activity: { type: 'pipe_created', target },
          }
        },
      }
    },
  ),
  read('listPipes', fc.record({ at: thingSelector, limit: limits }), async (model, real, { at, limit }, key) => {
    const service = alive(model.services)[at.at % alive(model.services).length]
    if (service) await checkPipes(model, real, service, { limit, key })
  }),
  lookAt(pipes, (model) => model.pipes, noPipe),
  change(
    'updatePipe',
    fc.record({ at: thingSelector, name: words, extra: fc.constantFrom('none', 'none', 'same', 'other') }),
    (model, { at, name, extra }) => {
      const thing = pipeAt(model, at)
      const extras: Json = { same: { scaling: thing.shown.scaling ?? {} }, other: { state: 'InternalError' } }
      return {
        ids: pipes.ids(thing),
        body: { name, ...extras[extra] },
        noun: pipes,
        thing,
        decide: () => {
          if (extra === 'other') return invalidBody
          const changes = changesBetween(thing.shown, { name })
          return changePipe(model, thing, 'pipe_updated', { shown: { ...thing.shown, name }, changes })
        },
      }
    },
  ),
  read('getPipeSettings', thingSelector, async (model, real, at, key) => {
    const thing = pipeAt(model, at)
    const response = await ask(real, operationOf('getPipeSettings'), pipes.ids(thing), { key })
    if (thing.gone) {
      assert.deepEqual([response.status, response.body.code], [404, 'not_found'])
      return
    }
    assert.deepEqual(response.body.result, thing.shown.settings)
    checkTag(pipes, thing, response.headers.etag)
  }),
  read('getPipeMetrics', thingSelector, async (model, real, at, key) => {
    const thing = pipeAt(model, at)
    const { status, body } = await ask(real, operationOf('getPipeMetrics'), pipes.ids(thing), { key })
    if (thing.gone) assert.deepEqual([status, body.code], [404, 'not_found'])
    else assert.deepEqual(body.result, metricsOf(thing, body.result))
  }),
  read('listPipeErrors', thingSelector, async (model, real, at, key) => {
    const thing = pipeAt(model, at)
    const { status, body } = await ask(real, operationOf('listPipeErrors'), pipes.ids(thing), { key })
    if (thing.gone) assert.deepEqual([status, body.code], [404, 'not_found'])
    else assert.deepEqual(body.result, [])
  }),
  read('getPipeRows', thingSelector, async (model, real, at, key) => {
    const thing = pipeAt(model, at)
    const { status, body } = await ask(real, operationOf('getPipeRows'), pipes.ids(thing), { key })
    if (thing.gone) assert.deepEqual([status, body.code], [404, 'not_found'])
    // No rows were inserted.
    else assert.deepEqual([body.result.tables, body.result.rows], [[], []])
  }),
  change('replayPipeErrors', fc.record({ at: thingSelector }), (model, { at }) => {
    const thing = pipeAt(model, at)
    return {
      ids: pipes.ids(thing),
      in: thing,
      decide: () => {
        const isNews = thing.replayRequestedAt === null
        const target = pipeTarget(thing)
        return {
          status: 200,
          result: (answered, span) => {
            if (isNews) thing.replayRequestedAt = timestampIn(answered.replayRequestedAt, span)
            return metricsOf(thing, answered)
          },
          ...(isNews ? { activity: { type: 'pipe_errors_replayed', target } } : {}),
        }
      },
    }
  }),
  read(
    'discoverSchema',
    fc.record({ at: thingSelector, isOfPipe: fc.boolean() }),
    async (model, real, { at, isOfPipe }, key) => {
      const operation = operationOf('discoverSchema')
      const service = serviceAt(model, at)
      const thing = pipeAt(model, at)
      // The sources of the pipes do not exist; that of the example does.
      const [ids, body, expected] = isOfPipe
        ? [
            services.ids(thing.gone ? service : { ...service, id: thing.serviceId }),
            { pipeId: thing.id },
            [400, 'source_not_validated'],
          ]
        : [services.ids(service), operation.example.body, [200, undefined]]
      const response = await ask(real, operation, ids, { key, body })
      const isGone = isOfPipe ? thing.gone : service.gone
      assert.deepEqual([response.status, response.body.code], isGone ? [404, 'not_found'] : expected)
    },
  ),
  read('checkDestination', fc.record({ at: thingSelector }), async (model, real, { at }, key) => {
    const operation = operationOf('checkDestination')
    const service = serviceAt(model, at)
    const response = await ask(real, operation, services.ids(service), { key, body: operation.example.body })
    const hasEngine = (service.shown.endpoints as unknown[]).length > 0
    // None of these engines exists.
    const expected = hasEngine ? [503, 'engine_unavailable'] : [400, 'engine_refuses']
    assert.deepEqual([response.status, response.body.code], service.gone ? [404, 'not_found'] : expected)
  }),
  change(
    'updatePipeSettings',
    fc.record({
      at: thingSelector,
      patch: settingsPatch,
      bad: fc.constantFrom({}, {}, {}, {}, {}, { engine_max_threads: 65 }, { engine_max_threads: '8' }, { threads: 1 }),
    }),
    (model, { at, patch, bad }) => {
      const thing = pipeAt(model, at)
      return {
        ids: pipes.ids(thing),
        body: { ...patch, ...bad },
        misshapen: Object.keys(bad).length > 0,
        noun: pipes,
        thing,
        decide: () => {
          if (Object.keys(patch).length === 0) return nothingToUpdate
          const { settings } = thing.shown
          const effective = withDefaults(patch, defaultSettings)
          const changes = changesBetween(settings, effective, 'settings.')
          const shown = { ...thing.shown, settings: { ...settings, ...effective } }
          return changePipe(model, thing, 'pipe_settings_updated', { shown, changes, part: 'settings' })
        },
      }
    },
  ),
  change(
    'updatePipeScaling',
    fc.record({
      at: thingSelector,
      patch: scalingPatch,
      bad: fc.constantFrom({}, {}, {}, {}, {}, { replicas: 0 }, { replicaMemoryGb: 8.5 }, { memory: 1 }),
    }),
    (model, { at, patch, bad }) => {
      const thing = pipeAt(model, at)
      return {
        ids: pipes.ids(thing),
        body: { ...patch, ...bad },
        misshapen: Object.keys(bad).length > 0,
        noun: pipes,
        thing,
        decide: () => {
          if (Object.keys(patch).length === 0) return nothingToUpdate
          const { scaling } = thing.shown
          const effective = withDefaults(patch, defaultScaling)
          const changes = changesBetween(scaling, effective, 'scaling.')
          const shown = { ...thing.shown, scaling: { ...scaling, ...effective } }
          return changePipe(model, thing, 'pipe_scaled', { shown, changes })
        },
      }
    },
  ),
  change(
    'updatePipeState',
    fc.record({ at: thingSelector, pipeCommand: fc.constantFrom('start', 'start', 'stop', 'stop', 'resync', 'pause') }),
    (model, { at, pipeCommand }) => {
      const thing = pipeAt(model, at)
      return {
        ids: pipes.ids(thing),
        body: { command: pipeCommand },
        misshapen: pipeCommand === 'pause',
        noun: pipes,
        thing,
        decide: () => {
          const state = stateAfter(thing, pipeCommand)
          if (state === undefined) {
            return { status: 400, code: pipeCommand === 'start' ? 'pipe_already_running' : 'pipe_cannot_resync' }
          }
          const changes = changesBetween(thing.shown, { state })
          return changePipe(model, thing, 'pipe_state_changed', { shown: { ...thing.shown, state }, changes })
        },
      }
    },
  ),
]

export async function checkPipes(
  model: Model,
  real: Real,
  service: ServiceThing,
  options: { limit: number; key?: Key },
): Promise<void> {
  const things = model.pipes.filter(({ serviceId }) => serviceId === service.id)
  await checkList(model, real, 'listPipes', { noun: pipes, things, ids: services.ids(service) }, options)
}

/** State changes by a runner are no change of the pipe. */
export const runnerCommand: fc.Arbitrary<Command<Model>> = fc
  .record({
    at: thingSelector,
    state: fc.constantFrom(
      'Running',
      'Setup',
      'Snapshot',
      'Resync',
      'Modifying',
      'Degraded',
      'Failed',
      'Completed',
      'stopping',
    ),
  })
  .map((choice) =>
    command(`the runner ${JSON.stringify(choice)}`, async (model, real) => {
      const thing = pick(model.pipes, choice.at)
      if (!thing || thing.gone) return
      const onTheWay = thing.kind === 'postgres' ? 'Pausing' : 'Stopping'
      const state = choice.state === 'stopping' ? onTheWay : choice.state
      await real.app.query(`UPDATE pipes SET state = '${state}' WHERE id = '${thing.id}'`)
      thing.shown.state = state
    }),
  )
