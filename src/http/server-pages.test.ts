// The HTTP server: pages without authentication.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nobody, serverRequests } from '../../test/harness/server.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { freshAddress } from '../../test/harness/world.ts'
import { problems } from '../lib/problem.ts'
import { operations } from '../operations.ts'

onBothDatabases('the server', (app) => {
  const { memberPath, patch } = serverRequests(app)

  describe('pages without authentication', () => {
    const get = (url: string) => app().request('GET', url, { key: null })

    it('/health and /ready answer 200', async () => {
      const health = await get('/health')
      assert.equal(health.status, 200)
      assert.deepEqual(health.body, { status: 'ok' })
      const ready = await get('/ready')
      assert.equal(ready.status, 200)
      assert.deepEqual(ready.body, { status: 'ready' })
    })

    it('/metrics counts the requests under way', async (t) => {
      const underWay = async () =>
        Number(/^penstock_http_requests_under_way (\d+)$/m.exec((await get('/metrics')).text)![1])
      const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const { database } = app().app
      const write = database.write.bind(database)
      t.mock.method(database, 'write', async (...given: Parameters<typeof write>) => {
        if (given[0] === 'writeOperation') begun.resolve()
        await held.promise
        return write(...given)
      })
      const patched = patch()
      await begun.promise
      assert.equal(await underWay(), 1)
      held.resolve()
      assert.equal((await patched).status, 200)
      assert.equal(await underWay(), 0)
    })

    it('/metrics counts requests by operation and status, and the writes of each commit', async (t) => {
      // Excludes periodic writes: seals every five seconds, and the last use of keys every minute.
      await app().app.sealer.sealTouched()
      await app().app.keyUses.settled()
      t.mock.method(app().app.sealer, 'sealTouched', async () => undefined)
      t.mock.method(app().app.keyUses, 'note', () => undefined)
      const value = async (series: string) => {
        const { status, headers, text } = await get('/metrics')
        assert.equal(status, 200)
        assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
        const line = text.split('\n').find((each) => each.startsWith(`${series} `))
        return line ? Number(line.slice(series.length + 1)) : 0
      }
      const grows = async (series: string, by: number, act: () => Promise<unknown>) => {
        const start = await value(series)
        await act()
        assert.equal((await value(series)) - start, by, series)
      }
      const requests = (operation: string, status: number) =>
        `penstock_http_requests_total{operation="${operation}",status="${status}"}`
      await grows(requests('getMember', 200), 1, () => app().request('GET', memberPath()))
      await grows(requests('getMember', 404), 1, () => app().request('GET', memberPath(undefined, nobody)))
      await grows(requests('updateMember', 403), 1, () => patch({ key: app().developer }))
      await grows(requests('none', 404), 1, () => app().request('GET', '/v1/nothing'))
      await grows('penstock_http_request_duration_seconds_count{operation="updateMember"}', 1, () => patch())
      const wrong = { ...app().admin, secret: 'pst_wrong' }
      await grows('penstock_http_failed_authentications_total', 1, () => patch({ key: wrong, address: freshAddress() }))
      await grows('penstock_http_failed_authentications_total', 0, () => patch({ key: null, address: freshAddress() }))
      await grows('penstock_database_commit_writes_sum', 1, () => patch())
      await grows('penstock_database_commit_writes_count', 1, () => patch())
      await grows('penstock_database_commit_writes_bucket{le="1"}', 1, () => patch())
      await grows('penstock_database_commit_writes_sum', 8, () => Promise.all(Array.from({ length: 8 }, () => patch())))
    })

    it('/metrics is well-formed, with a type for every series and cumulative buckets', async () => {
      await patch()
      const lines = (await get('/metrics')).text.trimEnd().split('\n')
      const types = new Set<string>()
      for (const line of lines) {
        const type = /^# TYPE (\w+) (?:counter|gauge|histogram)$/.exec(line)?.[1]
        if (type) types.add(type)
        if (line.startsWith('#')) continue
        const name = /^(\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? [\d.e+-]+$/.exec(line)?.[1]
        assert.ok(name, line)
        assert.ok(types.has(name) || types.has(name.replace(/_(?:bucket|sum|count)$/, '')), line)
      }
      const buckets = lines
        .filter((line) => line.startsWith('penstock_database_commit_writes_bucket'))
        .map((line) => Number(line.split(' ')[1]))
      assert.ok(buckets.length > 2)
      assert.deepEqual(
        buckets,
        buckets.toSorted((a, b) => a - b),
      )
    })

    it('/v1 is an OpenAPI 3.1 document of every operation', async () => {
      for (const url of ['/v1', '/v1/']) {
        const { status, body, headers } = await get(url)
        assert.equal(status, 200)
        assert.match(String(headers['content-type']), /^application\/json/)
        assert.match(body.openapi, /^3\.1\.\d+$/)
        assert.equal(body.info.version, '1.0')
        for (const operation of operations) {
          const described = body.paths[operation.path][operation.method.toLowerCase()]
          assert.equal(described.operationId, operation.id)
          assert.deepEqual(described.tags, [operation.tag])
          assert.equal(described['x-stability'], operation.path.includes('/pipes') ? 'beta' : undefined)
        }
      }
    })

    it('/docs and its assets come from this server', async () => {
      const docs = await get('/docs')
      assert.equal(docs.status, 200)
      assert.match(String(docs.headers['content-type']), /^text\/html/)
      const policy = String(docs.headers['content-security-policy'])
      assert.match(policy, /default-src 'none'/)
      assert.ok(!policy.includes('unsafe'), policy)
      for (const operation of operations) assert.ok(docs.text.includes(operation.summary), operation.summary)

      const loaded = [...docs.text.matchAll(/<(?:script|link|img)\b[^>]*?\b(?:src|href)="([^"]+)"/g)].map(
        (match) => new URL(match[1]!, 'http://penstock/docs'),
      )
      assert.ok(loaded.length > 0)
      for (const url of loaded) {
        if (url.protocol === 'data:') continue
        assert.equal(url.origin, 'http://penstock')
        assert.equal((await get(url.pathname)).status, 200, url.pathname)
      }
      const css = await get('/docs/reference.css')
      assert.equal(css.status, 200)
      assert.match(String(css.headers['content-type']), /^text\/css/)
      assert.equal(css.headers['x-content-type-options'], 'nosniff')
      const home = await get('/')
      assert.equal(home.status, 302)
      assert.equal(home.headers.location, '/console')
    })

    it('/problems has a page for every problem', async () => {
      const index = await get('/problems')
      assert.equal(index.status, 200)
      assert.match(String(index.headers['content-type']), /^text\/html/)
      for (const code of Object.keys(problems)) {
        assert.ok(index.text.includes(`/problems/${code}`) || index.text.includes(code), code)
        const page = await get(`/problems/${code}`)
        assert.equal(page.status, 200, code)
        assert.match(String(page.headers['content-type']), /^text\/html/)
      }
      assert.equal((await get('/problems/no_such_problem')).status, 404)
    })
  })
})
