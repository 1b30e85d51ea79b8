// Credentials and table mappings of a PostgreSQL source. Every secret in this file has the word "hush" in it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pipeTools } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { changes, customers, items, type Json, keyOf, orders, refused } from '../../test/pipe-cases/update-postgres.ts'
import { newId } from '../lib/id.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { insertPipe, openSecrets, sealSecrets } from './store.ts'

const login = { username: 'hush-user', password: 'hush-password' }

onBothDatabases('updatePipe of a PostgreSQL source', (app) => {
  const { answers, path, load, patch } = pipeTools(app, 'postgres')
  const secretsOf = async (pipeId: string) => openSecrets(app().app.vault, await load(pipeId))
  const tablesOf = async (pipeId: string) => ((await load(pipeId)).source as { tableMappings: Json[] }).tableMappings

  async function addPipe(secrets: SourceSecrets = { credentials: login }): Promise<string> {
    const sample = await load(app().sample.pipeIds.postgres)
    const pipe = { ...sample, id: newId(), source: { ...sample.source, tableMappings: [orders, customers] } }
    await insertPipe(app().sql, { ...pipe, sealedSecrets: sealSecrets(app().app.vault, pipe, secrets) })
    return pipe.id
  }

  const activitiesOf = async (pipeId: string) =>
    (await app().query<{ target: string; changes: string }>('SELECT * FROM activities ORDER BY id'))
      .filter(({ target }) => target.includes(pipeId))
      .map(({ changes }) => JSON.parse(changes))

  describe('200', () => {
    for (const { title, add, remove, after } of changes) {
      it(title, async () => {
        const pipeId = await addPipe()
        const answer = await patch(pipeId, {
          ...(add ? { tableMappingsToAdd: add } : {}),
          ...(remove ? { tableMappingsToRemove: remove } : {}),
        })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result.source.postgres.tableMappings, after)
        assert.deepEqual(await tablesOf(pipeId), after)
        assert.deepEqual(await activitiesOf(pipeId), [
          [{ field: 'source.postgres.tableMappings', from: [orders, customers], to: after }],
        ])
        assert.deepEqual(await secretsOf(pipeId), { credentials: login })
      })
    }

    for (const tableEngine of ['MergeTree', 'ReplacingMergeTree', 'Null']) {
      it(`adds a table with the engine ${tableEngine}`, async () => {
        const answer = await patch(await addPipe(), { tableMappingsToAdd: [{ ...items, tableEngine }] })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.body.result.source.postgres.tableMappings.at(-1).tableEngine, tableEngine)
      })
    }

    it('changes tables beside the list that was read, and does not change it back', async () => {
      const pipeId = await addPipe()
      const { postgres } = (await app().request('GET', path(pipeId))).body.result.source
      const answer = await patch(pipeId, { ...postgres, tableMappingsToRemove: [keyOf(orders)], port: 5433 })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(answer.body.result.source.postgres, { ...postgres, port: 5433, tableMappings: [customers] })
    })

    it('keeps what is not sent of the credentials', async () => {
      const pipeId = await addPipe()
      for (const [port, send, expected] of [
        [1, { password: 'hush-2' }, { username: 'hush-user', password: 'hush-2' }],
        [2, { username: 'hush-3' }, { username: 'hush-3', password: 'hush-2' }],
        [3, login, login],
        [4, {}, login],
      ] as const) {
        const answer = await patch(pipeId, { port, credentials: send })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.body.result.source.postgres.port, port)
        assert.deepEqual((await secretsOf(pipeId)).credentials, expected)
      }
    })

    it('keeps the stored credentials when only the host changes', async () => {
      const pipeId = await addPipe()
      const answer = await patch(pipeId, { host: 'db-2.northwind.example' })
      assert.equal(answer.status, 200)
      assert.equal(answer.body.result.source.postgres.host, 'db-2.northwind.example')
      assert.deepEqual((await secretsOf(pipeId)).credentials, login)
    })

    it('keeps all tables that are added at the same time', async () => {
      const pipeId = await addPipe()
      const added = Array.from({ length: 10 }, (_, index) => ({
        ...items,
        sourceTable: `t${index}`,
        targetTable: `shop_t${index}`,
      }))
      const results = await Promise.all(added.map((table) => patch(pipeId, { tableMappingsToAdd: [table] })))
      for (const { status, text } of results) assert.equal(status, 200, text)
      const names = (await tablesOf(pipeId)).map(({ sourceTable }) => sourceTable)
      assert.deepEqual(names.sort(), ['customers', 'orders', ...added.map(({ sourceTable }) => sourceTable)])
    })

    it('keeps one table when both are removed at the same time', async () => {
      const pipeId = await addPipe()
      const results = await Promise.all(
        [orders, customers].map((table) => patch(pipeId, { tableMappingsToRemove: [keyOf(table)] })),
      )
      assert.deepEqual(results.map(({ status }) => status).sort(), [200, 400])
      assert.equal((await tablesOf(pipeId)).length, 1)
    })
  })

  describe('400', () => {
    for (const { title, add, remove, at, says } of refused) {
      it(title, async () => {
        const pipeId = await addPipe()
        const before = await load(pipeId)
        const lists = { tableMappingsToAdd: add, tableMappingsToRemove: remove }
        const answer = await patch(pipeId, { ...lists, port: 5433 }, { name: 'not applied' })
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.code, 'invalid_body')
        assert.match(answer.body.detail, says)
        assert.equal(answer.body.errors.length, 1, answer.body.detail)
        const { pointer } = answer.body.errors[0]
        assert.equal(pointer, `#/source/postgres/tableMappings${at}`)
        assert.deepEqual(await load(pipeId), before)
        assert.deepEqual(await activitiesOf(pipeId), [])
      })
    }

    it('reports all errors of the table mappings at once', async () => {
      const answer = await patch(await addPipe(), {
        tableMappingsToAdd: [orders, { ...items, targetTable: 'shop_customers', useCustomSortingKey: true }],
        tableMappingsToRemove: [keyOf(items)],
      })
      assert.equal(answer.status, 400)
      assert.equal(answer.body.errors.length, 4, answer.body.detail)
      for (const part of [/has already/, /does not have/, /goes already/, /sortingKeys is required/]) {
        assert.match(answer.body.detail, part)
      }
    })

    it('credentials are required, and invalid ones are not quoted', async () => {
      const pipeId = await addPipe()
      const before = await load(pipeId)
      for (const [send, inside] of [
        [null, ''],
        ['hush-password', ''],
        [{ username: null }, '/username'],
        [{ password: null }, '/password'],
        [{ password: '' }, '/password'],
        [{ password: 'hush'.repeat(2000) }, '/password'],
        [{ username: ['hush'] }, '/username'],
        [{ user: 'hush' }, '/user'],
      ] as const) {
        const answer = await patch(pipeId, { credentials: send })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(
          answer.body.errors.map((error: { pointer: string }) => error.pointer),
          [`#/source/postgres/credentials${inside}`],
        )
      }
      assert.deepEqual(await load(pipeId), before)
    })

    it('a pipe without credentials gets no other change before it has them', async () => {
      const pipeId = await addPipe({})
      for (const send of [
        { port: 5433 },
        { credentials: { password: 'hush' } },
        { credentials: { username: 'hush' } },
      ]) {
        const answer = await patch(pipeId, send)
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.body.errors[0].pointer, '#/source/postgres/credentials')
      }
      assert.equal((await patch(pipeId, { port: 5433, credentials: login })).status, 200)
      assert.deepEqual(await secretsOf(pipeId), { credentials: login })
    })
  })

  describe('secrets', () => {
    it('are in no answer, no line of the log, no activity and no row', async () => {
      assert.ok(answers.length > 50 && app().logged.length > 50)
      const activities = await app().query<{ changes: string }>('SELECT * FROM activities')
      const pipes = await app().query('SELECT * FROM pipes')
      const changed = JSON.stringify({ field: 'source.postgres.credentials', to: 'changed' })
      assert.ok(activities.some(({ changes }) => changes.includes(changed)))
      assert.doesNotMatch([...answers, ...app().logged, JSON.stringify({ activities, pipes })].join('\n'), /hush/)
    })
  })
})
