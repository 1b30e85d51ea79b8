// R9: the rows of the operation table: who asks, what is sent, and what is expected.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { newId } from '../../src/lib/id.ts'
import { type AnyOperation, takesIfMatch } from '../../src/operation/operation.ts'
import type { Key } from '../harness/test-app.ts'
import type { Ids } from '../harness/world.ts'
import {
  ask,
  type Command,
  command,
  count,
  idempotencyKeys,
  ifMatchKinds,
  ifMatchOf,
  invalidBody,
  type Json,
  matches,
  notFound,
  type Outcome,
  operationOf,
  plainly,
  type Real,
  type Refusal,
  readList,
  versionMismatch,
  write,
} from './against-model.ts'
import {
  alive,
  type KeyThing,
  look,
  type Model,
  type Noun,
  newestFirst,
  pick,
  type Thing,
  thingSelector,
} from './lifecycle-world.ts'

interface By {
  /** Negative: the first key. */
  key: number
  secret: 'current' | 'previous' | 'older'
}

const askedBy: fc.Arbitrary<By> = fc.record({
  key: fc.constantFrom(-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3),
  secret: fc.constantFrom('current', 'current', 'current', 'current', 'previous', 'older'),
})

export const throttledAfter = 12

function keyOf({ keys }: Model, by: By): KeyThing {
  const [first, ...others] = keys
  const key = by.key < 0 || others.length === 0 ? first! : others[by.key % others.length]!
  return key.failures < throttledAfter ? key : first!
}

/** The secret that is sent. */
export function secretOf(key: KeyThing, { secret }: By): { text: string; isGood: boolean } {
  const last = key.secrets.length - 1
  const index = secret === 'current' ? last : secret === 'previous' ? last - 1 : last - 2
  if (index < 0 || key.failures >= throttledAfter) return { text: key.secrets[last]!, isGood: true }
  return { text: key.secrets[index]!, isGood: index === last || (index === last - 1 && key.previousIsGood) }
}

export const isExpired = (expireAt: string | null): boolean => expireAt !== null && Date.parse(expireAt) <= Date.now()

export const inside = '10.0.0.0/8'
export const outside = '192.0.2.0/24'

/** All requests come from addresses in 10.0.0.0/8. */
export const isLetIn = (list: { source: string }[]): boolean =>
  list.length === 0 || list.some(({ source }) => source === inside)

/** Why the key may not call the operation now. */
export function refusedTo(key: KeyThing, isGood: boolean, operation: AnyOperation): Refusal | undefined {
  const { state, expireAt, ipAccessList, roles } = key.shown
  if (key.gone || !isGood || state === 'disabled' || isExpired(expireAt)) {
    key.failures++
    return { status: 401, code: 'unauthorized' }
  }
  key.isUsed = true
  if (!isLetIn(ipAccessList)) return { status: 403, code: 'address_not_allowed' }
  if (operation.access === 'admin' && roles[0] !== 'admin') return { status: 403, code: 'role_not_allowed' }
  return undefined
}

export interface Row {
  operationId: string
  arbitrary: fc.Arbitrary<Command<Model>>
  /** The request with this choice; by default with the first key and without headers. */
  plain?(choice: Json, headers?: Partial<Common>): Command<Model>
}

interface Attempt<Kind extends Thing> {
  ids: Ids
  query?: string
  body?: unknown
  /** Refused because of its shape, before any lookup. */
  misshapen?: boolean
  /** Must exist. */
  in?: Thing
  /** The changed thing, if it has a version. */
  noun?: Noun<Kind>
  thing?: Kind
  decide(): Outcome
}

export interface Common {
  by: By
  ifMatchKind: string
  idempotencyKey: string | undefined
}

/** A row of the table that changes something. */
export function change<Choice, Kind extends Thing>(
  operationId: string,
  choices: fc.Arbitrary<Choice>,
  make: (model: Model, choice: Choice, asker: KeyThing, real: Real) => Attempt<Kind>,
): Row {
  const operation = operationOf(operationId)
  const common: fc.Arbitrary<Common> = fc.record({
    by: askedBy,
    ifMatchKind: ifMatchKinds,
    idempotencyKey: idempotencyKeys,
  })
  const commandOf = ({ by, ifMatchKind, idempotencyKey }: Common, choice: Choice) =>
    command<Model>(
      `${operationId} ${JSON.stringify({ by, ifMatchKind, idempotencyKey, ...choice })}`,
      async (model, real) => {
        const asker = keyOf(model, by)
        const attempt = make(model, choice, asker, real)
        const { ids, query, body, misshapen, thing } = attempt
        const ifMatch = await ifMatchFor(model, real, operation, attempt, ifMatchKind)
        await write(model, real, {
          operation,
          ids,
          ...(query === undefined ? {} : { query }),
          body,
          ifMatch,
          idempotencyKey,
          asker: () => ({ id: asker.id, key: { keyId: asker.shown.keyId, secret: secretOf(asker, by).text } }),
          refused: () =>
            refusedTo(asker, secretOf(asker, by).isGood, operation) ?? (misshapen ? invalidBody : undefined),
          apply: () => {
            if (attempt.in?.gone || thing?.gone) return notFound
            if (thing && attempt.noun && !matches(ifMatch, thing.tags.get(attempt.noun.state(thing)) ?? '')) {
              return versionMismatch
            }
            model.changeCount++
            return attempt.decide()
          },
        })
      },
    )
  return {
    operationId,
    arbitrary: plainly(fc.tuple(common, choices)).map(([headers, choice]) => commandOf(headers, choice)),
    plain: (choice, headers = {}) =>
      commandOf(
        { by: { key: -1, secret: 'current' }, ifMatchKind: 'none', idempotencyKey: undefined, ...headers },
        choice,
      ),
  }
}

async function ifMatchFor<Kind extends Thing>(
  model: Model,
  real: Real,
  operation: AnyOperation,
  { noun, thing, misshapen }: Attempt<Kind>,
  kind: string,
): Promise<string | undefined> {
  if (!takesIfMatch(operation)) return kind === 'any' && !misshapen ? '*' : undefined
  if (kind === 'none' || !noun || !thing) return undefined
  if (thing.gone) return '"0.0"'
  const state = noun.state(thing)
  if (!thing.tags.has(state)) await look(model, real, noun, thing)
  const stale = [...thing.tags].find(([seen]) => seen !== state)?.[1]
  return ifMatchOf(kind, thing.tags.get(state)!, stale)
}

/** A row of the table that reads. `run` is called with a permitted key. */
export function read<Choice>(
  operationId: string,
  choices: fc.Arbitrary<Choice>,
  run: (model: Model, real: Real, choice: Choice, key: Key, asker: KeyThing) => Promise<void>,
): Row {
  const operation = operationOf(operationId)
  const arbitrary = plainly(fc.tuple(askedBy, choices)).map(([by, choice]) =>
    command<Model>(`${operationId} ${JSON.stringify({ by, choice })}`, async (model, real) => {
      const asker = keyOf(model, by)
      const { text, isGood } = secretOf(asker, by)
      const key = { keyId: asker.shown.keyId, secret: text }
      const refused = refusedTo(asker, isGood, operation)
      if (!refused) {
        await run(model, real, choice, key, asker)
        count(real, `${operationId} 200`)
        return
      }
      const ids = { userId: newId(), invitationId: newId(), serviceId: newId(), activityId: newId() }
      const { status, body } = await ask(
        real,
        operation,
        { ...ids, keyId: newId(), pipeId: newId(), privateEndpointId: 'none' },
        { key },
      )
      assert.deepEqual([status, body.code], [refused.status, refused.code])
    }),
  )
  return { operationId, arbitrary }
}

export const lookAt = <Kind extends Thing>(noun: Noun<Kind>, things: (model: Model) => Kind[], none: () => Kind): Row =>
  read(noun.operationId, thingSelector, (model, real, choice, key) =>
    look(model, real, noun, pick(things(model), choice) ?? none(), key),
  )

/** Checks that a list has all things, each as it is read alone. */
export async function checkList<Kind extends Thing>(
  model: Model,
  real: Real,
  operationId: string,
  { noun, things, ids = {} }: { noun: Noun<Kind>; things: Kind[]; ids?: Ids },
  { limit, key }: { limit: number; key?: Key },
): Promise<void> {
  const listed = await readList(real, operationId, ids, { limit, ...(key ? { key } : {}) })
  const expected = newestFirst(alive(things), ({ shown }) => shown.createdAt ?? shown.joinedAt)
  assert.deepEqual(
    listed.map((item) => item.id ?? item.userId),
    expected.map(({ id }) => id),
    `${operationId}: all of them, the newest first`,
  )
  for (const [index, thing] of expected.entries()) {
    assert.deepEqual(listed[index], noun.show(model, thing, listed[index]))
  }
}

export const limits = fc.constantFrom(1, 2, 3, 5, 100)

export const listOf = <Kind extends Thing>(
  operationId: string,
  noun: Noun<Kind>,
  things: (model: Model) => Kind[],
): Row =>
  read(operationId, limits, (model, real, limit, key) =>
    checkList(model, real, operationId, { noun, things: things(model) }, { limit, key }),
  )
