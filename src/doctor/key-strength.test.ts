import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { weaknessOf } from './key-strength.ts'

describe('the strength of keys', () => {
  it('accepts random bytes', () => {
    for (let time = 0; time < 2_000; time++) {
      const key = randomBytes(32).toString('base64')
      assert.equal(weaknessOf(key), undefined, key)
    }
  })

  it('detects keys that are not random', () => {
    const piece = randomBytes(8)
    const cases: [Buffer, string][] = [
      [Buffer.alloc(32), 'is one byte over and over'],
      [Buffer.alloc(32, 0xa7), 'is one byte over and over'],
      [Buffer.concat([piece, piece, piece, piece]), 'repeats a short piece'],
      [Buffer.from(Array.from({ length: 32 }, (_, at) => at)), 'counts up or down'],
      [Buffer.from(Array.from({ length: 32 }, (_, at) => 255 - 3 * at)), 'counts up or down'],
      [Buffer.from('correct horse battery staple xyz'), 'is text, not random bytes'],
      [
        Buffer.from(Array.from({ length: 32 }, (_, at) => 0x80 + ((at * at) % 19))),
        'has too few different bytes to be random',
      ],
    ]
    for (const [bytes, weakness] of cases) assert.equal(weaknessOf(bytes.toString('base64')), weakness)
  })
})
