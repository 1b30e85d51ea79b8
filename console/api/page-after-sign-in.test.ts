import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageAfterSignIn } from './page-after-sign-in.ts'

test('a console page is accepted, with or without its prefix', () => {
  assert.equal(pageAfterSignIn('/o/1/keys?x=1'), '/console/o/1/keys?x=1')
  assert.equal(pageAfterSignIn('/console/o/1/keys?x=1'), '/console/o/1/keys?x=1')
  assert.equal(pageAfterSignIn(undefined), '/console/')
})

test('links to other sites are ignored', () => {
  for (const to of [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    '/console//evil.example',
    '/console/../../evil.example',
    '/consoles',
    ' /o/1',
    '',
  ]) {
    const page = pageAfterSignIn(to)
    assert.match(page, /^\/console(?:\/|$)/, to)
    assert.equal(new URL(page, 'https://penstock.example').origin, 'https://penstock.example', to)
  }
})
