import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { startModernEngine } from './servers/chdb.ts'
import { startClickHouse } from './servers/clickhouse.ts'
import type { EngineServer, EngineUser } from './servers/engine.ts'

const engines = [
  { name: 'ClickHouse of Debian', start: startClickHouse, version: /^18\.16\./ },
  { name: 'chDB', start: startModernEngine, version: /^26\./ },
]

for (const { name, start, version } of engines) {
  describe(name, () => {
    let engine: EngineServer

    before(async () => {
      engine = await start()
      await engine.query('CREATE DATABASE test')
      await engine.query('CREATE TABLE test.events (id UInt32, note String) ENGINE = MergeTree ORDER BY id')
    })
    after(() => engine?.stop())

    it('has the expected version', () => {
      assert.match(engine.version, version)
    })

    it('inserts compressed bodies', async () => {
      await engine.query('TRUNCATE TABLE test.events')
      const response = await insert(gzipSync(rows(1000)))
      assert.equal(response.status, 200, await response.text())
      assert.equal(await count(), 1000)
    })

    it('inserts nothing of an incomplete body', async () => {
      await engine.query('TRUNCATE TABLE test.events')
      const packed = gzipSync(rows(1000))
      const response = await insert(packed.subarray(0, packed.length - 8))
      assert.equal(response.status, 500)
      assert.match(await response.text(), /^Code: 354\b/)
      assert.equal(await count(), 0)
    })

    it('reports invalid data as ClickHouse does', async () => {
      await assert.rejects(
        engine.query('INSERT INTO test.events FORMAT JSONEachRow', '{"id": "many"}'),
        /Code: 27\b.*DB::Exception: Cannot parse input/,
      )
    })

    it('checks passwords and permissions', async () => {
      assert.equal((await ask(engine.reader, 'SELECT count() FROM test.events')).status, 200)
      for (const [user, code] of [
        [{ ...engine.user, password: 'other' }, /Code: (193|516)\b/],
        [engine.reader, /Code: 164\b/],
        [engine.powerless, /Code: (291|497)\b/],
      ] as const) {
        const response = await ask(user, "INSERT INTO test.events VALUES (1, 'x')")
        assert.notEqual(response.status, 200)
        assert.match(await response.text(), code)
      }
    })

    it('records the settings of a query', async () => {
      await engine.query('INSERT INTO test.events (id) FORMAT TSV', '1\n2\n', { max_insert_block_size: '777' })
      const [logged, ...others] = await engine.listQueries('INSERT INTO test.events (id)')
      assert.deepEqual(others, [])
      assert.equal(logged?.settings.max_insert_block_size, '777')
      assert.equal(logged?.writtenRows, 2)
      assert.equal(logged?.exception, '')
    })

    it('kills the named query', async () => {
      const asked = ask(engine.user, 'SELECT count() FROM numbers(1000000000000) WHERE number % 7 = 3', 'the-long-one')
      const killQuery = "KILL QUERY WHERE query_id = 'the-long-one' SYNC"
      while ((await engine.query(killQuery)) === '');
      assert.match(await (await asked).text(), /Code: 394\b/)
    })

    it('keeps its data and port after a kill', async () => {
      await engine.query('TRUNCATE TABLE test.events')
      await insert(gzipSync(rows(1000)))
      const pid = engine.pid
      await engine.kill()
      await assert.rejects(engine.query('SELECT 1'))
      await engine.restart()
      assert.notEqual(engine.pid, pid)
      assert.equal(await count(), 1000)
    })

    function insert(packed: Buffer<ArrayBuffer>): Promise<Response> {
      const query = encodeURIComponent('INSERT INTO test.events FORMAT JSONEachRow')
      const headers = { ...credentials(engine.user), 'content-encoding': 'gzip' }
      return fetch(`${engine.url}/?query=${query}`, { method: 'POST', headers, body: packed })
    }

    function ask(user: EngineUser, sql: string, queryId = ''): Promise<Response> {
      return fetch(`${engine.url}/?query_id=${queryId}`, { method: 'POST', headers: credentials(user), body: sql })
    }

    async function count(): Promise<number> {
      return Number(await engine.query('SELECT count() FROM test.events'))
    }
  })
}

function credentials({ username, password }: EngineUser): Record<string, string> {
  return { 'x-clickhouse-user': username, 'x-clickhouse-key': password }
}

function rows(count: number): string {
  return Array.from({ length: count }, (_, id) => `{"id": ${id}, "note": "row ${id}"}\n`).join('')
}
