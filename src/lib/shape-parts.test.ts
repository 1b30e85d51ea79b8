// Keywords, parts and echoes of shapes, and agreement with typebox.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { closed, Name, nullable, Port, Role, Slug, Tagged } from '../../test/harness/shapes.ts'
import { shapeProblems } from './shape.ts'
import { echoProblems } from './shape-echo.ts'
import { assertKnownKeywords } from './shape-keywords.ts'
import { pick } from './shape-pick.ts'
import type { Shape } from './shape-rules.ts'

describe('assertKnownKeywords', () => {
  it('accepts what is implemented, and annotations', () => {
    assertKnownKeywords(
      Type.Object(
        {
          a: Type.Optional(
            Type.Readonly(Type.String({ secret: true, 'x-order': 1, examples: ['a'], default: 'a', deprecated: true })),
          ),
          b: Type.Array(nullable(Port), { uniqueItems: true, minItems: 1 }),
          c: Type.Object({}, { additionalProperties: Type.Unknown() }),
        },
        {
          $id: 'thing',
          title: 'Thing',
          description: 'A thing',
          readOnly: true,
          writeOnly: false,
          additionalProperties: false,
        },
      ),
    )
  })

  const unknown: [Shape, string][] = [
    [Type.Object({ a: Type.Number({ multipleOf: 2 }) }), 'multipleOf (at a)'],
    [Type.Object({ a: Type.Array(Type.Number({ exclusiveMinimum: 2 })) }), 'exclusiveMinimum (at a[])'],
    [Type.Record(Type.String(), Type.String()), 'patternProperties'],
    [Type.Object({}, { minProperties: 1 }), 'minProperties'],
    [Type.Union([Type.Null(), Type.String({ format: 'ipv4' })]), 'format "ipv4"'],
    [Type.Object({}, { additionalProperties: Type.BigInt() }), 'type "bigint" (at "*")'],
    [{ type: ['string', 'null'] }, 'type ["string","null"]'],
    [Type.Intersect([Type.Object({})]), 'allOf'],
    [Type.Tuple([Type.String()]), 'additionalItems, a shape that is not an object (at [])'],
    [Type.Ref('Thing'), '$ref'],
    [Type.Refine(Type.String(), () => false), '~refine'],
    [{ enum: [{}] }, 'enum of values that are not scalars'],
    [{ const: 'a', enum: ['b'] }, 'enum beside const'],
    [{ minimum: '1' }, 'minimum that is not a number'],
    [
      Type.Object({ a: Type.Number({ multipleOf: 2, exclusiveMaximum: 3 }) }),
      'multipleOf (at a), exclusiveMaximum (at a)',
    ],
  ]
  for (const [shape, expected] of unknown) {
    it(`refuses ${expected}`, () => {
      assert.throws(
        () => assertKnownKeywords(shape),
        (err: Error) =>
          err.message.startsWith('the shape has rules that are not implemented: ') && err.message.includes(expected),
      )
    })
  }
})

describe('pick', () => {
  const Member = Type.Object({
    id: Type.String(),
    role: Role,
    address: Type.Optional(nullable(Type.Object({ city: Type.String() }))),
  })

  it('keeps only what is listed, in the order of the shape', () => {
    const picked = pick(Member, { hash: 'h', role: 'admin', id: 'm', address: { city: 'c', token: 't' } })
    assert.equal(JSON.stringify(picked), '{"id":"m","role":"admin","address":{"city":"c"}}')
    assert.deepEqual(pick(Member, { id: 'm', role: undefined, address: null }), { id: 'm', address: null })
    assert.deepEqual(pick(Type.Array(Member), [{ id: 'm', hash: 'h' }, { id: 'n' }]), [{ id: 'm' }, { id: 'n' }])
  })

  it('copies', () => {
    const value = { id: 'm', address: { city: 'c' } }
    const picked = pick(Member, value) as typeof value
    picked.address.city = 'd'
    assert.equal(value.address.city, 'c')
  })

  it('keeps every key where the shape lists any key', () => {
    const Labels = Type.Object({ z: Type.String() }, { additionalProperties: Type.Object({ a: Type.Number() }) })
    assert.equal(JSON.stringify(pick(Labels, { k: { a: 1, b: 2 }, z: 'z' })), '{"z":"z","k":{"a":1}}')
    assert.deepEqual(pick(Type.Object({}, { additionalProperties: true }), { a: { b: 1 } }), { a: { b: 1 } })
    assert.deepEqual(pick(Type.Object({}), { a: 1 }), {})
    assert.deepEqual(pick(Type.Unknown(), { a: { b: 1 } }), { a: { b: 1 } })
  })

  it('takes the branch of a union that fits', () => {
    assert.deepEqual(pick(Tagged, { type: 's3', bucket: 'b', secretKey: 's' }), { type: 's3', bucket: 'b' })
    assert.deepEqual(pick(Type.Union([Type.String(), Member]), { id: 'm', hash: 'h' }), { id: 'm' })
    assert.equal(pick(Type.Union([Type.String(), Member]), 'text'), 'text')
    assert.equal(pick(nullable(Role), null), null)
    assert.equal(pick(Role, 'unlisted'), 'unlisted')
  })

  it('drops an object where a scalar is expected, and the reverse', () => {
    assert.deepEqual(pick(Member, { id: { hash: 'h' }, role: ['x'], address: 'text' }), {})
    assert.equal(pick(Type.Array(Type.String()), { a: 1 }), undefined)
  })

  it('cannot be made to change a prototype', () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"a":1}')
    const picked = pick(Type.Object({}, { additionalProperties: true }), value) as object
    assert.equal(Object.getPrototypeOf(picked), Object.prototype)
    assert.deepEqual(Object.keys(picked), ['a'])
  })
})

describe('echoProblems', () => {
  const shape = Type.Object({
    name: Type.Optional(Type.String()),
    source: Type.Optional(
      nullable(Type.Object({ kafka: Type.Optional(nullable(Type.Object({ topics: Type.String() }))) })),
    ),
    labels: Type.Optional(Type.Object({}, { additionalProperties: Type.String() })),
  })
  const echo = Type.Object({
    id: Type.String(),
    name: Type.String(),
    stats: Type.Object({ rows: Type.Number(), bytes: Type.Number() }),
    tags: Type.Array(Type.String()),
    token: Type.String({ secret: true }),
    endedAt: nullable(Type.String()),
    later: Type.Optional(Type.String()),
    source: nullable(Type.Object({ kafka: nullable(Type.Object({ type: Type.String(), topics: Type.String() })) })),
    labels: Type.Object({ owner: Type.String() }),
  })
  const current = {
    id: 'p1',
    name: 'n',
    stats: { rows: 1, bytes: 2 },
    tags: ['a', 'b'],
    token: 'hunter2',
    endedAt: null,
    source: { kafka: { type: 'kafka', topics: 't' } },
    labels: { owner: 'ann' },
  }

  it('accepts the resource as it is, in any order', () => {
    assert.deepEqual(echoProblems(shape, echo, current, current), [])
    assert.deepEqual(echoProblems(shape, echo, { stats: { bytes: 2 }, name: 'changed', later: null }, current), [])
    assert.deepEqual(echoProblems(shape, echo, { source: null, labels: { owner: 'bob' } }, current), [])
    assert.deepEqual(echoProblems(shape, echo, null, current), [])
  })

  const changes: [body: unknown, path: string, detail: string][] = [
    [{ id: 'p2' }, 'id', 'id cannot be changed (it is "p1")'],
    [{ id: null }, 'id', 'id cannot be changed (it is "p1")'],
    [{ endedAt: 'now' }, 'endedAt', 'endedAt cannot be changed (it is null)'],
    [{ stats: { rows: 2 } }, 'stats.rows', 'stats.rows cannot be changed (it is 1)'],
    [{ stats: { rows: 1, lines: 1 } }, 'stats.lines', 'stats.lines cannot be set'],
    [{ tags: ['b', 'a'] }, 'tags', 'tags cannot be changed'],
    [{ token: 'x' }, 'token', 'token cannot be changed'],
    [{ later: 'x' }, 'later', 'later cannot be set'],
    [{ source: { kafka: { type: 's3' } } }, 'source.kafka.type', 'source.kafka.type cannot be changed (it is "kafka")'],
  ]
  for (const [body, path, detail] of changes) {
    it(detail, () => assert.deepEqual(echoProblems(shape, echo, body, current), [{ path, detail }]))
  }

  it('adds what to do instead, where there is a remedy', () => {
    const body = { id: 'p2', source: { kafka: { type: 's3' } } }
    const remedyFor = (path: string) => (path.startsWith('source.') ? 'make another' : undefined)
    assert.deepEqual(
      echoProblems(shape, echo, body, current, remedyFor).map(({ detail }) => detail),
      ['id cannot be changed (it is "p1")', 'source.kafka.type cannot be changed (it is "kafka"); make another'],
    )
  })

  it('refuses a read-only field of a part that the resource does not have', () => {
    const body = { source: { kafka: { type: 'kafka', topics: 't' } } }
    const expected = [{ path: 'source.kafka.type', detail: 'source.kafka.type cannot be set' }]
    assert.deepEqual(echoProblems(shape, echo, body, { ...current, source: null }), expected)
  })
})

describe('agreement with typebox', () => {
  const shapes: Record<string, Shape> = {
    scalars: Type.Object(
      { a: Type.String(), b: Type.Number(), c: Type.Integer(), d: Type.Boolean(), e: Type.Null() },
      closed,
    ),
    optional: Type.Object({ a: Type.Optional(Name), b: Type.Optional(Port), c: Type.Optional(Slug) }),
    map: Type.Object(
      { a: Type.Optional(Type.Number()) },
      { additionalProperties: nullable(Type.String({ minLength: 2 })) },
    ),
    list: Type.Array(Type.Union([Type.Integer({ minimum: 0 }), Type.String({ maxLength: 2 })]), {
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
    }),
    things: Type.Array(Type.Unknown(), { uniqueItems: true }),
    unions: Type.Object({
      a: nullable(Role),
      b: Type.Enum(['a', 'b', 1]),
      c: Type.Union([Type.Literal(1), Name, Type.Array(Port)]),
    }),
    tagged: Tagged,
    untyped: { minLength: 2, minimum: 1, required: ['a'], properties: { a: { type: 'string' } }, maxItems: 1 },
    uuid: Type.Object({ a: Type.Optional(Type.String({ format: 'uuid' })) }),
  }
  const text = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.constantFrom(
      'a',
      'b',
      'admin',
      'developer',
      'kafka',
      's3',
      '😀',
      'x'.repeat(300),
      '0b7a8a1e-91c4-4c4d-8f0e-2b6a4f1c9d10',
    ),
  )
  const number = fc.oneof(
    fc.integer({ min: -2, max: 3 }),
    fc.constantFrom(0.5, 65535, 65536),
    fc.double({ noNaN: true, noDefaultInfinity: true, max: 1e9, min: -1e9 }),
  )
  // Not `constructor`: typebox treats an object with such a key as an instance and finds false repeats.
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'type', 'brokers', 'topic', 'group', 'bucket', 'toString')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, text, number, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(key, tie('value'), { noNullPrototype: true, maxKeys: 6 }),
  }))
  const hits: Record<string, unknown[]> = {
    scalars: [{ a: 'a', b: 1.5, c: 1, d: true, e: null }],
    optional: [{ a: 'x', b: 1, c: 'abc' }],
    map: [{ a: 1, b: 'bb', c: null }],
    list: [[1, 'a', 2]],
    things: [[{ a: 1 }, { a: 2 }, [1], [2]]],
    unions: [{ a: null, b: 1, c: [1, 2] }],
    tagged: [
      { type: 'kafka', brokers: 'b', topic: 't', group: 'g' },
      { type: 's3', bucket: 'b' },
    ],
    untyped: [{ a: 'x' }, 'ab', 1, [1]],
    uuid: [{ a: '0b7a8a1e-91c4-4c4d-8f0e-2b6a4f1c9d10' }],
  }

  for (const [name, shape] of Object.entries(shapes)) {
    it(name, () => {
      assertKnownKeywords(shape)
      const mutated = fc
        .tuple(fc.constantFrom(...hits[name]!), fc.array(fc.tuple(fc.nat(5), value, key), { maxLength: 2 }))
        .map(([hit, edits]) => {
          const copy = structuredClone(hit)
          for (const [index, replacement, added] of edits) {
            if (typeof copy !== 'object' || copy === null) return replacement
            const keys = Object.keys(copy)
            const target = keys[index] ?? (Array.isArray(copy) ? String(copy.length) : added)
            Object.assign(copy, { [target]: replacement })
          }
          return copy
        })
      let accepted = 0
      fc.assert(
        fc.property(fc.oneof(value, mutated), (generated) => {
          const sent = JSON.parse(JSON.stringify(generated))
          const fits = shapeProblems(shape, sent).length === 0
          if (fits) accepted++
          assert.equal(fits, Value.Check(shape, sent))
        }),
        { numRuns: 1000 },
      )
      assert.ok(accepted > 50, `only ${accepted} of the values fit, too few to compare`)
    })
  }
})
