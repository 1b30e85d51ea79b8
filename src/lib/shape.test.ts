import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { closed, Name, nullable, Port, Role, Slug, Tagged } from '../../test/harness/shapes.ts'
import { shapeProblems } from './shape.ts'
import { assertKnownKeywords } from './shape-keywords.ts'
import { fieldPath, type Shape } from './shape-rules.ts'

const details = (shape: Shape, value: unknown, options?: Parameters<typeof shapeProblems>[2]) =>
  shapeProblems(shape, value, options).map((problem) => problem.detail)
const field = (shape: Shape) => Type.Object({ x: Type.Optional(shape) }, closed)

const table: [rule: string, shape: Shape, value: unknown, expected: string[]][] = [
  ['type string', Type.String(), 'a', []],
  ['type string', Type.String(), null, ['x must be a string, not null']],
  ['type string', Type.String(), 5, ['x must be a string, not 5']],
  ['type string', Type.String(), { a: 1 }, ['x must be a string, not an object']],
  ['type string', Type.String(), ['a'], ['x must be a string, not a list']],
  ['type number', Type.Number(), 1.5, []],
  ['type number', Type.Number(), '1.5', ['x must be a number, not "1.5"']],
  ['type number', Type.Number(), Number.NaN, ['x must be a number, not NaN']],
  ['type integer', Type.Integer(), 3, []],
  ['type integer', Type.Integer(), 3.5, ['x must be an integer, not 3.5']],
  ['type integer', Type.Integer(), 1e21, ['x must be an integer, not 1e+21']],
  ['type boolean', Type.Boolean(), false, []],
  ['type boolean', Type.Boolean(), 'yes', ['x must be a boolean, not "yes"']],
  ['type null', Type.Null(), null, []],
  ['type null', Type.Null(), 0, ['x must be null, not 0']],
  ['type object', Type.Object({}), {}, []],
  ['type object', Type.Object({}), [], ['x must be an object, not a list']],
  ['type object', Type.Object({}), 'text', ['x must be an object, not "text"']],
  ['type array', Type.Array(Type.String()), [], []],
  ['type array', Type.Array(Type.String()), {}, ['x must be a list, not an object']],
  ['type array', Type.Array(Type.String()), true, ['x must be a list, not true']],
  ['unknown', Type.Unknown(), { any: ['thing', null] }, []],
  ['enum', Type.Enum(['admin', 'developer']), 'admin', []],
  ['enum', Type.Enum(['admin', 'developer']), 'owner', ['x must be one of admin, developer, not "owner"']],
  ['enum', Type.Enum(['admin', 'developer']), null, ['x must be one of admin, developer, not null']],
  [
    'enum',
    { type: 'string', enum: ['a b', '', '5', 'null', 'us-east-1'] },
    'z',
    ['x must be one of "a b", "", "5", "null", us-east-1, not "z"'],
  ],
  ['enum', { enum: [1, 2] }, '1', ['x must be one of 1, 2, not "1"']],
  ['const', Type.Literal('kafka'), 'kafka', []],
  ['const', Type.Literal('kafka'), 's3', ['x must be kafka, not "s3"']],
  ['const', Type.Literal(true), false, ['x must be true, not false']],
  ['range', Port, 1, []],
  ['range', Port, 65535, []],
  ['range', Port, 70000, ['x must be an integer between 1 and 65535, not 70000']],
  ['range', Port, '80', ['x must be an integer between 1 and 65535, not "80"']],
  ['minimum', Type.Number({ minimum: 0 }), -0.5, ['x must be a number of at least 0, not -0.5']],
  ['maximum', Type.Integer({ maximum: 9 }), 10, ['x must be an integer of at most 9, not 10']],
  ['length', Name, 'a'.repeat(255), []],
  ['length', Name, 'a'.repeat(300), ['x must have 1 to 255 characters, not 300']],
  ['length', Name, '', ['x must have 1 to 255 characters, not 0']],
  ['minLength', Type.String({ minLength: 1 }), '', ['x must have at least 1 character, not 0']],
  ['maxLength', Type.String({ maxLength: 2 }), 'abc', ['x must have at most 2 characters, not 3']],
  ['length', Type.String({ minLength: 3, maxLength: 3 }), 'ab', ['x must have exactly 3 characters, not 2']],
  ['length in code points', Type.String({ maxLength: 2 }), '😀😀', []],
  ['length in code points', Type.String({ minLength: 2 }), '😀', ['x must have at least 2 characters, not 1']],
  ['pattern', Slug, 'abc', []],
  ['pattern', Slug, 'aBc', ['x must be lowercase letters, not "aBc"']],
  ['pattern', Slug, 7, ['x must be lowercase letters, not 7']],
  ['pattern', Type.String({ pattern: '^.$' }), '😀', []],
  ['pattern', Type.String({ pattern: '^a+$' }), 'b', ['x must be text that matches ^a+$, not "b"']],
  ['format uuid', Type.String({ format: 'uuid' }), '0b7a8a1e-91c4-4c4d-8f0e-2b6a4f1c9d10', []],
  ['format uuid', Type.String({ format: 'uuid' }), '123', ['x must be a uuid, not "123"']],
  ['format email', Type.String({ format: 'email' }), 'Ann.Lee+x@mail.example.com', []],
  ['format email', Type.String({ format: 'email' }), 'ann@localhost', []],
  ['format email', Type.String({ format: 'email' }), 'ann@', ['x must be an email address, not "ann@"']],
  ['format email', Type.String({ format: 'email' }), 'a b@c.d', ['x must be an email address, not "a b@c.d"']],
  ['format email', Type.String({ format: 'email' }), 'a@b\n', ['x must be an email address, not "a@b\\n"']],
  ['format date-time', Type.String({ format: 'date-time' }), '2024-02-29T23:59:59.123456Z', []],
  ['format date-time', Type.String({ format: 'date-time' }), '2026-01-31T12:00:00+02:00', []],
  [
    'format date-time',
    Type.String({ format: 'date-time' }),
    '2026-02-30T12:00:00Z',
    ['x must be a date and time such as 2026-01-31T12:00:00Z, not "2026-02-30T12:00:00Z"'],
  ],
  [
    'format date-time',
    Type.String({ format: 'date-time' }),
    '2026-01-31',
    ['x must be a date and time such as 2026-01-31T12:00:00Z, not "2026-01-31"'],
  ],
  [
    'items',
    Type.Array(Role),
    ['admin', 'x', 5],
    ['x[1] must be one of admin, developer, not "x"', 'x[2] must be one of admin, developer, not 5'],
  ],
  ['minItems', Type.Array(Type.Number(), { minItems: 1 }), [], ['x must have at least 1 item, not 0']],
  ['maxItems', Type.Array(Type.Number(), { maxItems: 2 }), [1, 2, 3], ['x must have at most 2 items, not 3']],
  ['maxItems', Type.Array(Type.Number(), { minItems: 1, maxItems: 2 }), [1, 2, 3], ['x must have 1 to 2 items, not 3']],
  ['uniqueItems', Type.Array(Type.Unknown(), { uniqueItems: true }), ['a', 'b', 1, '1', true, null], []],
  [
    'uniqueItems',
    Type.Array(Type.String(), { uniqueItems: true }),
    ['a', 'b', 'a', 'a', 'b'],
    ['x must not repeat "a"', 'x must not repeat "b"'],
  ],
  [
    'uniqueItems',
    Type.Array(Type.Unknown(), { uniqueItems: true }),
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    ['x must not repeat an item, as x[1] does'],
  ],
  ['required', Type.Object({ role: Role, name: Type.Optional(Name) }), {}, ['x.role is required']],
  ['additionalProperties', Type.Object({ role: Role }), { role: 'admin', foo: 1 }, []],
  [
    'additionalProperties',
    Type.Object({ role: Role }, closed),
    { role: 'admin', foo: 1 },
    ['x.foo is not a known field'],
  ],
  [
    'additionalProperties',
    Type.Object({}, { additionalProperties: Type.String() }),
    { a: 'b', c: 5 },
    ['x.c must be a string, not 5'],
  ],
  [
    'additionalProperties',
    Type.Object({}, closed),
    { constructor: 1, 'a b': 2 },
    ['x.constructor is not a known field', 'x["a b"] is not a known field'],
  ],
  ['nullable', nullable(Port), null, []],
  ['nullable', nullable(Port), 80, []],
  ['nullable', nullable(Port), 0, ['x must be an integer between 1 and 65535 or null, not 0']],
  ['nullable', nullable(Type.String()), 0, ['x must be a string or null, not 0']],
  ['nullable', nullable(Slug), 'A', ['x must be lowercase letters or null, not "A"']],
  [
    'nullable',
    nullable(Type.Object({ a: Type.String() }, closed)),
    { b: 1 },
    ['x.b is not a known field', 'x.a is required'],
  ],
  ['nullable', nullable(Type.Object({ a: Type.String() }, closed)), [], ['x must be an object or null, not a list']],
  ['union of literals', Role, 'admin', []],
  ['union of literals', Role, 'owner', ['x must be one of admin, developer, not "owner"']],
  ['union of literals', nullable(Role), null, []],
  ['union of literals', nullable(Role), 'owner', ['x must be one of admin, developer or null, not "owner"']],
  [
    'union of literals',
    Type.Union([Type.Literal('admin'), Type.Literal('developer'), Type.Null()]),
    1,
    ['x must be one of admin, developer or null, not 1'],
  ],
  ['union', Type.Union([Type.String(), Type.Integer()]), true, ['x must be a string or an integer, not true']],
  [
    'union',
    Type.Union([Type.Literal('auto'), Port]),
    'x',
    ['x must be auto or an integer between 1 and 65535, not "x"'],
  ],
  ['union', Type.Union([Type.Literal('auto'), Port]), 0, ['x must be an integer between 1 and 65535, not 0']],
  ['union', Tagged, { type: 's3', bucket: 'b' }, []],
  ['union', Tagged, { type: 'kafka' }, ['x.brokers is required', 'x.topic is required', 'x.group is required']],
  ['union', Tagged, { bucket: 5 }, ['x.bucket must be a string, not 5', 'x.type is required']],
  ['quoting', Type.Number(), 'a'.repeat(100), [`x must be a number, not "${'a'.repeat(64)}…"`]],
  ['quoting', Type.Number(), `${'a'.repeat(63)}😀b`, [`x must be a number, not "${'a'.repeat(63)}…"`]],
]

describe('shapeProblems', () => {
  for (const [rule, shape, value, expected] of table) {
    it(`${rule}: ${JSON.stringify(value).slice(0, 60)} → ${expected.join('; ').slice(0, 90) || 'fits'}`, () => {
      const whole = field(shape)
      assertKnownKeywords(whole)
      assert.deepEqual(details(whole, { x: value }), expected)
      assert.deepEqual(details(whole, {}), [])
    })
  }

  it('returns all problems at once, each with its path', () => {
    const shape = Type.Object(
      { role: Role, port: Port, columns: Type.Array(Type.Object({ name: Name }, closed)) },
      closed,
    )
    assert.deepEqual(shapeProblems(shape, { rol: 'admin', port: 0, columns: [{ name: 'a' }, { name: '' }, {}] }), [
      { path: 'rol', detail: 'rol is not a known field, did you mean "role"?' },
      { path: 'port', detail: 'port must be an integer between 1 and 65535, not 0' },
      { path: 'columns[1].name', detail: 'columns[1].name must have 1 to 255 characters, not 0' },
      { path: 'columns[2].name', detail: 'columns[2].name is required' },
      { path: 'role', detail: 'role is required' },
    ])
  })

  it('names the root', () => {
    const shape = Type.Object({ a: Type.String() })
    assert.deepEqual(shapeProblems(shape, []), [{ path: '', detail: 'the body must be an object, not a list' }])
    assert.deepEqual(details(shape, undefined), ['the body is required'])
    assert.deepEqual(details(shape, 5, { at: 'the query' }), ['the query must be an object, not 5'])
    assert.deepEqual(details(shape, {}, { at: 'the query' }), ['a is required'])
    assert.deepEqual(shapeProblems(shape, 5, { at: 'columns[2]' }), [
      { path: 'columns[2]', detail: 'columns[2] must be an object, not 5' },
    ])
    assert.deepEqual(shapeProblems(shape, {}, { at: 'columns[2]' }), [
      { path: 'columns[2].a', detail: 'columns[2].a is required' },
    ])
  })

  it('takes undefined for absent', () => {
    const shape = Type.Object({ a: Type.String(), b: Type.Optional(Type.String()) }, closed)
    assert.deepEqual(details(shape, { a: undefined, b: undefined, c: undefined }), ['a is required'])
  })

  it('lists a hundred problems and says that there are more', () => {
    const list = Array.from({ length: 5000 }, () => 'x')
    for (const shape of [Type.Array(Type.Number()), Type.Union([Type.Array(Type.Number()), Type.Array(Type.Null())])]) {
      const problems = shapeProblems(shape, list)
      assert.equal(problems.length, 101)
      assert.deepEqual(problems.at(-1), { path: '', detail: 'the body has more problems than the 100 that are listed' })
      assert.equal(shapeProblems(shape, list.slice(0, 100)).length, 100)
    }
  })

  it('suggests the known field that was meant', () => {
    const shape = Type.Object({ role: Role, userId: Type.String(), id: Type.String() }, closed)
    const meant = (key: string) => details(shape, { role: 'admin', userId: 'u', id: 'i', [key]: 1 })
    assert.deepEqual(meant('rolle'), ['rolle is not a known field, did you mean "role"?'])
    assert.deepEqual(meant('rl'), ['rl is not a known field, did you mean "role"?'])
    assert.deepEqual(meant('USERID'), ['USERID is not a known field, did you mean "userId"?'])
    assert.deepEqual(meant('user_id'), ['user_id is not a known field, did you mean "userId"?'])
    assert.deepEqual(meant('foo'), ['foo is not a known field'])
    assert.deepEqual(meant('xy'), ['xy is not a known field'])
    assert.deepEqual(meant('k'.repeat(70)), [`${'k'.repeat(64)}… is not a known field`])
  })

  it('never quotes a secret or its length', () => {
    const secret = 'hunter2'
    const marked = [{ secret: true }, { writeOnly: true }, { unquoted: true }]
    const shapes = marked.flatMap((mark): [Shape, unknown, string][] => [
      [Type.String({ minLength: 20, ...mark }), secret, 'x must have at least 20 characters'],
      [Type.String({ maxLength: 3, ...mark }), secret, 'x must have at most 3 characters'],
      [Type.String({ pattern: '^a$', patternHint: 'a token', ...mark }), secret, 'x must be a token'],
      [Type.String({ format: 'uuid', ...mark }), secret, 'x must be a uuid'],
      [Type.Enum(['a', 'b'], mark), secret, 'x must be one of a, b'],
      [Type.Literal('a', mark), secret, 'x must be a'],
      [Type.Union([Type.Literal('a'), Type.Literal('b')], mark), secret, 'x must be one of a, b'],
      [Type.Integer(mark), secret, 'x must be an integer, not a string'],
      [Type.Integer(mark), 77.5, 'x must be an integer'],
      [Type.Integer({ maximum: 3, ...mark }), 775, 'x must be an integer of at most 3'],
      [Type.String(mark), 775, 'x must be a string, not a number'],
      [Type.String(mark), null, 'x must be a string, not null'],
      [nullable(Type.String({ maxLength: 3, ...mark })), secret, 'x must have at most 3 characters'],
      [nullable(Type.String(mark)), 775, 'x must be a string or null, not a number'],
      [Type.Union([Type.String(), Type.Null()], mark), 775, 'x must be a string or null, not a number'],
      [Type.Union([Type.Number(mark), Type.Boolean()]), secret, 'x must be a number or a boolean, not a string'],
      [
        Type.Object({ password: Type.Number() }, mark),
        { password: secret },
        'x.password must be a number, not a string',
      ],
      [Type.Object({ password: Type.String(mark) }), secret, 'x must be an object, not a string'],
      [Type.Array(Type.String(mark)), secret, 'x must be a list, not a string'],
      [Type.Array(Type.String(), { maxItems: 1, ...mark }), [secret, 'b'], 'x must have at most 1 item'],
      [
        Type.Array(Type.String(), { uniqueItems: true, ...mark }),
        [secret, secret],
        'x must not repeat an item, as x[1] does',
      ],
      [
        Type.Array(Type.String(mark), { uniqueItems: true }),
        [secret, secret],
        'x must not repeat an item, as x[1] does',
      ],
    ])
    for (const [shape, value, expected] of shapes) assert.deepEqual(details(field(shape), { x: value }), [expected])
  })

  it('removes passwords from quotes where a host or a name is expected', () => {
    for (const [sent, shown] of [
      ['postgres://reader:hunter2@db.example.com/shop', 'postgres://***@db.example.com/shop'],
      ['reader:hunter2@db.example.com', '***@db.example.com'],
      ['reader:hunt@er2@db.example.com', '***@db.example.com'],
      ['reader:hunter2//@db.example.com', '***@db.example.com'],
      ['host=db user=reader password=hunter2', 'host=db user=reader password=***'],
      ["host=db Password = 'hunt er2' user=reader", 'host=db Password =***'],
      ['jdbc:postgresql://db/shop?user=a&password=hunter2', 'jdbc:postgresql://db/shop?user=a&password=***'],
      ['AccountName=a;AccountKey=hunter2==', 'AccountName=a;AccountKey=***'],
      ['-----BEGIN EC PRIVATE KEY-----\nhunter2', '***'],
      ['ada@northwind.example', 'ada@northwind.example'],
    ]) {
      assert.deepEqual(details(field(Slug), { x: sent }), [`x must be lowercase letters, not "${shown}"`])
    }
  })

  it('tolerates fields that only the resource has, at the same path only', () => {
    const shape = Type.Object(
      {
        name: Type.Optional(Name),
        source: Type.Optional(
          nullable(Type.Object({ kafka: Type.Optional(Type.Object({ topics: Type.String() }, closed)) }, closed)),
        ),
        columns: Type.Optional(Type.Array(Type.Object({ name: Name }, closed))),
        labels: Type.Optional(Type.Object({}, { additionalProperties: Type.String() })),
      },
      closed,
    )
    const echo = Type.Object({
      id: Type.String(),
      name: Name,
      source: nullable(Type.Object({ kafka: nullable(Type.Object({ type: Type.String(), topics: Type.String() })) })),
      columns: Type.Array(Type.Object({ name: Name, kind: Type.String() })),
      labels: Type.Object({ owner: Type.Number() }),
    })
    const body = { id: 5, name: 'n', source: { kafka: { type: null, topics: 't' } } }
    assert.deepEqual(details(shape, body, { echo }), [])
    assert.deepEqual(details(shape, body), ['id is not a known field', 'source.kafka.type is not a known field'])
    assert.deepEqual(details(shape, { type: 1, source: { id: 1 } }, { echo }), [
      'type is not a known field',
      'source.id is not a known field',
    ])
    assert.deepEqual(details(shape, { id: 1, name: '' }, { echo }), ['name must have 1 to 255 characters, not 0'])
    assert.deepEqual(details(shape, { columns: [{ name: 'a', kind: 'b' }] }, { echo }), [
      'columns[0].kind is not a known field',
    ])
    assert.deepEqual(details(shape, { labels: { owner: 5 } }, { echo }), ['labels.owner must be a string, not 5'])
  })
})

describe('fieldPath', () => {
  it('writes paths as people do', () => {
    assert.equal(fieldPath('', 'source'), 'source')
    assert.equal(fieldPath('source', 'kafka'), 'source.kafka')
    assert.equal(fieldPath('columns', 2), 'columns[2]')
    assert.equal(fieldPath('', 0), '[0]')
    assert.equal(fieldPath('columns[2]', 'name'), 'columns[2].name')
    assert.equal(fieldPath('', 'a b'), '"a b"')
    assert.equal(fieldPath('a', 'b"c'), 'a["b\\"c"]')
    assert.equal(fieldPath('a', ''), 'a[""]')
    assert.equal(fieldPath('a', 'k'.repeat(65)), `a.${'k'.repeat(64)}…`)
  })
})
