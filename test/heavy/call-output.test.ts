// Output of `penstock call`.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatResult, printable } from '../../src/cli/call-output.ts'
import { Type } from '../../src/lib/schema.ts'

describe('what penstock call prints', () => {
  it('contains no terminal control sequences', () => {
    assert.equal(printable('a\u001b[31mb\u202ec\u009bd\ne\tf'), 'a\\u001b[31mb\\u202ec\\u009bd\\ne\\tf')
    const shape = Type.Object({ name: Type.String() })
    assert.equal(formatResult(shape, { name: '\u001b]0;x\u0007' }, 80), 'name  \\u001b]0;x\\u0007\n')
    assert.equal(formatResult(Type.Array(shape), [{ name: '\u001b[2J' }], 80), 'name\n\\u001b[2J\n')
  })

  it('aligns fields, flattens objects and sums up long lists', () => {
    const result = {
      id: 'x',
      nothing: null,
      blank: '',
      nested: { deep: { on: true }, empty: {} },
      tags: ['a', 'b'],
      none: [],
      many: Array.from({ length: 12 }, (_, index) => index),
      parts: [{ name: 'p', inner: { a: 1 } }],
    }
    assert.equal(
      formatResult(Type.Object({}), result, 80),
      [
        'id              x',
        'nothing         -',
        'blank           ""',
        'nested.deep.on  true',
        'nested.empty    (none)',
        'tags            a, b',
        'none            (none)',
        'many            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more (see --json)',
        'parts[0]        name=p inner={"a":1}',
        '',
      ].join('\n'),
    )
    const parts = Array.from({ length: 11 }, (_, index) => ({ index }))
    assert.match(formatResult(Type.Object({}), { parts }, 80), /^parts\[9\] {2}index=9\nparts {5}and 1 more/m)
  })

  it('never shortens a secret that is shown once', () => {
    const keySecret = `pst_${'a'.repeat(300)}`
    assert.equal(formatResult(Type.Object({}), { keySecret }, 40), `keySecret  ${keySecret}\n`)
  })

  it('chooses the most important columns that fit', () => {
    const shape = Type.Array(
      Type.Object({
        description: Type.String(),
        createdAt: Type.String({ format: 'date-time' }),
        region: Type.String(),
        state: Type.Enum(['running', 'stopped']),
        endpoints: Type.Array(Type.Object({})),
        name: Type.String(),
        id: Type.String(),
        unset: Type.Optional(Type.String()),
      }),
    )
    const row = {
      description: 'a long description that takes much of the available width, and more than that',
      createdAt: '2026-11-02T16:40:09.120Z',
      region: 'eu-west-1',
      state: 'running',
      endpoints: [{}],
      name: 'orders',
      id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    }
    const columns = (width: number) => formatResult(shape, [row], width).split('\n')[0]!.split(/ +/)
    assert.deepEqual(columns(200), ['id', 'description', 'createdAt', 'region', 'state', 'name'])
    assert.deepEqual(columns(90), ['id', 'createdAt', 'region', 'state', 'name'])
    assert.deepEqual(columns(60), ['id', 'state', 'name'])
    assert.deepEqual(columns(10), ['id'])
    for (const line of formatResult(shape, [row], 90).split('\n')) assert.ok(line.length <= 90)
    assert.match(formatResult(shape, [row], 200), /a long description that takes much of the avail…/)
  })

  it('confirms an operation without a result', () => {
    assert.equal(formatResult(Type.Null(), null, 80), 'Done.\n')
  })
})
