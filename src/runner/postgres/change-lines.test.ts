// Changes as lines: inserts, updates, deletes, changed keys, unchanged TOAST values and rejected values.
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { type GivenValue, walMessages } from '../../../test/sources/wal.ts'
import { decodeMessage, makeScratch, type Relation, type WalVisitor } from '../../sources/postgres/pgoutput.ts'
import { type ChangeLines, makeChangeLines } from './change-lines.ts'
import { columnValues } from './values.ts'

const abilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

const relation: Relation = {
  ...{ id: 1, schema: 'public', table: 't', identity: 'default' },
  columns: ['id', 'secret', 'note', 'list'].map((name) => ({ name, isKey: name === 'id', typeId: 25, modifier: -1 })),
}

/** Columns of the target: without `secret`, and with one that the relation does not have. */
const columns = ['note', 'id', 'list', 'later'].map((name) => {
  const int4 = { name: 'int4', isBuiltIn: true, modifier: -1 }
  const text = { name: 'text', isBuiltIn: true, modifier: -1 }
  const type = name === 'list' ? { name: '_int4', isBuiltIn: true, modifier: -1, elements: int4 } : text
  const column = { name, type, isNotNull: false, isKey: name === 'id' }
  return { name, values: columnValues(column, { allowNullableColumns: true, abilities }) }
})

function makeLines(keyColumns = ['id']): { lines: ChangeLines; send(message: Buffer, version: bigint): void } {
  const lines = makeChangeLines(relation, columns, { keyColumns })
  const scratch = makeScratch()
  const nothing = (): void => undefined
  return {
    lines,
    send(message, version) {
      const visitor: WalVisitor = {
        ...{ begin: nothing, commit: nothing, relation: nothing, truncate: nothing },
        insert: (_id, after) => lines.insert(after, version),
        update: (_id, after, before, beforeIs) => lines.update(after, before, beforeIs, version),
        delete: (_id, before) => lines.delete(before, version),
      }
      const copy = Buffer.from(message)
      decodeMessage(copy, 0, copy.length, visitor, scratch)
      // The bytes of a message are reused: lines must not depend on them.
      copy.fill('?')
    },
  }
}

function linesOf(messages: Buffer[], keyColumns?: string[]): string[] {
  const { lines, send } = makeLines(keyColumns)
  for (const [index, message] of messages.entries()) send(message, BigInt(index + 1))
  return takeLines(lines)
}

function takeLines(lines: ChangeLines): string[] {
  const { count, sizeBytes } = lines
  const { chunks, ...taken } = lines.take()
  const text = Buffer.concat(chunks)
  assert.equal(sizeBytes, text.length)
  const split = text.toString().split('\n').slice(0, -1)
  assert.deepEqual([count, taken.count], [split.length, split.length])
  return split
}

const insert = (values: GivenValue[]): Buffer => walMessages.insert(1, values)

describe('changes as lines', () => {
  it('have the columns of the target, the version, and whether the row is deleted', () => {
    assert.deepEqual(
      linesOf([
        insert(['1', 'hidden', 'a\tb', '{1,2}']),
        insert(['2', 'hidden', null, null]),
        walMessages.update(1, ['1', 'hidden', '', '{}']),
        walMessages.delete(1, 'K', ['1', null, null, null]),
        walMessages.delete(1, 'O', ['1', 'hidden', 'a', '{1}']),
      ]),
      [
        'a\\tb\t1\t[1,2]\t\\N\t1\t0',
        '\\N\t2\t[]\t\\N\t2\t0',
        '\t1\t[]\t\\N\t3\t0',
        '\\N\t1\t[]\t\\N\t4\t1',
        '\\N\t1\t[]\t\\N\t5\t1',
      ],
    )
  })

  it('delete the old key when a row gets another', () => {
    const unchanged = walMessages.update(1, ['1', null, 'a', null], { is: 'K', values: ['1', null, null, null] })
    const moved = walMessages.update(1, ['2', null, 'a', null], { is: 'K', values: ['1', null, null, null] })
    assert.deepEqual(linesOf([unchanged, moved]), [
      'a\t1\t[]\t\\N\t1\t0',
      '\\N\t1\t[]\t\\N\t2\t1',
      'a\t2\t[]\t\\N\t2\t0',
    ])
  })

  it('have a key longer than the replica identity only with the whole old row', () => {
    const key = ['note', 'id']
    const byKey = walMessages.update(1, ['1', null, 'b', null], { is: 'K', values: ['1', null, null, null] })
    const whole = walMessages.update(1, ['1', null, 'b', null], { is: 'O', values: ['1', null, 'a', null] })
    const both = walMessages.update(1, ['2', null, 'b', null], { is: 'K', values: ['1', null, null, null] })
    assert.deepEqual(linesOf([byKey, whole, both], key), [
      'b\t1\t[]\t\\N\t1\t0',
      'a\t1\t[]\t\\N\t2\t1',
      'b\t1\t[]\t\\N\t2\t0',
      'b\t1\t[]\t\\N\t3\t1',
      'b\t2\t[]\t\\N\t3\t0',
    ])
  })

  it('take values that were not sent from the old row, if there is one', () => {
    const before = { is: 'O' as const, values: ['1', 'hidden', 'large', '{7}'] }
    assert.deepEqual(linesOf([walMessages.update(1, ['1', undefined, undefined, '{8}'], before)]), [
      'large\t1\t[8]\t\\N\t1\t0',
    ])
    // A large key is sent with the old key, whose other values are NULL.
    const byKey = { is: 'K' as const, values: ['large key', null, null, null] }
    assert.deepEqual(linesOf([walMessages.update(1, [undefined, null, 'b', null], byKey)]), [
      'b\tlarge key\t[]\t\\N\t1\t0',
    ])
  })

  it('are incomplete without the values that were not sent', () => {
    const { lines, send } = makeLines()
    const update = walMessages.update(1, ['1', undefined, undefined, undefined])
    for (const version of [1n, 2n, 3n]) send(update, version)
    send(insert(['2', null, 'x', null]), 4n)
    assert.equal(lines.count, 1)
    const [first, second, third] = lines.incomplete
    assert.ok(first && second && third)
    assert.deepEqual([first.key, first.missing], [['1'], ['note', 'list']])
    assert.throws(() => lines.take(), /incomplete rows/)
    second.complete([Buffer.from('a\tb'), Buffer.from('{1}')])
    first.complete(undefined)
    third.complete([null, Buffer.from('{2}')])
    assert.throws(() => first.complete(undefined), /twice/)
    assert.equal(lines.incomplete.length, 0)
    assert.deepEqual(takeLines(lines), [
      'x\t2\t[]\t\\N\t4\t0',
      'a\\tb\t1\t[1]\t\\N\t2\t0',
      '\\N\t1\t[]\t\\N\t1\t0',
      '\\N\t1\t[2]\t\\N\t3\t0',
    ])
  })

  it('are rejected when the engine cannot hold a value', () => {
    const { lines, send } = makeLines()
    send(insert(['1', null, "it's", '{1}']), 1n)
    send(insert(['2', null, "it's", '{{1},{2}}']), 2n)
    send(insert(['3', null, "it's", '{3}']), 3n)
    const { chunks, count, rejected } = lines.take()
    assert.equal(count, 3)
    assert.deepEqual(rejected, [{ index: 1, reason: 'the column "list": it has an array of more than one dimension' }])
    assert.equal(Buffer.concat(chunks).toString().split('\n')[1], "it\\'s\t2\t{{1},{2}}\t\\N\t2\t0")
    assert.deepEqual(lines.take(), { chunks: [], count: 0, rejected: [] })
  })

  it('are returned in chunks that end at line ends', () => {
    const { lines, send } = makeLines()
    for (let number = 0; number < 500; number++) send(insert([String(number), null, 'x'.repeat(1_000), null]), 1n)
    const { chunks } = lines.take()
    assert.ok(chunks.length > 1)
    for (const chunk of chunks) assert.equal(chunk.at(-1), '\n'.charCodeAt(0))
  })
})
