// Credentials and table mappings of a PostgreSQL source. Every secret in this file has the word "hush" in it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pipeTools } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { insertPipe, openSecrets, sealSecrets } from './store.ts'

type Json = Record<string, unknown>

const login = { username: 'hush-user', password: 'hush-password' }

const orders = {
  sourceSchemaName: 'public',
  sourceTable: 'orders',
  targetTable: 'shop_orders',
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: true,
  sortingKeys: ['order_id'],
  excludedColumns: ['internal_note'],
}
const customers = {
  sourceSchemaName: 'public',
  sourceTable: 'customers',
  targetTable: 'shop_customers',
  tableEngine: 'MergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}
const items = { sourceSchemaName: 'public', sourceTable: 'items', targetTable: 'shop_items' }
const defaults = {
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}
const keyOf = ({ sourceSchemaName, sourceTable }: typeof items) => ({ sourceSchemaName, sourceTable })

interface Change {
  title: string
  add?: Json[]
  remove?: Json[]
  /** The tables after the update of a pipe with orders and customers. */
  after: Json[]
}

const changes: Change[] = [
  {
    title: 'adds a table with the defaults',
    add: [items],
    after: [orders, customers, { ...items, ...defaults }],
  },
  {
    title: 'adds a table with everything said',
    add: [
      { ...items, tableEngine: 'Null', useCustomSortingKey: true, sortingKeys: ['b', 'a'], excludedColumns: ['c'] },
    ],
    after: [
      orders,
      customers,
      { ...items, tableEngine: 'Null', useCustomSortingKey: true, sortingKeys: ['b', 'a'], excludedColumns: ['c'] },
    ],
  },
  {
    title: 'adds a table with defaults said as they are',
    add: [{ ...items, ...defaults }],
    after: [orders, customers, { ...items, ...defaults }],
  },
  {
    title: 'knows tables of the same name in other schemas apart',
    add: [{ ...items, sourceSchemaName: 'archive', sourceTable: 'orders' }],
    after: [orders, customers, { ...items, ...defaults, sourceSchemaName: 'archive', sourceTable: 'orders' }],
  },
  {
    title: 'knows names apart that look the same when joined',
    add: [
      { sourceSchemaName: 'a.b', sourceTable: 'c', targetTable: 'one' },
      { sourceSchemaName: 'a', sourceTable: 'b.c', targetTable: 'two' },
    ],
    after: [
      orders,
      customers,
      { sourceSchemaName: 'a.b', sourceTable: 'c', targetTable: 'one', ...defaults },
      { sourceSchemaName: 'a', sourceTable: 'b.c', targetTable: 'two', ...defaults },
    ],
  },
  { title: 'removes a table by its key', remove: [keyOf(orders)], after: [customers] },
  {
    title: 'removes a table by its key and target',
    remove: [{ ...keyOf(customers), targetTable: 'shop_customers' }],
    after: [orders],
  },
  {
    title: 'replaces a mapping in one request',
    remove: [keyOf(orders)],
    add: [{ ...keyOf(orders), targetTable: 'orders_2' }],
    after: [customers, { ...keyOf(orders), targetTable: 'orders_2', ...defaults }],
  },
  {
    title: 'replaces the options of a mapping that keeps its target',
    remove: [keyOf(orders)],
    add: [{ ...keyOf(orders), targetTable: 'shop_orders', excludedColumns: ['customer'] }],
    after: [customers, { ...keyOf(orders), targetTable: 'shop_orders', ...defaults, excludedColumns: ['customer'] }],
  },
  {
    title: 'gives a target that is free again to another table',
    remove: [keyOf(orders)],
    add: [{ ...items, targetTable: 'shop_orders' }],
    after: [customers, { ...items, ...defaults, targetTable: 'shop_orders' }],
  },
  {
    title: 'replaces all tables, swapping their targets',
    remove: [keyOf(orders), keyOf(customers)],
    add: [
      { ...keyOf(orders), targetTable: 'shop_customers' },
      { ...keyOf(customers), targetTable: 'shop_orders' },
    ],
    after: [
      { ...keyOf(orders), targetTable: 'shop_customers', ...defaults },
      { ...keyOf(customers), targetTable: 'shop_orders', ...defaults },
    ],
  },
]

const refused: { title: string; add?: unknown; remove?: unknown; at: string; says: RegExp }[] = [
  { title: 'a table that is there', add: [orders], at: 'ToAdd/0', says: /which the pipe has already/ },
  {
    title: 'a table that is there, to another target',
    add: [{ ...keyOf(orders), targetTable: 'other' }],
    at: 'ToAdd/0',
    says: /public\.orders, which the pipe has already/,
  },
  {
    title: 'the same table twice',
    add: [items, { ...items, targetTable: 'other' }],
    at: 'ToAdd/1',
    says: /public\.items a second time/,
  },
  {
    title: 'a target that is taken',
    add: [{ ...items, targetTable: 'shop_orders' }],
    at: 'ToAdd/0/targetTable',
    says: /is "shop_orders", where public\.orders goes already/,
  },
  {
    title: 'the same target twice',
    add: [items, { ...items, sourceTable: 'other' }],
    at: 'ToAdd/1/targetTable',
    says: /is "shop_items", where public\.items goes already/,
  },
  {
    title: 'an unknown table to remove',
    remove: [keyOf(items)],
    at: 'ToRemove/0',
    says: /which the pipe does not have/,
  },
  {
    title: 'an unknown schema to remove',
    remove: [{ ...keyOf(orders), sourceSchemaName: 'Public' }],
    at: 'ToRemove/0',
    says: /Public\.orders, which the pipe does not have/,
  },
  {
    title: 'the same table to remove twice',
    remove: [keyOf(orders), keyOf(orders)],
    at: 'ToRemove/1',
    says: /which the pipe does not have/,
  },
  {
    title: 'a table to remove that is only being added',
    remove: [keyOf(items)],
    add: [items],
    at: 'ToRemove/0',
    says: /which the pipe does not have/,
  },
  {
    title: 'a removal with another target',
    remove: [{ ...keyOf(orders), targetTable: 'shop_customers' }],
    at: 'ToRemove/0/targetTable',
    says: /"shop_customers", but public\.orders goes to "shop_orders"/,
  },
  {
    title: 'all tables removed',
    remove: [keyOf(orders), keyOf(customers)],
    at: 'ToRemove',
    says: /must leave the pipe at least one table/,
  },
  ...['sourceSchemaName', 'sourceTable', 'targetTable'].flatMap((name) => [
    {
      title: `an addition without ${name}`,
      add: [{ ...items, [name]: undefined }],
      at: `ToAdd/0/${name}`,
      says: /is required/,
    },
    {
      title: `an addition with an empty ${name}`,
      add: [{ ...items, [name]: '' }],
      at: `ToAdd/0/${name}`,
      says: /1 to/,
    },
    {
      title: `an addition without a value for ${name}`,
      add: [{ ...items, [name]: null }],
      at: `ToAdd/0/${name}`,
      says: /must be a string/,
    },
  ]),
  ...['sourceSchemaName', 'sourceTable'].map((name) => ({
    title: `a removal without ${name}`,
    remove: [{ ...keyOf(orders), [name]: undefined }],
    at: `ToRemove/0/${name}`,
    says: /is required/,
  })),
  {
    title: 'an unknown engine',
    add: [{ ...items, tableEngine: 'SummingMergeTree' }],
    at: 'ToAdd/0/tableEngine',
    says: /must be one of MergeTree, ReplacingMergeTree, Null/,
  },
  { title: 'an unknown option', add: [{ ...items, colour: 1 }], at: 'ToAdd/0/colour', says: /is not a known field/ },
  {
    title: 'an option of a removal',
    remove: [{ ...keyOf(orders), tableEngine: 'Null' }],
    at: 'ToRemove/0/tableEngine',
    says: /is not a known field/,
  },
  {
    title: 'a custom sorting key without columns',
    add: [{ ...items, useCustomSortingKey: true }],
    at: 'ToAdd/0/sortingKeys',
    says: /sortingKeys is required, because useCustomSortingKey is true/,
  },
  {
    title: 'a custom sorting key with no columns',
    add: [{ ...items, useCustomSortingKey: true, sortingKeys: [] }],
    at: 'ToAdd/0/sortingKeys',
    says: /sortingKeys is required/,
  },
  {
    title: 'a custom sorting key that is no boolean',
    add: [{ ...items, useCustomSortingKey: 'yes', sortingKeys: ['a'] }],
    at: 'ToAdd/0/useCustomSortingKey',
    says: /must be a boolean/,
  },
  {
    title: 'a repeated sorting key',
    add: [{ ...items, useCustomSortingKey: true, sortingKeys: ['a', 'b', 'a'] }],
    at: 'ToAdd/0/sortingKeys',
    says: /must not repeat "a"/,
  },
  {
    title: 'a repeated excluded column',
    add: [{ ...items, excludedColumns: ['a', 'a'] }],
    at: 'ToAdd/0/excludedColumns',
    says: /must not repeat "a"/,
  },
  {
    title: 'a sorting key that is excluded',
    add: [{ ...items, useCustomSortingKey: true, sortingKeys: ['a', 'b'], excludedColumns: ['c', 'b'] }],
    at: 'ToAdd/0/excludedColumns',
    says: /has columns of the sorting key: b/,
  },
  {
    title: 'an empty column name',
    add: [{ ...items, excludedColumns: ['a', ''] }],
    at: 'ToAdd/0/excludedColumns/1',
    says: /1 to 255 characters/,
  },
  { title: 'an addition that is no list', add: items, at: 'ToAdd', says: /must be a list/ },
  { title: 'an addition that is null', add: null, at: 'ToAdd', says: /must be a list/ },
  { title: 'a removal that is no list', remove: 'public.orders', at: 'ToRemove', says: /must be a list/ },
  {
    title: 'one bad table among good ones',
    add: [items, { ...items, sourceTable: 'x' }],
    at: 'ToAdd/1/targetTable',
    says: /goes already/,
  },
]

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
