import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addLosses, lossReason } from './losses.ts'

const shown = (...found: Parameters<typeof addLosses>[1]): string =>
  lossReason(found.reduce<string | null>((kept, loss) => addLosses(kept, [loss]), null)) ?? ''

it('counts a repeated loss once, and adds the difference when it has grown', () => {
  const at = (key: string, atMost: number) => ({ reason: 'gone', records: { atMost }, key })
  assert.match(shown(at('t/0 1', 5), at('t/0 1', 5), at('t/1 1', 2)), /^gone; up to 7 records are missing/)
  assert.match(shown(at('t/0 1', 5), at('t/1 1', 2), at('t/0 1', 8), at('t/0 1', 5)), /^gone; up to 10 records/)
  assert.match(
    shown({ reason: 'gone', key: 'a' }, { reason: 'gone', key: 'a' }),
    /^gone; how many records are missing is/,
  )
  assert.match(shown({ reason: 'gone', records: { atMost: 1 } }, { reason: 'gone', records: { atMost: 1 } }), /up to 2/)
})
