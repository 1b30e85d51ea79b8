// R9: common parts of the API models. fast-check generates sequences of requests. Every answer, every activity and the final
// stored state must match a small in-memory model. A model follows docs/reference, not the code.
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { type AnyOperation, takesIfMatch } from '../../src/operation/operation.ts'
import { operationsById } from '../../src/operations.ts'
import type { Key, TestApp, TestResponse } from '../harness/test-app.ts'
import { freshAddress, type Ids, pathOf } from '../harness/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
export type Json = any

/** The Penstock under test. */
export interface Real {
  app: TestApp
  organizationId: string
  /** An admin key that stays valid. */
  key: Key
  /** Number of requests by operation and outcome. */
  counts: Map<string, number>
}

/** State that every model has. */
export interface Memory {
  /** Request and first answer by idempotency key and caller. */
  remembered: Map<string, { request: string; answer: Json }>
  /** Requests with an idempotency key, to be repeated. */
  keyed: Write[]
  /** Oldest first. */
  activities: ExpectedActivity[]
}

export interface ExpectedActivity {
  type: string
  requestId: string
  actorId: string | undefined
  target: Record<string, string>
  /** Undefined where a model does not predict them. */
  changes?: object[] | undefined
}

export interface Refusal {
  status: number
  code: string
}

/** Time of the request, to check timestamps that the server chose. */
export interface Span {
  from: number
  to: number
}

export interface Acceptance {
  status: 200
  /** The expected result. Values that only the server knows are checked and taken from the answer. */
  result(answered: Json, span: Span, response: TestResponse): unknown
  warning?: boolean
  /** Absent if nothing changes. */
  activity?: { type: string; target: Record<string, string>; changes?: object[] | undefined }
}

export type Outcome = Refusal | Acceptance

/** The caller. */
export interface Asker {
  /** Id of the key. */
  id: string | undefined
  key: Key
}

/** A change request and its expected effect. */
export interface Write {
  operation: AnyOperation
  ids: Ids
  query?: string
  body: unknown
  ifMatch: string | undefined
  idempotencyKey: string | undefined
  /** Current state of the key. */
  asker(): Asker
  /** Refusals that precede the lookup of the idempotency record. */
  refused(): Refusal | undefined
  /** Decides, and changes the model if accepted; changes that need the answer happen in `result`. */
  apply(): Outcome
}

export const invalidBody: Refusal = { status: 400, code: 'invalid_body' }
export const nothingToUpdate: Refusal = { status: 400, code: 'nothing_to_update' }
export const versionMismatch: Refusal = { status: 412, code: 'version_mismatch' }
export const notFound: Refusal = { status: 404, code: 'not_found' }

export function operationOf(id: string): AnyOperation {
  const operation = operationsById.get(id)
  assert.ok(operation, `there is no operation ${id}`)
  return operation
}

export function newMemory(): Memory {
  return { remembered: new Map(), keyed: [], activities: [] }
}

export function count(real: Real, what: string): void {
  real.counts.set(what, (real.counts.get(what) ?? 0) + 1)
}

interface Sent {
  query?: string | undefined
  key?: Key
  body?: unknown
  headers?: Record<string, string>
}

/** Sends one request, and counts it by operation. */
export async function ask(real: Real, operation: AnyOperation, ids: Ids, sent: Sent = {}): Promise<TestResponse> {
  const { query = '', key = real.key, body, headers = {} } = sent
  const path = pathOf(operation, { organizationId: real.organizationId, ...ids }) + query
  count(real, operation.id)
  return real.app.request(operation.method, path, {
    key,
    body,
    address: freshAddress(),
    headers: { accept: 'application/problem+json', ...headers },
  })
}

/** Sends a change, and compares the answer with the model. */
export async function write(memory: Memory, real: Real, change: Write): Promise<void> {
  const { operation, ids, query, body, ifMatch, idempotencyKey } = change
  const asker = change.asker()
  const keyName = idempotencyKey === undefined ? undefined : `${asker.key.keyId} ${idempotencyKey}`
  const request = JSON.stringify([operation.id, ids, query, body])
  const refused = change.refused() ?? refusedIfMatch(change)
  const before = refused || keyName === undefined ? undefined : memory.remembered.get(keyName)
  const from = Date.now()
  const expected: Outcome = refused ?? (before ? repeated(before, request) : change.apply())
  const response = await ask(real, operation, ids, {
    query,
    key: asker.key,
    body,
    headers: {
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
  })
  const span = { from, to: Date.now() }
  const what = `${operation.id} ${JSON.stringify({ ids, query, body, ifMatch, idempotencyKey })} → ${response.text.slice(0, 1000)}`
  assert.equal(response.status, expected.status, what)
  if (expected.status !== 200) {
    count(real, (expected as Refusal).code)
    count(real, `${operation.id} ${(expected as Refusal).code}`)
    assert.equal(response.body.code, (expected as Refusal).code, what)
    return
  }

  const { result, warning, activity } = expected as Acceptance
  count(real, before ? 'replayed' : activity ? 'changed' : 'unchanged')
  count(real, `${operation.id} 200`)
  assert.deepEqual(response.body.result, result(response.body.result, span, response), what)
  if (warning !== undefined) assert.equal(response.headers.warning !== undefined, warning, what)
  if (activity) {
    const requestId = String(response.headers['x-request-id'])
    memory.activities.push({ ...activity, requestId, actorId: asker.id })
  }
  if (keyName !== undefined && !before) {
    memory.remembered.set(keyName, { request, answer: answerOf(response) })
    memory.keyed.push(change)
  }
  // All writes of a request have one timestamp; distinct timestamps give "newest first" one order.
  while (Date.now() === span.to) await nextTurn()
}

/** Parts of the answer that a repeated request must return. */
function answerOf({ body, headers }: TestResponse): Json {
  return { result: body.result, etag: headers.etag, warning: headers.warning }
}

function repeated(before: { request: string; answer: Json }, request: string): Outcome {
  if (before.request !== request) return { status: 409, code: 'idempotency_key_reused' }
  return {
    status: 200,
    result: (answered, _span, response) => {
      assert.deepEqual(answerOf(response), before.answer)
      return answered
    },
  }
}

function refusedIfMatch({ operation, ifMatch }: Write): Refusal | undefined {
  return ifMatch === undefined || takesIfMatch(operation) ? undefined : { status: 400, code: 'invalid_header' }
}

/** Checks a timestamp that the server chose during the request. */
export function timestampIn(timestamp: unknown, { from, to }: Span): string {
  assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const ms = Date.parse(timestamp as string)
  assert.ok(from <= ms && ms <= to, `${timestamp} is not between ${from} and ${to}`)
  return timestamp as string
}

/** All pages of a list; every page but the last must be full. */
export async function readList(
  real: Real,
  operationId: string,
  ids: Ids,
  { limit, query = '', key }: { limit: number; query?: string; key?: Key },
): Promise<Json[]> {
  const operation = operationOf(operationId)
  const items: Json[] = []
  let next: string | undefined = `?limit=${limit}${query}`
  while (next !== undefined) {
    const response = await ask(real, operation, ids, { query: next, ...(key ? { key } : {}) })
    assert.equal(response.status, 200, response.text)
    const { result } = response.body
    items.push(...result)
    const link = /^<([^>]+)>; rel="next"$/.exec(String(response.headers.link ?? ''))?.[1]
    assert.ok(result.length === limit || (result.length < limit && link === undefined), `a page of ${result.length}`)
    next = link?.slice(link.indexOf('?'))
  }
  return items
}

/** The list has exactly the expected activities, newest first. */
export async function checkActivities(
  { activities }: Memory,
  real: Real,
  {
    limit,
    type,
    key,
    nameOf,
  }: { limit: number; type?: string; key?: Key; nameOf?(actorId: string): string | undefined },
): Promise<Json[]> {
  const query = type === undefined ? '' : `&type=${type}`
  const listed = await readList(real, 'listActivities', {}, { limit, query, ...(key ? { key } : {}) })
  const expected = activities.filter((activity) => type === undefined || activity.type === type).toReversed()
  assert.deepEqual(
    listed.map((activity) => [activity.type, activity.requestId, activity.target]),
    expected.map((activity) => [activity.type, activity.requestId, activity.target]),
    'a change without its activity, or an activity without its change',
  )
  for (const [index, { changes, actor }] of listed.entries()) {
    const { changes: expectedChanges, actorId } = expected[index]!
    if (expectedChanges) assert.deepEqual(byField(changes), byField(expectedChanges))
    if (actorId === undefined) continue
    const name = nameOf?.(actorId)
    assert.deepEqual(actor, { type: 'key', id: actorId, ...(name === undefined ? {} : { name }) })
  }
  return listed
}

function byField(changes: Json[]): Json[] {
  return changes.toSorted((a, b) => (a.field < b.field ? -1 : 1))
}

/** Whether `If-Match` allows a change of a resource with this ETag. */
export function matches(ifMatch: string | undefined, tag: string): boolean {
  return ifMatch === undefined || ifMatch === '*' || ifMatch.split(', ').includes(tag)
}

/** `ifMatchOf` turns the kind into a header when the ETag is known. */
export const ifMatchKinds = fc.constantFrom(
  'none',
  'none',
  'none',
  'current',
  'current',
  'list',
  'any',
  'stale',
  'weak',
)

export function ifMatchOf(kind: string, tag: string, stale = '"0.0"'): string | undefined {
  if (kind === 'none') return undefined
  if (kind === 'any') return '*'
  if (kind === 'stale') return stale
  if (kind === 'weak') return `W/${tag}`
  return kind === 'list' ? `"0.0", ${tag}` : tag
}

export const idempotencyKeys: fc.Arbitrary<string | undefined> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.nat(12).map((number) => `k${number}`) },
)

/** fast-check also generates objects without a prototype, which JSON.parse never returns. */
export const plainly = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  value.map((made) => structuredClone(made))

/** Mostly absent: a body with many fields is nearly always refused because of one of them. */
export const sparsely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

export type Command<Model extends Memory> = fc.AsyncCommand<Model, Real>

export function command<Model extends Memory>(
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
): Command<Model> {
  return { check: () => true, run, toString: () => name }
}

/** Repeats an earlier request with its idempotency key, as a client without an answer does. */
export function repeatCommand<Model extends Memory>(): fc.Arbitrary<Command<Model>> {
  return fc.nat(9).map((back) =>
    command(`repeat ${back}`, async (model, real) => {
      const change = model.keyed.at(-1 - (back % Math.max(1, model.keyed.length)))
      if (change) await write(model, real, change)
    }),
  )
}

export interface Story<Model extends Memory> {
  makeWorld(app: TestApp, counts: Map<string, number>): Promise<{ model: Model; real: Real }>
  /** Commands at the start of every sequence. */
  beginning?: Command<Model>[]
  commands: fc.Arbitrary<Command<Model>>[]
  /** Fixed sequence that runs once first, so that every required outcome occurs. */
  tour?: Iterable<Command<Model>>
  checkEverything(model: Model, real: Real): Promise<void>
}

/** Runs this many sequences, reproducible by the seed. Returns the number of outcomes by kind. */
export async function runStory<Model extends Memory>(
  app: TestApp,
  story: Story<Model>,
  runs: number,
  seed: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const runSequence = async (sequence: Iterable<Command<Model>>): Promise<void> => {
    const world = await story.makeWorld(app, counts)
    if (story.beginning) await fc.asyncModelRun(async () => world, story.beginning)
    await fc.asyncModelRun(async () => world, sequence)
    await story.checkEverything(world.model, world.real)
  }
  if (story.tour) await runSequence(story.tour)
  const sequences = fc.commands(story.commands, { maxCommands: 40, size: 'max' })
  await fc.assert(fc.asyncProperty(sequences, runSequence), { numRuns: runs, seed })
  return counts
}
