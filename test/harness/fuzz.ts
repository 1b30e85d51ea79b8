// S2: invalid input never breaks Penstock. Requests are generated from the shapes of the operations, so that a new operation is
// covered: some are valid, some violate their shape in one field, some are not JSON. No answer is a 5xx, no invalid request is
// accepted, and accepted requests match their shape.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { medianMs, timeBareStart } from '../../chaos/system/bare-start.ts'
import { isObject } from '../../src/lib/merge-patch.ts'
import type { Schema } from '../../src/lib/schema.ts'
import { shapeProblems } from '../../src/lib/shape.ts'
import type { AnyOperation } from '../../src/operation/operation.ts'
import { operations } from '../../src/operations.ts'
import type { TestApp, TestResponse } from './test-app.ts'
import { asker, asksEngine, freshAddress, type Ids, makeIds, pathOf } from './world.ts'

export interface FuzzCounts {
  requests: number
  byStatus: Record<number, number>
  /** Sent and accepted requests by operation. */
  byOperation: Record<string, { sent: number; accepted: number }>
  slowestMs: number
  /** Requests that were too slow once, but not when repeated. */
  hiccups: number
}

interface Attempt {
  operation: AnyOperation
  path: string
  /** The body as text; undefined without a body. */
  text: string | undefined
  headers: Record<string, string>
  /** Why the request must be refused; undefined if it may be accepted. */
  broken: string | undefined
}

/** Deleted ids would only get 404. */
const renewEvery = 200
/** CPU time, which depends less on other load than elapsed time. */
const slowestAllowedMs = 250
/** On slow machines: as long as this many bare starts. */
const allowedBareStarts = 3
const bareStarts = 5
/** Attempts for a slow request: a slow input is slow each time, a garbage collection is not. */
const mostTries = 3
/** Rate of requests that a garbage collection may hit. */
const requestsPerHiccup = 2_000

export async function fuzz(app: TestApp, count: number, seed: number): Promise<FuzzCounts> {
  const figures: FuzzCounts = { requests: 0, byStatus: {}, byOperation: {}, slowestMs: 0, hiccups: 0 }
  const { sample } = app
  let ids: Ids = {}
  let emptyServiceId = ''
  const chance = randomNumbers(seed)
  const oneOf = <Item>(list: readonly Item[]): Item => list[Math.floor(chance() * list.length)]!
  let allowedMs = slowestAllowedMs

  for (let number = 0; number < count; number++) {
    if (number % renewEvery === 0) {
      allowedMs = slowestAllowedMs
      const userId = await app.addMember(sample.organizationId, 'developer')
      const given = { organizationId: sample.organizationId, userId, serviceId: sample.serviceId }
      ids = await makeIds(app, app.admin, given)
      emptyServiceId = (await asker(app, app.admin, given)('createService')).body.result.id
    }
    const operation = oneOf(operations)
    // The service of the sample has pipes, and is never deleted.
    const its = operation.id === 'deleteService' ? { ...ids, serviceId: emptyServiceId } : ids
    const attempt = makeAttempt(operation, its, { chance, oneOf, seed: seed + number })
    const first = await send(app, attempt)
    check(attempt, first.response)
    let tookMs = first.tookMs
    for (let tries = 1; tookMs >= allowedMs && tries < mostTries; tries++) {
      // Without the idempotency key, which would only return the stored answer.
      const { 'idempotency-key': _, ...headers } = attempt.headers
      tookMs = Math.min(tookMs, (await send(app, { ...attempt, headers })).tookMs)
    }
    // Also for requests that were slow only once: on a slow machine garbage collections take longer and hit more requests.
    if (first.tookMs >= allowedMs) allowedMs = await allowedNow()
    assert.ok(tookMs < allowedMs, `${tookMs} ms, ${allowedMs} allowed: ${describe(attempt, first.response)}`)
    if (first.tookMs >= allowedMs) figures.hiccups++
    const { response } = first
    figures.requests++
    figures.slowestMs = Math.max(figures.slowestMs, tookMs)
    figures.byStatus[response.status] = (figures.byStatus[response.status] ?? 0) + 1
    figures.byOperation[attempt.operation.id] ??= { sent: 0, accepted: 0 }
    const operationFigures = figures.byOperation[attempt.operation.id]!
    operationFigures.sent++
    if (response.status === 200) operationFigures.accepted++
  }
  assert.ok(figures.hiccups <= 1 + count / requestsPerHiccup, `${figures.hiccups} of ${count} took too long at first`)
  return figures
}

async function allowedNow(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-pace-'))
  try {
    const times: number[] = []
    for (let start = 0; start < bareStarts; start++) times.push(await timeBareStart(folder))
    return Math.max(slowestAllowedMs, allowedBareStarts * medianMs(times))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function send(app: TestApp, attempt: Attempt): Promise<{ response: TestResponse; tookMs: number }> {
  const cpuBefore = process.cpuUsage()
  const response = await app.request(attempt.operation.method, attempt.path, {
    address: freshAddress(),
    headers: attempt.headers,
    ...(attempt.text === undefined ? {} : { text: attempt.text }),
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  return { response, tookMs: (user + system) / 1_000 }
}

/** Numbers from 0 to 1, reproducible by the seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function describe({ operation, path, headers, text }: Attempt, response: TestResponse): string {
  return `${operation.method} ${path} ${JSON.stringify(headers)} ${text?.slice(0, 2000)} → ${response.status} ${response.text.slice(0, 1000)}`
}

function check(attempt: Attempt, response: TestResponse): void {
  const { operation, broken } = attempt
  const what = () => describe(attempt, response)
  const isEngineAway = response.status === 503 && asksEngine.includes(operation.id)
  assert.ok(response.status < 500 || isEngineAway, what())
  if (broken) assert.ok(response.status >= 400, `accepted although ${broken}: ${what()}`)
  if (response.status !== 200) {
    assert.deepEqual(Object.keys(response.body), ['error', 'status'], what())
    return
  }
  if (operation.textType || operation.method === 'DELETE') return
  assert.deepEqual(shapeProblems(operation.result, response.body.result), [], what())
}

interface Chooser {
  chance(): number
  oneOf<Item>(list: readonly Item[]): Item
  seed: number
}

function makeAttempt(operation: AnyOperation, ids: Ids, chooser: Chooser): Attempt {
  const { chance, oneOf } = chooser
  const attempt: Attempt = { operation, path: '', text: undefined, headers: {}, broken: undefined }
  const changed: Ids = {}
  if (chance() < 0.1) {
    const names = Object.keys(operation.params.properties)
    if (names.length > 0) changed[oneOf(names)] = encode(oneOf(strangeTexts)) || '%20'
  }
  attempt.path = pathOf(operation, { ...ids, ...changed }) + makeQuery(operation, attempt, chooser)
  if (chance() < 0.1) attempt.headers['if-match'] = oneOf(['"1"', '*', '"1.1"', 'W/"1"', 'nonsense', '"', ''])
  if (chance() < 0.1) attempt.headers['idempotency-key'] = oneOf(['a', 'b', 'x'.repeat(255), 'x'.repeat(256), 'é', ' '])
  if (operation.body) makeBody(operation.body, attempt, chooser)
  return attempt
}

function makeQuery(operation: AnyOperation, attempt: Attempt, { chance, oneOf }: Chooser): string {
  if (chance() < 0.8) return ''
  const names = Object.keys(operation.query?.properties ?? {})
  const name = chance() < 0.7 && names.length > 0 ? oneOf(names) : oneOf(['unknown', '__proto__', 'toString', ''])
  if (!names.includes(name) && name !== '') attempt.broken = `the query parameter ${name} is unknown`
  const values = ['1', '0', '-1', '1001', 'true', 'x', '2026-01-01T00:00:00Z', 'WyJhIiwiYiJd', ...strangeTexts]
  return `?${encode(name)}=${encode(oneOf(values))}`
}

function makeBody(shape: Schema, attempt: Attempt, { chance, oneOf, seed }: Chooser): void {
  const value = fittingValue(shape, seed)
  const kind = chance()
  const example = attempt.operation.example.body
  if (kind < 0.1) {
    attempt.text = JSON.stringify(example)
  } else if (kind < 0.45) {
    attempt.text = JSON.stringify(value)
  } else if (kind < 0.9) {
    // Half of the requests start from an accepted body, so that the violation is their only error.
    const start = chance() < 0.5 && example !== undefined ? example : value
    const breakings = breakingsOf(shape, start)
    if (breakings.length === 0) {
      attempt.text = JSON.stringify(start)
      return
    }
    const { reason, apply } = oneOf(breakings)
    attempt.broken = reason
    attempt.text = JSON.stringify(apply())
  } else {
    const text = JSON.stringify(value)
    const at = Math.floor(chance() * text.length)
    attempt.text = oneOf([
      text.slice(0, at),
      `${text.slice(0, at)}${oneOf(strangeTexts)}${text.slice(at)}`,
      '',
      'null',
      '[]',
      '"text"',
      '1e999',
      '{"a":{"__proto__":{"admin":true}}}',
      '['.repeat(5000),
      `{"name":"${'x'.repeat(100_000)}"}`,
      oneOf(strangeTexts),
    ])
  }
}

/** A lone surrogate has no UTF-8 encoding. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

const strangeTexts = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '../..',
  '%',
  "'; DROP TABLE members; --",
  '{{7*7}}',
  '<script>',
  '𝒽𝑒𝓁𝓁𝑜',
  '‮gnirts',
  'é'.repeat(300),
  '00000000-0000-0000-0000-000000000000',
  'null',
  '-1',
  '1e400',
  'constructor',
]

const arbitraries = new Map<Schema, fc.Arbitrary<unknown>>()
const prepared = new Map<Schema, unknown[]>()

/** Generates a hundred values at a time, which is much faster. */
function fittingValue(shape: Schema, seed: number): unknown {
  let values = prepared.get(shape) ?? []
  if (values.length === 0) {
    const arbitrary = arbitraries.get(shape) ?? arbitraryOf(shape)
    arbitraries.set(shape, arbitrary)
    values = fc.sample(arbitrary, { numRuns: 100, seed })
    prepared.set(shape, values)
  }
  return values.pop()
}

/** Values that match the shape; other rules may still refuse them. */
function arbitraryOf(shape: Schema): fc.Arbitrary<unknown> {
  if (shape.anyOf) return fc.oneof(...(shape.anyOf as Schema[]).map(arbitraryOf))
  if (shape.enum) return fc.constantFrom(...(shape.enum as unknown[]))
  switch (shape.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({
        min: Math.max(shape.minimum ?? -1000, -(2 ** 31)),
        max: Math.min(shape.maximum ?? 1000, 2 ** 31 - 1),
      })
    case 'number':
      return fc.double({ min: shape.minimum ?? -1000, max: shape.maximum ?? 1000, noNaN: true })
    case 'array':
      return fc.array(arbitraryOf(shape.items as Schema), {
        minLength: shape.minItems ?? 0,
        maxLength: Math.min(shape.maxItems ?? 3, Math.max(3, shape.minItems ?? 0)),
      })
    case 'object': {
      const properties = shape.properties as Record<string, Schema>
      const fields = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, arbitraryOf(field)]))
      return fc.record(fields, { requiredKeys: shape.required as string[] })
    }
    default:
      return textOf(shape)
  }
}

function textOf(shape: Schema): fc.Arbitrary<string> {
  if (shape.format === 'uuid') return fc.uuid()
  if (shape.format === 'email') return fc.constantFrom('ada@northwind.example', 'g.h@northwind.example')
  if (shape.format === 'date-time') return fc.constantFrom('2027-01-31T12:00:00Z', '2020-02-29T23:59:59.999+02:00')
  const maxLength = Math.min(shape.maxLength ?? 40, 40)
  if (shape.pattern) return fc.oneof(fc.stringMatching(new RegExp(shape.pattern, 'u')), fc.string({ maxLength }))
  return fc.string({ unit: 'grapheme', minLength: shape.minLength ?? 0, maxLength })
}

interface Breaking {
  reason: string
  apply(): unknown
}

/** Every way to violate the shape in a single field. */
function breakingsOf(shape: Schema, value: unknown, path = 'the body'): Breaking[] {
  const replacedBy = (wrong: unknown, reason: string): Breaking => ({ reason: `${path} ${reason}`, apply: () => wrong })
  if (shape.anyOf) {
    const branches = (shape.anyOf as Schema[]).filter(({ type }) => type !== 'null')
    // A value that violates one branch may match another.
    return branches.length === 1 ? breakingsOf(branches[0]!, value, path) : []
  }
  const list: Breaking[] = []
  const isText = shape.type === 'string'
  list.push(
    replacedBy(isText ? 17 : 'text', 'has the wrong type'),
    replacedBy(isText ? { a: 1 } : [[]], 'has the wrong type'),
  )
  if (shape.enum) list.push(replacedBy('NEVER-A-VALUE', 'is not of the enum'))
  if (typeof shape.maximum === 'number') list.push(replacedBy(shape.maximum + 1, 'is too large'))
  if (typeof shape.minimum === 'number') list.push(replacedBy(shape.minimum - 1, 'is too small'))
  if (shape.type === 'integer') list.push(replacedBy(0.5, 'is not an integer'))
  if (typeof shape.maxLength === 'number') list.push(replacedBy('x'.repeat(shape.maxLength + 1), 'is too long'))
  if ((shape.minLength ?? 0) > 0) list.push(replacedBy('', 'is too short'))
  if (shape.type === 'array' && Array.isArray(value)) {
    const items = shape.items as Schema
    value.forEach((item, index) => {
      for (const inside of breakingsOf(items, item, `${path}[${index}]`)) {
        list.push({ ...inside, apply: () => value.with(index, inside.apply()) })
      }
    })
    if (typeof shape.maxItems === 'number' && value.length > 0) {
      const many = Array.from({ length: shape.maxItems + 1 }, () => value[0] as unknown)
      list.push(replacedBy(many, 'has too many items'))
    }
  }
  if (shape.type === 'object' && isObject(value)) {
    const properties = shape.properties as Record<string, Schema>
    for (const name of shape.required as string[]) {
      const { [name]: _, ...rest } = value
      list.push(replacedBy(rest, `lacks ${name}`))
    }
    for (const [name, field] of Object.entries(properties)) {
      if (value[name] === undefined || value[name] === null) continue
      for (const inside of breakingsOf(field, value[name], `${path}.${name}`)) {
        list.push({ ...inside, apply: () => ({ ...value, [name]: inside.apply() }) })
      }
    }
    if (shape.additionalProperties === false)
      list.push(replacedBy({ ...value, neverAField: 1 }, 'has an unknown field'))
  }
  return list
}
