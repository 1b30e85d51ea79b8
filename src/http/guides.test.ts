// The guides at /docs/guides.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { Guides } from './guides.ts'

const root = new URL('../../', import.meta.url)

describe('the guides of a running Penstock', () => {
  let app: TestApp
  before(async () => {
    app = await openTestApp('sqlite')
  })
  after(() => app.close())
  const get = (url: string, headers = {}) => app.request('GET', url, { key: null, headers })

  it('serves every Markdown page without authentication, and no link or image within the site is broken', async () => {
    const urls = await new Guides(root).urls()
    assert.ok(urls.length > 50 && urls.includes('/docs/guides/how-to/kafka'), String(urls.length))
    const pages = new Map<string, string>()
    for (const url of urls) {
      const { status, headers, text } = await get(url)
      assert.equal(status, 200, url)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
      assert.match(text, /<article id="page">\n<h1 id=/, url)
      pages.set(url, text)
    }
    const others = new Set<string>()
    for (const [url, text] of pages) {
      for (const [, target] of text.matchAll(/ (?:href|src)="([/#][^"]*)"/g)) {
        const [path, anchor] = target!.split('#')
        const linked = path === '' ? text : pages.get(path!)
        if (linked === undefined) others.add(path!)
        else if (anchor) assert.ok(linked.includes(` id="${anchor}"`), `${url} links to ${target}`)
      }
    }
    for (const path of others) assert.ok((await get(path)).status < 400, path)
  })

  it('has a strict content security policy, and nothing that it refuses', async () => {
    const { headers, text } = await get('/docs/guides/how-to/kafka')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; style-src 'self'; script-src 'self'; .*connect-src 'self'$/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.doesNotMatch(text, /<style|<script(?! src="\/docs\/guides\.js")|<[^>]* (on\w+|style)=/)
  })

  it('serves the pages of its listing only', async () => {
    for (const path of [
      '/nothing',
      '/how-to',
      '/how-to/kafka.md',
      '/LICENSE',
      '/package',
      '/..%2fpackage.json',
      '/%2e%2e/%2e%2e/package.json',
      '/images/..%2f..%2fpackage.json',
      '/images/nothing.png',
      '/constructor',
    ]) {
      assert.equal((await get(`/docs/guides${path}`)).status, 404, path)
    }
    const image = await get('/docs/guides/images/overview.png')
    assert.deepEqual([image.status, image.headers['content-type']], [200, 'image/png'])
    const posted = await app.request('POST', '/docs/guides/how-to/kafka', { key: null, body: {} })
    assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD'])
  })

  it('has a search index of every section, with an ETag', async () => {
    const { status, headers, body } = await get('/docs/guides/search.json')
    assert.equal(status, 200)
    const page = body.find(({ url }: { url: string }) => url === '/docs/guides/how-to/kafka')
    assert.deepEqual([page.title, page.group], ['Load a Kafka topic', 'How-to guides'])
    const section = page.sections.find(({ anchor }: { anchor: string }) => anchor === 'requirements')
    assert.match(section.text, /PENSTOCK_ALLOW_PLAINTEXT=true/)
    const again = await get('/docs/guides/search.json', { 'if-none-match': headers.etag })
    assert.deepEqual([again.status, again.text], [304, ''])
  })
})

describe('a folder of guides', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-guides-'))
    await mkdir(join(folder, 'docs/how-to'), { recursive: true })
    await writeFile(
      join(folder, 'docs/README.md'),
      '# Index\n\n[go](how-to/fill.md#two-words-1) [old](how-to/old.md)\n',
    )
    await writeFile(join(folder, 'secret.md'), '# Secret')
    await writeFile(
      join(folder, 'docs', 'how-to/fill.md'),
      '# Fill `a`\n\n## Two words\n\n<script>alert(1)</script> a <b>c</b> & "d"\n\n## Two words\n\n' +
        '[run](javascript:alert(1)) [up](../../secret.md) [out](https://example.test/?a=1&b=2) [index](../README.md)\n' +
        '![far](https://example.test/x.png)\n\n| | |\n|---|---|\n| a | `b\\|c` |\n\n```sh\necho "<a>" # no heading\n```\n',
    )
  })
  after(() => rm(folder, { recursive: true }))
  const bodyOf = async (path: string) => {
    const served = await new Guides(pathToFileURL(`${folder}/`)).serve(path)
    return String(served?.body).split('<article id="page">')[1]
  }

  it('resolves links between pages, and makes text of all others', async () => {
    const index = await bodyOf('')
    assert.match(index!, /<a href="\/docs\/guides\/how-to\/fill#two-words-1">go<\/a> old</)
    const page = (await bodyOf('how-to/fill'))!
    assert.match(
      page,
      /<p>run up <a href="https:\/\/example\.test\/\?a=1&amp;b=2">out<\/a> <a href="\/docs\/guides">index<\/a>\nfar</,
    )
    assert.equal(await bodyOf('secret'), undefined)
  })

  it('shows HTML as text, headings with anchors, tables without an empty head, and code', async () => {
    const page = (await bodyOf('how-to/fill'))!
    assert.match(page, /&lt;script&gt;alert\(1\)&lt;\/script&gt; a &lt;b&gt;c&lt;\/b&gt; &amp; &quot;d&quot;/)
    assert.match(page, /<h1 id="fill-a">Fill <code>a<\/code><\/h1>/)
    assert.match(page, /<h2 id="two-words">.*<h2 id="two-words-1">/s)
    assert.match(page, /<table>\s*<tbody>.*<code>b\|c<\/code>/s)
    assert.match(page, /<code>echo &quot;&lt;a&gt;&quot; # no heading<\/code>/)
  })

  it('is empty without docs/', async () => {
    const guides = new Guides(pathToFileURL(`${join(folder, 'docs/how-to')}/`))
    assert.deepEqual([await guides.urls(), await guides.serve('')], [[], undefined])
  })
})
