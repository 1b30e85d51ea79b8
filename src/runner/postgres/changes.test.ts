// Which changes go into one insert: those of one target with the same relation.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { walMessages } from '../../../test/sources/wal.ts'
import type { Sink } from '../../engine/engine.ts'
import type { StoredTable } from '../../progress/tables/stored-table.ts'
import { decodeMessage, makeScratch, type Relation } from '../../sources/postgres/pgoutput.ts'
import { type Changes, makeChanges } from './changes.ts'
import type { Target } from './target.ts'
import { columnValues } from './values.ts'

const abilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

const makeTarget = (): Target => ({
  stored: {} as StoredTable,
  beginLsn: 0n,
  mapping: {} as Target['mapping'],
  table: {} as Target['table'],
  columns: ['id', 'note'].map((name) => {
    const type = { name: 'text', isBuiltIn: true, modifier: -1 }
    const column = { name, type, isNotNull: true, isKey: name === 'id' }
    return { name, typeId: 25, modifier: -1, values: columnValues(column, { allowNullableColumns: false, abilities }) }
  }),
  keyColumns: ['id'],
  wholeRowColumns: undefined,
  ancestors: [],
  sink: {} as Sink,
})

const relationWith = (names: string[]): Relation => ({
  ...{ id: 1, schema: 'public', table: 't', identity: 'default' },
  columns: names.map((name) => ({ name, isKey: name === 'id', typeId: 25, modifier: -1 })),
})

function insert(changes: Changes, values: string[]): void {
  const message = walMessages.insert(1, values)
  decodeMessage(message, 0, message.length, changes, makeScratch())
}

/** Returns whether an action is needed. */
function say(changes: Changes, relation: Relation): boolean {
  changes.relation(relation)
  const need = changes.takeNeed()
  if (need?.kind === 'relation') changes.know(need.relation)
  return need !== undefined
}

describe('a change of a type that its column no longer has', () => {
  it('is rejected when the column cannot hold it', () => {
    const type = { name: 'int4', isBuiltIn: true, modifier: -1 }
    const column = { name: 'n', type, isNotNull: true, isKey: true }
    const values = columnValues(column, { allowNullableColumns: false, abilities })
    const target = { ...makeTarget(), columns: [{ name: 'n', typeId: 23, modifier: -1, values }], keyColumns: ['n'] }
    for (const [typeId, rejected] of [
      [23, []],
      [20, [1]],
    ] as const) {
      const changes = makeChanges({ durable: () => 0n, targetsOf: () => [target], partitionsOf: () => [] })
      changes.begin(100n, 0)
      say(changes, { ...relationWith([]), columns: [{ name: 'n', isKey: true, typeId, modifier: -1 }] })
      insert(changes, ['7'])
      insert(changes, ['5000000000'])
      const { count, rejected: found } = changes.take()[0]!.lines.take()
      assert.deepEqual([count, found.map(({ index }) => index)], [2, rejected])
    }
  })
})

describe('changes of one target', () => {
  const begin = (): Changes => {
    const target = makeTarget()
    const changes = makeChanges({ durable: () => 0n, targetsOf: () => [target], partitionsOf: () => [] })
    changes.begin(100n, 0)
    return changes
  }

  it('are one insert, however often the server repeats the relation', () => {
    const changes = begin()
    assert.ok(say(changes, relationWith(['id', 'note'])))
    insert(changes, ['1', 'one'])
    assert.ok(!say(changes, relationWith(['id', 'note'])))
    insert(changes, ['2', 'two'])
    const gathered = changes.take()
    assert.deepEqual(
      gathered.map(({ number, lines }) => [number, lines.count]),
      [[0, 2]],
    )
  })

  it('are separate inserts when the table is altered, also when it is altered back', () => {
    const changes = begin()
    for (const names of [['id', 'note'], ['id'], ['id', 'note']]) {
      assert.ok(say(changes, relationWith(names)))
      insert(changes, names)
    }
    const gathered = changes.take()
    assert.deepEqual(
      gathered.map(({ number, lines }) => [number, lines.count]),
      [
        [0, 1],
        [1, 1],
        [2, 1],
      ],
    )
  })
})
