// Pages that a sign-in with OpenID Connect may end at.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { oidcProblems, pageOfConsole } from './oidc.ts'

describe('the codes of failed sign-ins', () => {
  it('each have a sentence in the console and an explanation for operators', () => {
    for (const file of ['console/pages/sign-in-open-id-problem.tsx', 'docs/how-to/sign-in-with-openid-connect.md']) {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
      const explained = new Set([...text.matchAll(/\boidc_[a-z_]+/g)].map(([code]) => code))
      assert.deepEqual([...explained].sort(), Object.keys(oidcProblems).sort(), file)
    }
  })
})

describe('where a sign-in may end', () => {
  it('is a page of the console and nothing else', () => {
    for (const [to, page] of [
      ['/console/', '/console/'],
      ['/console/members?sort=name', '/console/members?sort=name'],
      ['/console/pipes/a%20b', '/console/pipes/a%20b'],
      ['/console/invitations/accept#inv_x', '/console/invitations/accept'],
      [undefined, '/console/'],
      ['', '/console/'],
      ['//evil.example/console/', '/console/'],
      ['https://evil.example/console/', '/console/'],
      ['/console', '/console/'],
      ['/console/../v1', '/console/'],
      ['/console/%2e%2e/v1', '/console/'],
      ['/console/\\evil.example', '/console/'],
      ['/console/\t/evil.example', '/console/'],
      ['/console/api/session', '/console/'],
      ['/console/oidc/start', '/console/'],
      ['/consoles/', '/console/'],
      [`/console/${'a'.repeat(2000)}`, '/console/'],
      ['/console/"><script>', '/console/%22%3E%3Cscript%3E'],
      ["/console/?a='><b", '/console/?a=%27%3E%3Cb'],
    ] as const) {
      assert.equal(pageOfConsole(to), page, to)
    }
  })
})
