import assert from 'node:assert/strict'
import { it } from 'node:test'
import { showRows } from './sample-rows.ts'

it('shows values that JSON cannot represent as text', () => {
  const [row] = showRows([
    {
      small: 7n,
      large: 2n ** 63n,
      infinite: Number.POSITIVE_INFINITY,
      at: new Date('2026-11-02T16:40:09.120Z'),
      never: new Date(Number.NaN),
      text: new TextEncoder().encode('größe'),
      bytes: new Uint8Array([0xff, 0xfe]),
      nothing: undefined,
      list: [1n, { deep: null }],
    },
  ])
  assert.deepEqual(row, {
    small: 7,
    large: '9223372036854775808',
    infinite: 'Infinity',
    at: '2026-11-02T16:40:09.120Z',
    never: null,
    text: 'größe',
    bytes: '//4=',
    nothing: null,
    list: [1, { deep: null }],
  })
})

it('cuts long values, never within a character', () => {
  const [row] = showRows([
    {
      text: 'x'.repeat(499) + '🪣'.repeat(3),
      bytes: new TextEncoder().encode(`${'a'.repeat(1999)}é`),
      list: Array(60).fill(1),
    },
  ])
  assert.equal(row!.text, `${'x'.repeat(499)}…`)
  assert.equal(row!.bytes, `${'a'.repeat(500)}…`)
  assert.equal((row!.list as unknown[]).length, 50)
  let deep: unknown = 'bottom'
  for (let depth = 0; depth < 100; depth++) deep = [deep]
  assert.match(JSON.stringify(showRows([{ deep }])), /^\[\{"deep":\[+"…"\]+\}\]$/)
})

it('limits the number of rows, further when they are long', () => {
  assert.equal(showRows(Array(100).fill({ a: 1 })).length, 20)
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`column ${index}`, 'x'.repeat(400)]))
  assert.equal(showRows(Array(20).fill(wide)).length, 1)
})
