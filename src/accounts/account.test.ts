import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nameOf, passwordProblems } from './account.ts'

const email = 'amara.okafor@northwind.example'
const sentenceOf = (password: string): string | undefined => passwordProblems('password', password, email)[0]?.detail

describe('the rules of a password', () => {
  it('accept a long password of any characters', () => {
    for (const password of [
      'correct horse battery',
      'ходят слухи о дожде',
      'aaaaaaaaaabcdefgh',
      'my password is long',
      'x7!kQ2#vLp9$',
      '雨が降る前に帰ろうと思います',
      '😀😁😂🤣😃😄😅😆😉😊😋😎',
      `${'ab'.repeat(126)}cdef`,
    ]) {
      assert.equal(sentenceOf(password), undefined, password)
    }
  })

  it('count characters, not their halves', () => {
    const refused = 'password must have 12 to 256 characters'
    for (const password of ['', 'x7!kQ2#vLp9', '😀😁😂🤣😃😄', `${'ab'.repeat(127)}cde`]) {
      assert.equal(sentenceOf(password), refused, password)
    }
  })

  it('reject passwords that everybody tries first', () => {
    const email = 'must not be the email address'
    const few = 'must not repeat the same few characters'
    const sequence = 'must not be a sequence of neighbouring letters, digits or keys'
    const common = 'must not be a common word with digits or signs added: it is easy to guess'
    for (const [password, sentence] of [
      ['Amara.Okafor@northwind.example', email],
      ['amara.okafor', email],
      ['aaaaaaaaaaaa', few],
      ['abababababab', few],
      ['111122223333', few],
      ['abcdefghijkl', sequence],
      ['123456789012', sequence],
      ['987654321098', sequence],
      ['qwertyuiopasdf', sequence],
      ['POIUYTREWQlk', undefined],
      ['1qaz2wsx3edc', sequence],
      ['password1234', common],
      ['Password2026!', common],
      ['P@ssw0rd2026', common],
      ['passwordpassword', common],
      ['welcome_welcome_1', common],
      ['PenstockAdmin99', common],
    ] as const) {
      assert.equal(sentenceOf(password), sentence && `password ${sentence}`, password)
    }
  })

  it('point at the field and do not repeat the password', () => {
    assert.deepEqual(passwordProblems('newPassword', 'hunter2', email), [
      { path: 'newPassword', detail: 'newPassword must have 12 to 256 characters' },
    ])
  })
})

describe('the name that a provider gives', () => {
  it('is cleaned and cut', () => {
    assert.equal(nameOf('  Noor\u0000\nHaddad\u202e '), 'Noor Haddad')
    assert.equal(nameOf('\u200b '), undefined)
    assert.equal(nameOf(undefined), undefined)
    assert.equal(nameOf('😀'.repeat(150)), '😀'.repeat(100))
  })
})
