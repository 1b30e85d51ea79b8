// New columns against the definition of the table, which no update can change.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leastPipes, pointersOf, serviceOfPipes, withField } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'

const columnsOf = (...names: string[]) => names.map((name) => ({ name, type: 'UInt64' }))

/** Definitions of a table with the columns a, b and c, with the field that refers to column b. */
const definitions: [definition: object, pointer: string][] = [
  [{ engine: { type: 'MergeTree' }, sortingKey: ['a', 'b'] }, 'sortingKey/1'],
  [{ engine: { type: 'ReplacingMergeTree', versionColumnId: 'b' } }, 'engine/versionColumnId'],
  [{ engine: { type: 'SummingMergeTree', columnIds: ['c', 'b'] } }, 'engine/columnIds/1'],
]

onBothDatabases('updatePipe of a destination', (app) => {
  async function setUp(tableDefinition: object) {
    const service = await serviceOfPipes(app())
    const table = { database: 'analytics', table: 'orders', columns: columnsOf('a', 'b', 'c'), tableDefinition }
    const { id } = await service.create(withField(leastPipes.kinesis, 'destination', table))
    const patch = (body: object) => service.send('PATCH', `/${id}`, body)
    return { patch, load: () => service.load(id), activities: service.activities }
  }

  describe('200', () => {
    for (const [definition, pointer] of definitions) {
      it(`accepts columns that keep the one in ${pointer}, in any order and of any type`, async () => {
        const { patch } = await setUp(definition)
        const columns = [{ name: 'd', type: 'String' }, ...columnsOf('c', 'b', 'a')]
        const answer = await patch({ destination: { columns } })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result.destination.columns, columns)
      })
    }

    it('takes an empty list when nothing names a column', async () => {
      for (const definition of [{ engine: { type: 'MergeTree' } }, { engine: { type: 'Null' }, sortingKey: [] }]) {
        const { patch } = await setUp(definition)
        const answer = await patch({ destination: { columns: [] } })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result.destination.columns, [])
      }
    })
  })

  describe('400', () => {
    for (const [definition, pointer] of definitions) {
      it(`refuses to drop the column that ${pointer} names`, async () => {
        const { patch, load, activities } = await setUp(definition)
        const before = await load()
        const answer = await patch({ name: 'not applied', destination: { columns: columnsOf('a', 'c') } })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(pointersOf(answer), [`#/destination/tableDefinition/${pointer}`])
        assert.match(answer.body.detail, /names "b", which is not one of the destination's columns/)
        assert.deepEqual(await load(), before)
        assert.equal((await activities()).length, 1)
      })
    }

    it('rejects an empty list while something refers to columns, and reports all of it at once', async () => {
      const { patch } = await setUp({ engine: { type: 'SummingMergeTree', columnIds: ['c'] }, sortingKey: ['a', 'b'] })
      const answer = await patch({ destination: { columns: [] } })
      assert.equal(answer.status, 400)
      assert.deepEqual(pointersOf(answer), [
        '#/destination/tableDefinition/engine/columnIds/0',
        '#/destination/tableDefinition/sortingKey/0',
        '#/destination/tableDefinition/sortingKey/1',
      ])
    })
  })
})
