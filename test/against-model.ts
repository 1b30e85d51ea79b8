// R9: what the models of the API have in common. fast-check makes up sequences of requests; every answer, every activity and
// at the end everything that is stored must be what a few lines of arithmetic in memory say. A model follows
// docs/contract.md, not the code.
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { type AnyOperation, takesIfMatch } from '../src/operation/operation.ts'
import { operationsById } from '../src/operations.ts'
import type { Key, TestApp, TestResponse } from './harness.ts'
import { freshAddress, type Ids, pathOf } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
export type Json = any

/** The Penstock that is asked. */
export interface Real {
  app: TestApp
  organizationId: string
  /** An admin key that works throughout. */
  key: Key
  /** How often which operation was asked, and with which outcome. */
  counts: Map<string, number>
}

/** What every model remembers. */
export interface Memory {
  /** What was sent with which idempotency key by whom, and the first answer. */
  remembered: Map<string, { request: string; answer: Json }>
  /** The requests that are remembered, to be repeated. */
  keyed: Write[]
  /** Oldest first. */
  activities: ExpectedActivity[]
}

export interface ExpectedActivity {
  type: string
  requestId: string
  actorId: string | undefined
  target: Record<string, string>
  /** Left out where a model does not tell them. */
  changes?: object[] | undefined
}

export interface Refusal {
  status: number
  code: string
}

/** When the request was on its way, for the moments that only the server knows. */
export interface Span {
  from: number
  to: number
}

export interface Acceptance {
  status: 200
  /** What the answer must be. What only the server can know is taken from the answer itself, after a look at it. */
  result(answered: Json, span: Span, response: TestResponse): unknown
  warning?: boolean
  /** Absent when nothing changes. */
  activity?: { type: string; target: Record<string, string>; changes?: object[] | undefined }
}

export type Outcome = Refusal | Acceptance

/** Who asks. */
export interface Asker {
  /** The id of the key's record. */
  id: string | undefined
  key: Key
}

/** A change as it goes over the wire, and what the model makes of it. */
export interface Write {
  operation: AnyOperation
  ids: Ids
  query?: string
  body: unknown
  ifMatch: string | undefined
  idempotencyKey: string | undefined
  /** As the key is at this moment. */
  asker(): Asker
  /** Refused before the record of its idempotency key is looked for. */
  refused(): Refusal | undefined
  /** Decides, and changes the model when it is accepted; what needs the answer is changed with `result`. */
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

/** Sends one request, which is counted by its operation. */
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

/** Sends a change, and compares the answer with the model's. */
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
  // Everything that a request makes is of one moment; with a moment to each, the newest first is an order.
  while (Date.now() === span.to) await nextTurn()
}

/** What a repeat must bring back. */
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

/** A moment that the server chose while it had the request. */
export function momentIn(moment: unknown, { from, to }: Span): string {
  assert.match(String(moment), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const ms = Date.parse(moment as string)
  assert.ok(from <= ms && ms <= to, `${moment} is not between ${from} and ${to}`)
  return moment as string
}

/** All pages of a list, each as long as it may be. */
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

/** Every change is there, the newest first, and nothing else. */
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

/** Whether `If-Match` lets a resource with this tag be changed. */
export function matches(ifMatch: string | undefined, tag: string): boolean {
  return ifMatch === undefined || ifMatch === '*' || ifMatch.split(', ').includes(tag)
}

/** `current` and its kin are made a header when the tag is known. */
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

/** fast-check also makes objects without a prototype, which no JSON has. */
export const plainly = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  value.map((made) => structuredClone(made))

/** Mostly absent: a body of many fields is nearly always refused for one of them. */
export const sparsely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

export type Command<Model extends Memory> = fc.AsyncCommand<Model, Real>

export function command<Model extends Memory>(
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
): Command<Model> {
  return { check: () => true, run, toString: () => name }
}

/** A client that got no answer sends the same again, however much has happened since. */
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
  /** What every sequence begins with. */
  beginning?: Command<Model>[]
  commands: fc.Arbitrary<Command<Model>>[]
  /** Run once before the others, always the same: what must be met is met. */
  tour?: Iterable<Command<Model>>
  checkEverything(model: Model, real: Real): Promise<void>
}

/** Runs so many sequences; the seed makes them again. Tells how often which outcome was seen. */
export async function runStory<Model extends Memory>(
  app: TestApp,
  story: Story<Model>,
  runs: number,
  seed: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const tell = async (sequence: Iterable<Command<Model>>): Promise<void> => {
    const world = await story.makeWorld(app, counts)
    if (story.beginning) await fc.asyncModelRun(async () => world, story.beginning)
    await fc.asyncModelRun(async () => world, sequence)
    await story.checkEverything(world.model, world.real)
  }
  if (story.tour) await tell(story.tour)
  const sequences = fc.commands(story.commands, { maxCommands: 40, size: 'max' })
  await fc.assert(fc.asyncProperty(sequences, tell), { numRuns: runs, seed })
  return counts
}
