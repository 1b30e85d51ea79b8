// R9: the API against a model of it. fast-check makes up sequences of requests; every answer, and at the end everything
// that is stored, must be what a few lines of arithmetic in memory say. The model follows docs/contract.md, not the code.
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { newId } from '../src/lib/id.ts'
import { findPipe, insertPipe, openSecrets, sealSecrets } from '../src/pipes/store.ts'
import type { Key, TestApp, TestResponse } from './harness.ts'

interface Member {
  version: number
  shown: { userId: string; role: string; [field: string]: unknown }
}

interface Service {
  id: string
  provider: 'aws' | 'gcp'
  /** When each endpoint was attached: not before and not after. */
  endpoints: Map<string, { notBefore: number; notAfter: number }>
}

interface Pipe {
  kind: 'kafka' | 'postgres'
  version: number
  // biome-ignore lint/suspicious/noExplicitAny: the whole answer, as it must be.
  shown: any
  secrets: { username?: string; password?: string }
}

interface Model {
  members: Member[]
  services: Service[]
  /** Descriptions of the organization's endpoints. */
  endpoints: Map<string, string>
  pipes: Pipe[]
  /** What was sent with which idempotency key, and what came of it. */
  remembered: Map<string, { request: string; answer: Outcome }>
  keyed: Write[]
  activities: number
}

interface Real {
  app: TestApp
  organizationId: string
  key: Key
  counts: Map<string, number>
}

type Outcome = {
  status: number
  code?: string
  result?: unknown
  etag?: string
  warning?: boolean
}

/** A change as it goes over the wire, and what the model makes of it. */
interface Write {
  method: 'PATCH' | 'POST'
  path: string
  body: unknown
  ifMatch: string | undefined
  idempotencyKey: string | undefined
  /** Refused before anything is looked up. */
  invalid?: boolean
  apply(model: Model): Outcome
}

/** Runs so many sequences; the seed makes them again. Tells how often which outcome was seen. */
export async function runModel(app: TestApp, runs: number, seed: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (sequence) => {
    const world = await makeWorld(app, counts)
    await fc.asyncModelRun(async () => world, sequence)
    await checkEverything(world.model, world.real)
  })
  await fc.assert(property, { numRuns: runs, seed })
  return counts
}

async function makeWorld(app: TestApp, counts: Map<string, number>): Promise<{ model: Model; real: Real }> {
  await app.query('BEGIN')
  const { organizationId, admin: key, adminUserId, serviceId } = await app.addOrganization()
  const users = [
    adminUserId,
    await app.addMember(organizationId, 'admin'),
    await app.addMember(organizationId, 'developer'),
  ]
  const services: Service[] = [
    { id: serviceId, provider: 'aws', endpoints: new Map() },
    { id: await app.addService(organizationId, 'gcp'), provider: 'gcp', endpoints: new Map() },
  ]
  const pipeIds = { kafka: newId(), postgres: newId() }
  for (const kind of ['kafka', 'postgres'] as const) {
    const { sample } = app
    const pipeId = sample.pipeIds[kind]
    const pattern = (await findPipe(app.sql, {
      organizationId: sample.organizationId,
      serviceId: sample.serviceId,
      pipeId,
    }))!
    const place = { id: pipeIds[kind], organizationId }
    const sealedSecrets = sealSecrets(app.app.vault, place, openSecrets(app.app.vault, pattern))
    const { version: _, ...rest } = pattern
    await insertPipe(app.sql, { ...rest, ...place, serviceId, sealedSecrets })
  }
  await app.query('COMMIT')
  // Reads of one turn of the event loop may share a snapshot, and this was written around Penstock.
  await nextTurn()

  const real: Real = { app, organizationId, key, counts }
  const read = async (path: string) => (await send(real, 'GET', path)).body.result
  const members: Member[] = []
  for (const userId of users) members.push({ version: 1, shown: await read(`/members/${userId}`) })
  const pipes: Pipe[] = []
  for (const kind of ['kafka', 'postgres'] as const) {
    const shown = await read(`/services/${serviceId}/pipes/${pipeIds[kind]}`)
    pipes.push({ kind, version: 1, shown, secrets: { username: 'penstock', password: 'sample-password' } })
  }
  const model: Model = {
    members,
    services,
    endpoints: new Map(),
    pipes,
    remembered: new Map(),
    keyed: [],
    activities: 0,
  }
  return { model, real }
}

async function send(
  { app, organizationId, key }: Real,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  return app.request(method, `/v1/organizations/${organizationId}${path}`, {
    key,
    body,
    headers: { accept: 'application/problem+json', ...headers },
  })
}

function count(real: Real, what: string): void {
  real.counts.set(what, (real.counts.get(what) ?? 0) + 1)
}

/** Sends a change and compares the answer with the model's, which is changed as well. */
async function write(model: Model, real: Real, change: Write): Promise<void> {
  const { method, path, body, ifMatch, idempotencyKey } = change
  const activities = model.activities
  const expected = expectedOutcome(model, real, change)
  const response = await send(real, method, path, body, {
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  })
  const what = `${method} ${path} ${JSON.stringify({ body, ifMatch, idempotencyKey })} → ${response.text}`
  assert.equal(response.status, expected.status, what)
  count(real, expected.code ?? (model.activities > activities ? 'changed' : 'unchanged'))
  if (expected.status !== 200) {
    assert.equal(response.body.code, expected.code, what)
    return
  }
  const { result } = response.body
  if (method === 'PATCH' && 'updatedAt' in result) checkUpdatedAt(model, expected, result)
  assert.deepEqual(result, expected.result, what)
  if (expected.etag !== undefined) assert.equal(response.headers.etag, expected.etag, what)
  if (expected.warning !== undefined) assert.equal(response.headers.warning !== undefined, expected.warning, what)
}

/** A change moves `updatedAt` to now, which only the server knows; nothing else does. */
function checkUpdatedAt(model: Model, expected: Outcome, result: { id: string; updatedAt: string }): void {
  const wanted = expected.result as { updatedAt: string }
  if (!wanted.updatedAt.endsWith(pending)) return
  const old = wanted.updatedAt.slice(0, -pending.length)
  assert.ok(result.updatedAt >= old && Date.parse(result.updatedAt) <= Date.now(), `updatedAt ${result.updatedAt}`)
  wanted.updatedAt = result.updatedAt
  model.pipes.find((pipe) => pipe.shown.id === result.id)!.shown.updatedAt = result.updatedAt
}

const pending = ' or later'

function expectedOutcome(model: Model, real: Real, change: Write): Outcome {
  const { method, path, body, idempotencyKey } = change
  if (change.invalid) return { status: 400, code: 'invalid_body' }
  if (idempotencyKey === undefined) return change.apply(model)
  const request = JSON.stringify([method, path, body])
  const record = model.remembered.get(idempotencyKey)
  if (record) {
    if (record.request !== request) return { status: 409, code: 'idempotency_key_reused' }
    count(real, 'replayed')
    return record.answer
  }
  const answer = change.apply(model)
  if (answer.status === 200) {
    model.remembered.set(idempotencyKey, { request, answer })
    model.keyed.push(change)
  }
  return answer
}

/** Whether `If-Match` lets a resource of this version be changed. */
function matches(ifMatch: string | undefined, version: string): boolean {
  return ifMatch === undefined || ifMatch === '*' || ifMatch.split(', ').includes(`"${version}"`)
}

const mismatch: Outcome = { status: 412, code: 'version_mismatch' }
const invalid: Outcome = { status: 400, code: 'invalid_body' }

function updateRole(at: number, role: string, ifMatch: string | undefined): Write['apply'] {
  return (model) => {
    const member = model.members[at]!
    const answer = (): Outcome => ({ status: 200, result: { ...member.shown }, etag: `"${member.version}.1"` })
    if (!matches(ifMatch, `${member.version}.1`)) return mismatch
    if (member.shown.role === role) return answer()
    const admins = model.members.filter(({ shown }) => shown.role === 'admin')
    if (member.shown.role === 'admin' && admins.length === 1) return { status: 409, code: 'last_admin' }
    member.shown.role = role
    member.version++
    model.activities++
    return answer()
  }
}

const usual = { aws: /^vpce-([0-9a-f]{8}|[0-9a-f]{17})$/, gcp: /^[0-9]+$/ }

function createEndpoint(at: number, id: string, description: string, strict: boolean): Write['apply'] {
  return (model) => {
    const service = model.services[at]!
    const warning = !usual[service.provider].test(id)
    if (warning && strict) return { status: 400, code: 'unusual_endpoint_id' }
    if ((model.endpoints.get(id) ?? description) !== description)
      return { status: 409, code: 'private_endpoint_exists' }
    model.endpoints.set(id, description)
    if (!service.endpoints.has(id)) {
      service.endpoints.set(id, { notBefore: Date.now(), notAfter: Number.POSITIVE_INFINITY })
      model.activities++
    }
    const result = { cloudProvider: service.provider, description, id, region: 'eu-west-1' }
    return { status: 200, result, warning }
  }
}

/** Whether a read-only field is sent unchanged can only be told with the pipe at hand, so `If-Match` comes first. */
function changeState(at: number, ifMatch: string | undefined): Write['apply'] {
  return (model) => (matches(ifMatch, String(model.pipes[at]!.version)) ? invalid : mismatch)
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

function updatePipe(at: number, patch: PipePatch, ifMatch: string | undefined): Write['apply'] {
  return (model) => {
    const pipe = model.pipes[at]!
    if (!matches(ifMatch, String(pipe.version))) return mismatch
    if (isEmpty(patch)) return { status: 400, code: 'nothing_to_update' }
    const shown = structuredClone(pipe.shown)
    const secrets = { ...pipe.secrets }
    if (patch.name !== undefined) shown.name = patch.name
    if (patch.destination?.columns) shown.destination.columns = patch.destination.columns
    if (patch.fieldMappings) shown.fieldMappings = patch.fieldMappings
    for (const [name, value] of Object.entries(patch.settings ?? {})) shown.settings[name] = value ?? defaults[name]
    const columns: string[] = shown.destination.columns.map(({ name }: { name: string }) => name)
    const mapped: string[] = shown.fieldMappings.map(
      (mapping: { destinationField: string }) => mapping.destinationField,
    )
    let wrong = new Set(columns).size < columns.length || new Set(mapped).size < mapped.length
    wrong ||= mapped.some((name) => !columns.includes(name))
    for (const [kind, change] of Object.entries(patch.source ?? {})) {
      if (kind !== pipe.kind) wrong = true
      else if (kind === 'kafka') wrong = !changeKafka(shown.source.kafka, secrets, change) || wrong
      else wrong = !changePostgres(shown.source.postgres, secrets, change) || wrong
    }
    if (wrong) return invalid
    if (!isDeepStrictEqual([shown, secrets], [pipe.shown, pipe.secrets])) {
      shown.updatedAt += pending
      Object.assign(pipe, { shown, secrets, version: pipe.version + 1 })
      model.activities++
    }
    return { status: 200, result: structuredClone(pipe.shown), etag: `"${pipe.version}"` }
  }
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

/** False when the source that comes of it is not one. */
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

type Command = fc.AsyncCommand<Model, Real>

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name }
}

/** `current` and its kin are made a header when the version is known. */
const ifMatchKinds = fc.constantFrom('none', 'none', 'none', 'current', 'current', 'list', 'any', 'stale', 'weak')

function ifMatchOf(kind: string, version: string): string | undefined {
  if (kind === 'none') return undefined
  if (kind === 'any') return '*'
  if (kind === 'stale') return '"0.0"'
  if (kind === 'weak') return `W/"${version}"`
  return kind === 'list' ? `"0.0", "${version}"` : `"${version}"`
}

const idempotencyKeys = fc.option(fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5'), { nil: undefined, freq: 2 })

const updateMemberCommand = fc
  .record({
    at: fc.constantFrom(0, 1, 0, 1, 2),
    role: fc.constantFrom('developer', 'developer', 'developer', 'admin'),
    ifMatchKind: ifMatchKinds,
    idempotencyKey: idempotencyKeys,
  })
  .map((choice) =>
    command(`updateMember ${JSON.stringify(choice)}`, (model, real) => {
      const { at, role, idempotencyKey } = choice
      const member = model.members[at]!
      const ifMatch = ifMatchOf(choice.ifMatchKind, `${member.version}.1`)
      const path = `/members/${member.shown.userId}`
      const apply = updateRole(at, role, ifMatch)
      return write(model, real, { method: 'PATCH', path, body: { role }, ifMatch, idempotencyKey, apply })
    }),
  )

const getMemberCommand = fc.nat(2).map((at) =>
  command(`getMember ${at}`, async (model, real) => {
    const { shown, version } = model.members[at]!
    const response = await send(real, 'GET', `/members/${shown.userId}`)
    assert.deepEqual(response.body.result, shown)
    assert.equal(response.headers.etag, `"${version}.1"`)
  }),
)

const createEndpointCommand = fc
  .record({
    at: fc.nat(1),
    body: fc.record(
      {
        id: fc.constantFrom('vpce-0a1b2c3d', 'vpce-0a1b2c3d4e5f67890', '4711', 'other'),
        description: fc.constantFrom('', 'blue', 'grün'),
      },
      { requiredKeys: ['id'] },
    ),
    strict: fc.constantFrom(undefined, undefined, true, false),
    idempotencyKey: idempotencyKeys,
  })
  .map((choice) =>
    command(`createPrivateEndpoint ${JSON.stringify(choice)}`, async (model, real) => {
      const { at, body, strict, idempotencyKey } = choice
      const service = model.services[at]!
      const path = `/services/${service.id}/privateEndpoint${strict === undefined ? '' : `?strict=${strict}`}`
      const apply = createEndpoint(at, body.id, body.description ?? '', strict === true)
      await write(model, real, { method: 'POST', path, body, ifMatch: undefined, idempotencyKey, apply })
      for (const each of model.services) {
        for (const time of each.endpoints.values()) time.notAfter = Math.min(time.notAfter, Date.now())
      }
    }),
  )

const listEndpointsCommand = fc
  .nat(1)
  .map((at) => command(`listPrivateEndpoints ${at}`, (model, real) => checkEndpoints(model, real, model.services[at]!)))

async function checkEndpoints(
  model: Model,
  real: Real,
  { id: serviceId, provider, endpoints }: Service,
): Promise<void> {
  const { body } = await send(real, 'GET', `/services/${serviceId}/privateEndpoint`)
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  assert.deepEqual(
    [...body.result].sort(byId),
    [...endpoints.keys()]
      .map((id) => ({ cloudProvider: provider, description: model.endpoints.get(id), id, region: 'eu-west-1' }))
      .sort(byId),
  )
  const times = body.result.map(({ id }: { id: string }) => endpoints.get(id)!)
  for (let index = 1; index < times.length; index++) {
    assert.ok(times[index - 1].notAfter >= times[index].notBefore, 'the newest first')
  }
}

const names = fc.constantFrom('orders', 'Bestellungen', '注文 😀', ' ', `'; --`)
const columnNames = fc.constantFrom('order_id', 'customer', 'amount', 'note')
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
        fc.constantFrom('t1', 't2', 'shop_customers').map((targetTable) => ({ ...table, targetTable })),
      ),
      { maxLength: 2 },
    ),
    tableMappingsToRemove: fc.array(tables, { maxLength: 1 }),
  },
  { requiredKeys: [] },
)
/** Sparse: a patch of many fields is nearly always refused for one of them. */
const sparsely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined, freq: 1 })

const updatePipeCommand = fc
  .record({
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
  })
  .map((choice) =>
    command(`updatePipe ${JSON.stringify(choice)}`, (model, real) => {
      const { at, idempotencyKey } = choice
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
      const ifMatch = ifMatchOf(choice.ifMatchKind, String(pipe.version))
      const extras: Record<string, object> = {
        setting: { settings: { engine_max_threads: 65 } },
        unknown: { nmae: 'x' },
        state: { state: 'Running' },
        sameState: { state: pipe.shown.state },
      }
      return write(model, real, {
        method: 'PATCH',
        path: `/services/${pipe.shown.serviceId}/pipes/${pipe.shown.id}`,
        body: { ...patch, ...extras[choice.extra] },
        ifMatch,
        idempotencyKey,
        invalid: choice.extra === 'setting' || choice.extra === 'unknown',
        apply: choice.extra === 'state' ? changeState(at, ifMatch) : updatePipe(at, patch, ifMatch),
      })
    }),
  )

const getPipeCommand = fc
  .nat(1)
  .map((at) => command(`getPipe ${at}`, (model, real) => checkPipe(model.pipes[at]!, real)))

async function checkPipe({ shown, version }: Pipe, real: Real): Promise<void> {
  const response = await send(real, 'GET', `/services/${shown.serviceId}/pipes/${shown.id}`)
  assert.deepEqual(response.body.result, shown)
  assert.equal(response.headers.etag, `"${version}"`)
}

/** A client that got no answer sends the same again, however much has happened since. */
const repeatCommand = fc.nat(9).map((back) =>
  command(`repeat ${back}`, async (model, real) => {
    const change = model.keyed.at(-1 - (back % Math.max(1, model.keyed.length)))
    if (change) await write(model, real, change)
  }),
)

const commands = [
  updateMemberCommand,
  getMemberCommand,
  createEndpointCommand,
  listEndpointsCommand,
  updatePipeCommand,
  updatePipeCommand,
  getPipeCommand,
  repeatCommand,
]

async function checkEverything(model: Model, real: Real): Promise<void> {
  const { app, organizationId } = real
  for (const { shown, version } of model.members) {
    const response = await send(real, 'GET', `/members/${shown.userId}`)
    assert.deepEqual([response.body.result, response.headers.etag], [shown, `"${version}.1"`])
  }
  for (const service of model.services) await checkEndpoints(model, real, service)
  for (const pipe of model.pipes) {
    await checkPipe(pipe, real)
    const stored = await findPipe(app.sql, { organizationId, serviceId: pipe.shown.serviceId, pipeId: pipe.shown.id })
    const { credentials = {} } = openSecrets(app.app.vault, stored!)
    assert.deepEqual(credentials, pipe.secrets)
  }
  const [row] = await app.query<{ count: number }>(
    `SELECT count(*) AS count FROM activities WHERE organization_id = '${organizationId}'`,
  )
  assert.equal(Number(row!.count), model.activities, 'a change without its activity, or an activity without its change')
}
