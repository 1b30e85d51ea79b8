import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import { serveConsole } from './console-files.ts'
import { knowEveryMethod } from './methods.ts'

describe('the files of the console', () => {
  let folder: string
  const servers: FastifyInstance[] = []
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-files-'))
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'index.html'), '<html><meta name="style-nonce" content="{{nonce}}"></html>')
    writeFileSync(join(folder, 'built-from'), 'not for the world')
    for (const [ending, text] of [
      ['', 'plain'],
      ['.gz', 'gzipped'],
      ['.br', 'brotli'],
    ]) {
      writeFileSync(join(folder, `assets/main-a1_-.js${ending}`), text!)
      writeFileSync(join(folder, `penstock.svg${ending}`), text!)
    }
  })
  after(async () => {
    for (const server of servers) await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function serve(build?: () => Promise<void>): FastifyInstance {
    const server = Fastify()
    servers.push(server)
    knowEveryMethod(server)
    serveConsole(server, { folder, ...(build ? { build } : {}) })
    return server
  }

  it('200 the document at the URL of every page, with a new nonce each time', async () => {
    const server = serve()
    const nonces = new Set<string>()
    for (const url of ['/console', '/console/', '/console/sign-in', '/console/o/any/pipes?state=Running']) {
      const { statusCode, headers, body } = await server.inject(url)
      assert.equal(statusCode, 200, url)
      const nonce = /content="([\w-]{20,})"/.exec(body)![1]!
      nonces.add(nonce)
      const policy = String(headers['content-security-policy'])
      assert.ok(policy.includes(`style-src 'self' 'nonce-${nonce}'; `), policy)
      assert.match(policy, /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/)
      assert.equal(headers['cache-control'], 'no-store')
    }
    assert.equal(nonces.size, 4)
  })

  it('200 an asset in the encoding that the browser accepts, cacheable', async () => {
    const server = serve()
    for (const [accepted, body, encoding] of [
      ['gzip, deflate, br', 'brotli', 'br'],
      ['gzip', 'gzipped', 'gzip'],
      [undefined, 'plain', undefined],
    ] as const) {
      const response = await server.inject({
        url: '/console/assets/main-a1_-.js',
        headers: accepted ? { 'accept-encoding': accepted } : {},
      })
      assert.deepEqual([response.body, response.headers['content-encoding']], [body, encoding])
      assert.match(String(response.headers['cache-control']), /immutable/)
      assert.equal(response.headers['content-type'], 'text/javascript; charset=utf-8')
      assert.equal(response.headers['x-content-type-options'], 'nosniff')
    }
    assert.match(String((await server.inject('/console/penstock.svg')).headers['content-type']), /^image.svg/)
  })

  it('404 for names that are not assets', async () => {
    const server = serve()
    for (const name of [
      'absent.js',
      'main-a1_-.js.gz',
      '..%2fbuilt-from',
      '..%2findex.html',
      '%2e%2e%2fpenstock.svg',
      'x%00.js',
    ]) {
      assert.equal((await server.inject(`/console/assets/${name}`)).statusCode, 404, name)
    }
    assert.equal((await server.inject('/console/api/unknown')).statusCode, 404)
    assert.equal((await server.inject({ method: 'POST', url: '/console/api/unknown' })).statusCode, 404)
  })

  it('503 while the build runs, then the page', async () => {
    let finish = (): void => undefined
    const server = serve(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve
        }),
    )
    const waiting = await server.inject('/console')
    assert.equal(waiting.statusCode, 503)
    assert.equal(waiting.headers.refresh, '2')
    assert.match(waiting.body, /is being built/)
    // Browsers do not refresh a URL with a fragment, such as that of a sign-in link.
    const nonce = /<script nonce="([\w-]+)">setTimeout\(\(\) => location\.reload\(\), 2000\)</.exec(waiting.body)?.[1]
    assert.ok(nonce)
    assert.match(String(waiting.headers['content-security-policy']), new RegExp(`script-src 'nonce-${nonce}';`))
    finish()
    assert.equal((await server.inject('/console')).statusCode, 200)
  })

  it('503 when the build fails; the next request tries again', async () => {
    let builds = 0
    const server = serve(async () => {
      builds++
      if (builds === 1) throw new Error('no space')
    })
    const failed = await server.inject('/console')
    assert.equal(failed.statusCode, 503)
    assert.match(failed.body, /npm run build/)
    assert.equal((await server.inject('/console')).statusCode, 200)
    assert.equal((await server.inject('/console')).statusCode, 200)
    assert.equal(builds, 2)
  })
})
