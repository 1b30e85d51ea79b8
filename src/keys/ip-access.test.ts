import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressAllowed } from './ip-access.ts'

const listOf = (...sources: string[]) => JSON.stringify(sources.map((source) => ({ source, description: '' })))

describe('addressAllowed', () => {
  it('lets everyone in when the list is empty', () => {
    assert.equal(addressAllowed('[]', '192.0.2.7'), true)
  })

  const cases: [sources: string[], inside: string[], outside: string[]][] = [
    [['192.0.2.7'], ['192.0.2.7'], ['192.0.2.8', '::1']],
    [['192.0.2.0/24'], ['192.0.2.0', '192.0.2.255'], ['192.0.3.0', '192.0.1.255']],
    [['192.0.2.7/24'], ['192.0.2.0'], ['192.0.3.7']],
    [['0.0.0.0/0'], ['198.51.100.1'], ['2001:db8::1']],
    [['2001:db8::/32'], ['2001:db8:ffff::1'], ['2001:db9::1', '192.0.2.7']],
    [['2001:db8::1'], ['2001:db8::1', '2001:0db8:0:0::1'], ['2001:db8::2']],
    [['::ffff:192.0.2.7'], ['192.0.2.7'], ['192.0.2.8']],
    [
      ['192.0.2.7', '198.51.100.0/31', '::1'],
      ['192.0.2.7', '198.51.100.1', '::1'],
      ['198.51.100.2', '::2'],
    ],
  ]
  for (const [sources, inside, outside] of cases) {
    it(`with ${sources.join(', ')}`, () => {
      // Asked twice: the second time the list has been compiled already.
      for (let round = 0; round < 2; round++) {
        for (const address of inside) assert.equal(addressAllowed(listOf(...sources), address), true, address)
        for (const address of outside) assert.equal(addressAllowed(listOf(...sources), address), false, address)
      }
    })
  }

  it('mixes up no two of many lists', () => {
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 600; index++) {
        const address = `10.0.${index >> 8}.${index & 255}`
        assert.equal(addressAllowed(listOf(address), address), true)
        assert.equal(addressAllowed(listOf(address), '10.1.0.0'), false)
      }
    }
  })
})
