import assert from 'node:assert/strict'
import { it } from 'node:test'
import { asciiLowerCase } from './ascii-case.ts'

it('changes A to Z and no other letter', () => {
  for (let code = 0; code < 0x10000; code++) {
    const letter = String.fromCharCode(code)
    const expected = code >= 0x41 && code <= 0x5a ? String.fromCharCode(code + 32) : letter
    if (asciiLowerCase(letter) !== expected) assert.fail(`U+${code.toString(16)}`)
  }
  assert.equal(asciiLowerCase('Kim.ÖZ@\u212aELVIN.Example'), 'kim.Öz@\u212aelvin.example')
})
