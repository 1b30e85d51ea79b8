// R9: model of pipe changes: merges, switches of authentication, secrets, table mappings (docs/reference/update-pipe.md).
// Everything else is in lifecycle-model.ts.
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { newId } from '../../src/lib/id.ts'
import { findPipe, insertPipe, openSecrets, sealSecrets } from '../../src/pipes/store.ts'
import type { TestApp } from '../harness/test-app.ts'
import type { Ids } from '../harness/world.ts'
import {
  ask,
  checkActivities,
  command,
  idempotencyKeys,
  ifMatchKinds,
  ifMatchOf,
  invalidBody,
  type Json,
  type Memory,
  matches,
  newMemory,
  nothingToUpdate,
  type Outcome,
  operationOf,
  plainly,
  type Real,
  repeatCommand,
  runStory,
  type Story,
  sparsely,
  timestampIn,
  versionMismatch,
  write,
} from './against-model.ts'

interface Pipe {
  kind: 'kafka' | 'postgres'
  version: number
  // biome-ignore lint/suspicious/noExplicitAny: the whole answer, as it must be.
  shown: any
  secrets: { username?: string; password?: string }
}

interface Model extends Memory {
  pipes: Pipe[]
}

/** Operations that the model predicts. */
export const pipeModelOperations = ['getPipe', 'updatePipe']

const getPipe = operationOf('getPipe')
const patchPipe = operationOf('updatePipe')

const idsOf = ({ shown }: Pipe): Ids => ({ serviceId: shown.serviceId, pipeId: shown.id })

async function makeWorld(app: TestApp, counts: Map<string, number>): Promise<{ model: Model; real: Real }> {
  await app.query('BEGIN')
  const { organizationId, admin: key, serviceId } = await app.addOrganization()
  const pipeIds = { kafka: newId(), postgres: newId() }
  for (const kind of ['kafka', 'postgres'] as const) {
    const { sample } = app
    const pipeId = sample.pipeIds[kind]
    const pattern = (await findPipe(app.sql, {
      organizationId: sample.organizationId,
      serviceId: sample.serviceId,
      pipeId,
    }))!
    const owner = { id: pipeIds[kind], organizationId }
    const sealedSecrets = sealSecrets(app.app.vault, owner, openSecrets(app.app.vault, pattern))
    const { version: _, ...rest } = pattern
    await insertPipe(app.sql, { ...rest, ...owner, serviceId, sealedSecrets })
  }
  await app.query('COMMIT')
  // Reads in one turn of the event loop may share a snapshot, and this was written directly to the database.
  await nextTurn()

  const real: Real = { app, organizationId, key, counts }
  const pipes: Pipe[] = []
  for (const kind of ['kafka', 'postgres'] as const) {
    const { body } = await ask(real, getPipe, { serviceId, pipeId: pipeIds[kind] })
    pipes.push({
      kind,
      version: 1,
      shown: body.result,
      secrets: { username: 'penstock', password: 'sample-password' },
    })
  }
  return { model: { ...newMemory(), pipes }, real }
}

/** Whether a read-only field is sent unchanged depends on the stored pipe, so `If-Match` is checked first. */
function changeState(pipe: Pipe, ifMatch: string | undefined): Outcome {
  return matches(ifMatch, `"${pipe.version}"`) ? invalidBody : versionMismatch
}

interface PipePatch {
  name?: string
  destination?: { columns?: { name: string; type: string }[] }
  fieldMappings?: { destinationField: string; sourceField: string }[]
  settings?: Record<string, number | boolean | null>
  source?: Record<string, Record<string, unknown>>
}

const defaults: Record<string, number | boolean> = {
  streaming_max_insert_wait_ms: 5_000,
  engine_max_threads: 0,
  engine_parallel_view_processing: false,
}

function updatePipe(pipe: Pipe, patch: PipePatch, ifMatch: string | undefined): Outcome {
  if (!matches(ifMatch, `"${pipe.version}"`)) return versionMismatch
  if (isEmpty(patch)) return nothingToUpdate
  const shown = structuredClone(pipe.shown)
  const secrets = { ...pipe.secrets }
  if (patch.name !== undefined) shown.name = patch.name
  if (patch.destination?.columns) shown.destination.columns = patch.destination.columns
  if (patch.fieldMappings) shown.fieldMappings = patch.fieldMappings
  for (const [name, value] of Object.entries(patch.settings ?? {})) shown.settings[name] = value ?? defaults[name]
  const columns: string[] = shown.destination.columns.map(({ name }: { name: string }) => name)
  const mapped: string[] = shown.fieldMappings.map((mapping: { destinationField: string }) => mapping.destinationField)
  let wrong = new Set(columns).size < columns.length || new Set(mapped).size < mapped.length
  wrong ||= [...mapped, ...columnsNamedBy(shown.destination.tableDefinition)].some((name) => !columns.includes(name))
  for (const [kind, change] of Object.entries(patch.source ?? {})) {
    if (kind !== pipe.kind) wrong = true
    else if (kind === 'kafka') wrong = !changeKafka(shown.source.kafka, secrets, change) || wrong
    else wrong = !changePostgres(shown.source.postgres, secrets, change) || wrong
  }
  if (wrong) return invalidBody
  const isChanged = !isDeepStrictEqual([shown, secrets], [pipe.shown, pipe.secrets])
  if (isChanged) Object.assign(pipe, { shown, secrets, version: pipe.version + 1 })
  const target = { type: 'pipe', id: shown.id, serviceId: shown.serviceId }
  return {
    status: 200,
    result: (answered, span, response) => {
      if (isChanged) pipe.shown.updatedAt = timestampIn(answered.updatedAt, span)
      assert.equal(response.headers.etag, `"${pipe.version}"`)
      return pipe.shown
    },
    ...(isChanged ? { activity: { type: 'pipe_updated', target } } : {}),
  }
}

/** Columns that the table definition names. */
function columnsNamedBy(definition: Json | undefined): string[] {
  if (!definition) return []
  const { engine, sortingKey = [] } = definition
  if (engine.type === 'ReplacingMergeTree' && engine.versionColumnId) return [...sortingKey, engine.versionColumnId]
  return engine.type === 'SummingMergeTree' ? [...sortingKey, ...(engine.columnIds ?? [])] : sortingKey
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isEmpty)
}

type Change = {
  credentials?: { username?: string; password?: string } | null
  iamRole?: string | null
  caCertificate?: null
  reversePrivateEndpointIds?: string[] | null
  host?: string
  port?: number
  settings?: { pullBatchSize?: number | null }
  tableMappingsToAdd?: { sourceSchemaName: string; sourceTable: string; targetTable: string }[]
  tableMappingsToRemove?: { sourceSchemaName: string; sourceTable: string }[]
}
// biome-ignore lint/suspicious/noExplicitAny: a source as it is answered.
type Source = any

/** Returns false if the resulting source is invalid. */
function changeKafka(source: Source, secrets: Pipe['secrets'], change: Change): boolean {
  const { credentials, iamRole } = change
  const brings: string[] = []
  if (credentials && Object.keys(credentials).length > 0) {
    brings.push(source.authentication === 'IAM_ROLE' ? 'PLAIN' : source.authentication)
  }
  if (typeof iamRole === 'string' && iamRole !== source.iamRole) brings.push('IAM_ROLE')
  if (brings.length === 1) source.authentication = brings[0]
  for (const name of ['iamRole', 'caCertificate', 'reversePrivateEndpointIds'] as const) {
    if (change[name] === null) delete source[name]
    else if (change[name] !== undefined) source[name] = change[name]
  }
  if (credentials === null) {
    delete secrets.username
    delete secrets.password
  } else Object.assign(secrets, credentials)
  if (source.authentication === 'IAM_ROLE') return source.iamRole !== undefined
  return secrets.username !== undefined && secrets.password !== undefined
}

function changePostgres(source: Source, secrets: Pipe['secrets'], change: Change): boolean {
  Object.assign(secrets, change.credentials ?? {})
  if (change.host !== undefined) source.host = change.host
  if (change.port !== undefined) source.port = change.port
  const { pullBatchSize } = change.settings ?? {}
  if (pullBatchSize !== undefined) source.settings.pullBatchSize = pullBatchSize ?? 100_000
  const indexOf = (table: { sourceSchemaName: string; sourceTable: string }): number =>
    source.tableMappings.findIndex(
      (each: { sourceSchemaName: string; sourceTable: string }) =>
        each.sourceSchemaName === table.sourceSchemaName && each.sourceTable === table.sourceTable,
    )
  let fine = true
  for (const removal of change.tableMappingsToRemove ?? []) {
    if (indexOf(removal) < 0) fine = false
    else source.tableMappings.splice(indexOf(removal), 1)
  }
  for (const addition of change.tableMappingsToAdd ?? []) {
    if (indexOf(addition) >= 0) fine = false
    const added = {
      tableEngine: 'ReplacingMergeTree',
      useCustomSortingKey: false,
      sortingKeys: [],
      excludedColumns: [],
    }
    source.tableMappings.push({ ...addition, ...added })
  }
  const targets = source.tableMappings.map(({ targetTable }: { targetTable: string }) => targetTable)
  return fine && targets.length > 0 && new Set(targets).size === targets.length
}

const names = fc.constantFrom('orders', 'Bestellungen', '注文 😀', ' ', `'; --`)
const columnNames = fc.constantFrom('order_id', 'ordered_at', 'customer', 'amount', 'note')
const columns = fc.uniqueArray(fc.record({ name: columnNames, type: fc.constantFrom('String', 'UInt64') }), {
  maxLength: 4,
  // One in four lists may repeat a name, which is refused.
  selector: ({ name, type }) => (type === 'UInt64' ? `${name}!` : name),
})
const fieldMappings = fc.array(fc.record({ destinationField: columnNames, sourceField: fc.constantFrom('a', 'b.c') }), {
  maxLength: 2,
})
const settings = fc.record(
  {
    streaming_max_insert_wait_ms: fc.constantFrom(500, 5_000, 60_000, null),
    engine_max_threads: fc.constantFrom(0, 1, 64, null),
    engine_parallel_view_processing: fc.constantFrom(true, false, null),
  },
  { requiredKeys: [] },
)
const credentials = fc.record(
  { username: fc.constantFrom('penstock', 'ada'), password: fc.constantFrom('one', 'zwei ü', 'sample-password') },
  { requiredKeys: [] },
)
const kafkaPatch = fc.record(
  {
    credentials: fc.option(credentials, { freq: 6 }),
    iamRole: fc.constantFrom('role/a', 'role/b', null),
    caCertificate: fc.constant(null),
    reversePrivateEndpointIds: fc.option(fc.array(fc.constantFrom('e1', 'e2'), { maxLength: 2 })),
  },
  { requiredKeys: [] },
)
const tables = fc.record({
  sourceSchemaName: fc.constant('public'),
  sourceTable: fc.constantFrom('orders', 'items', 'stock'),
})
const postgresPatch = fc.record(
  {
    credentials,
    host: fc.constantFrom('db.example', '192.0.2.1', '::1'),
    port: fc.constantFrom(1, 5432, 65_535),
    settings: fc.record({ pullBatchSize: fc.constantFrom(1, 100_000, null) }, { requiredKeys: [] }),
    tableMappingsToAdd: fc.array(
      tables.chain((table) =>
        fc.constantFrom('t1', 't2', 'northwind_customers').map((targetTable) => ({ ...table, targetTable })),
      ),
      { maxLength: 2 },
    ),
    tableMappingsToRemove: fc.array(tables, { maxLength: 1 }),
  },
  { requiredKeys: [] },
)
const updatePipeCommand = plainly(
  fc.record({
    at: fc.nat(1),
    name: sparsely(names),
    columns: sparsely(columns),
    fieldMappings: sparsely(fieldMappings),
    settings: sparsely(settings),
    kafka: kafkaPatch,
    postgres: postgresPatch,
    withSource: fc.constantFrom('own', 'own', 'own', 'none', 'none', 'none', 'none', 'other'),
    extra: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'setting', 'unknown', 'state', 'sameState'),
    ifMatchKind: ifMatchKinds,
    idempotencyKey: idempotencyKeys,
  }),
).map((choice) =>
  command<Model>(`updatePipe ${JSON.stringify(choice)}`, (model, real) => {
    const { at, idempotencyKey, extra } = choice
    const pipe = model.pipes[at]!
    const other = pipe.kind === 'kafka' ? 'postgres' : 'kafka'
    const kind = choice.withSource === 'own' ? pipe.kind : other
    const patch: PipePatch = {
      ...(choice.name === undefined ? {} : { name: choice.name }),
      ...(choice.columns === undefined ? {} : { destination: { columns: choice.columns } }),
      ...(choice.fieldMappings === undefined ? {} : { fieldMappings: choice.fieldMappings }),
      ...(choice.settings === undefined ? {} : { settings: choice.settings }),
      ...(choice.withSource === 'none' ? {} : { source: { [kind]: choice[kind] } }),
    }
    const ifMatch = ifMatchOf(choice.ifMatchKind, `"${pipe.version}"`)
    const extras: Record<string, object> = {
      setting: { settings: { engine_max_threads: 65 } },
      unknown: { nmae: 'x' },
      state: { state: 'Running' },
      sameState: { state: pipe.shown.state },
    }
    return write(model, real, {
      operation: patchPipe,
      ids: idsOf(pipe),
      body: { ...patch, ...extras[extra] },
      ifMatch,
      idempotencyKey,
      asker: () => ({ id: undefined, key: real.key }),
      refused: () => (extra === 'setting' || extra === 'unknown' ? invalidBody : undefined),
      apply: () => (extra === 'state' ? changeState(pipe, ifMatch) : updatePipe(pipe, patch, ifMatch)),
    })
  }),
)

const getPipeCommand = fc
  .nat(1)
  .map((at) => command<Model>(`getPipe ${at}`, (model, real) => checkPipe(model.pipes[at]!, real)))

async function checkPipe(pipe: Pipe, real: Real): Promise<void> {
  const response = await ask(real, getPipe, idsOf(pipe))
  assert.deepEqual(response.body.result, pipe.shown)
  assert.equal(response.headers.etag, `"${pipe.version}"`)
}

async function checkEverything(model: Model, real: Real): Promise<void> {
  const { app, organizationId } = real
  for (const pipe of model.pipes) {
    await checkPipe(pipe, real)
    const stored = await findPipe(app.sql, { organizationId, serviceId: pipe.shown.serviceId, pipeId: pipe.shown.id })
    const { credentials = {} } = openSecrets(app.app.vault, stored!)
    assert.deepEqual(credentials, pipe.secrets)
  }
  await checkActivities(model, real, { limit: 100 })
}

const story: Story<Model> = {
  makeWorld,
  commands: [updatePipeCommand, updatePipeCommand, updatePipeCommand, getPipeCommand, repeatCommand()],
  checkEverything,
}

export function runPipeModel(app: TestApp, runs: number, seed: number): Promise<Map<string, number>> {
  return runStory(app, story, runs, seed)
}
