import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tableMapping } from '../../../test/runner-world/replication-world.ts'
import type { MappedTable } from '../../sources/postgres/postgres-tables.ts'
import { findReloadReason, isSameEngineType, type SourceShape } from './source-shape.ts'

type Column = SourceShape['columns'][number]

const source = { typeId: 23, modifier: -1, revision: '731', labels: ['9:sad', '10:glad'] }
const columns: Column[] = [
  { name: 'id', number: 1, type: 'Int32', source },
  { name: 'n', number: 3, type: 'Int32', source },
]
const shape = { files: 'f1', lastColumnNumber: 3, sortingKey: ['id'] }
const stored = { columns, shape }
const there = columns.map(({ name, type }) => ({ name, type }))

const withColumn = (change: Partial<Column>): Column[] => [columns[0]!, { ...columns[1]!, ...change }]
const withSource = (change: Partial<Column['source']>): Column[] => withColumn({ source: { ...source, ...change } })
const reasonOf = (
  now: Partial<Omit<SourceShape, 'shape'>> & { shape?: Partial<SourceShape['shape']> },
  { defaults = [] as string[], before = stored as Parameters<typeof findReloadReason>[0], present = there } = {},
): string | undefined => {
  const described = {
    mapping: tableMapping('orders'),
    columns: (now.columns ?? columns).map(({ name }) => ({ name, hasStoredDefault: defaults.includes(name) })),
  } as MappedTable
  return findReloadReason(before, described, { columns, ...now, shape: { ...shape, ...now.shape } }, present)
}
const rewritten = { files: 'f2' }
const added = (number: number): Column[] => [...columns, { name: 'more', number, type: 'Int32', source }]

describe('a copy', () => {
  it('is not reloaded when no value changed', () => {
    assert.equal(reasonOf({}), undefined)
    assert.equal(reasonOf({ shape: rewritten }), undefined)
    for (const change of [
      { typeId: 25 },
      { modifier: 24 },
      { revision: '732' },
      { labels: [...source.labels, '12:calm'] },
    ]) {
      assert.equal(reasonOf({ columns: withSource(change) }), undefined)
    }
    assert.equal(reasonOf({ columns: columns.slice(0, 1) }), undefined)
    assert.equal(reasonOf({ columns: added(4), shape: { lastColumnNumber: 4 } }), undefined)
  })

  it('is loaded again after a rewrite that may have changed a column', () => {
    for (const change of [{ typeId: 25 }, { modifier: 24 }, { revision: '732' }]) {
      assert.match(
        reasonOf({ columns: withSource(change), shape: rewritten }) ?? '',
        /"n" of public\.orders was changed/,
      )
    }
  })

  it('is loaded again when the engine needs another type or another key', () => {
    assert.match(reasonOf({ columns: withColumn({ type: 'Int64' }) }) ?? '', /Int64 in the engine, and before Int32/)
    assert.match(reasonOf({ shape: { sortingKey: ['id', 'n'] } }) ?? '', /is \(id, n\) and was \(id\)/)
  })

  it('is loaded again for a column that is another one, or that has values for rows that were there', () => {
    assert.match(reasonOf({ columns: withColumn({ number: 4 }) }) ?? '', /dropped and added again/)
    assert.match(reasonOf({ columns: added(4), shape: rewritten }) ?? '', /"more" .* was added with values/)
    assert.match(reasonOf({ columns: added(4) }, { defaults: ['more'] }) ?? '', /"more" .* was added with values/)
    assert.match(reasonOf({ columns: added(2) }) ?? '', /"more" .* was not replicated before/)
    assert.match(
      reasonOf({ columns: withSource({ labels: ['9:sad', '10:happy'] }) }) ?? '',
      /values of an enum renamed/,
    )
  })

  it('is loaded again when one of its columns was dropped, or has the name of another one', () => {
    assert.match(reasonOf({}, { present: there.slice(0, 1) }) ?? '', /"n" .* was dropped from the copy/)
    const both = [...there, { name: 'm', type: 'Int32' }]
    assert.match(reasonOf({ columns: withColumn({ name: 'm' }) }, { present: both }) ?? '', /has the name of another/)
    // The user must rename it.
    assert.equal(reasonOf({ columns: withColumn({ name: 'm' }) }), undefined)
  })

  it('stored by an older version is compared by ClickHouse types only', () => {
    const before = { columns: columns.map(({ name, number, type }) => ({ name, number, type })), shape: null }
    assert.equal(reasonOf({ columns: withSource({ revision: '732' }), shape: rewritten }, { before }), undefined)
    assert.match(reasonOf({ columns: withColumn({ type: 'Int64' }) }, { before }) ?? '', /another type/)
    assert.equal(
      reasonOf({ columns: withColumn({ type: 'Int64' }) }, { before: { columns: [], shape: null } }),
      undefined,
    )
  })

  it('looks the same as long as its types and its key are', () => {
    const now = { columns, shape }
    assert.ok(isSameEngineType(stored, { ...now, columns: added(4) }))
    assert.ok(!isSameEngineType(stored, { ...now, columns: withColumn({ type: 'Int64' }) }))
    assert.ok(!isSameEngineType(stored, { ...now, shape: { ...shape, sortingKey: ['n'] } }))
  })
})
