import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findInsert } from './insert-statement.ts'

const cut = (text: string, isComplete = true): { text: string; data: string } | undefined => {
  const insert = findInsert(text, isComplete)
  return insert && { text: insert.text('/rows'), data: text.slice(insert.length) }
}

describe('an INSERT with rows', () => {
  it('reads them from a file', () => {
    assert.deepEqual(cut('INSERT INTO t (a) FORMAT JSONEachRow\n{"a":1}'), {
      text: "INSERT INTO t (a)  FROM INFILE '/rows' COMPRESSION 'none'  FORMAT JSONEachRow",
      data: '{"a":1}',
    })
    assert.deepEqual(cut('insert into t values (1), (2)'), {
      text: "insert into t  FROM INFILE '/rows' COMPRESSION 'none'  FORMAT Values",
      data: '(1), (2)',
    })
    assert.equal(
      cut('INSERT INTO t SETTINGS a = 1 FORMAT CSV\n')?.text,
      "INSERT INTO t  FROM INFILE '/rows' COMPRESSION 'none' SETTINGS a = 1  FORMAT CSV",
    )
  })

  it('replaces input() by a file', () => {
    assert.equal(
      cut("INSERT INTO t SELECT a, 'FORMAT x' FROM input('a Int32, b String') WHERE b != 'input(' FORMAT TSV\n")?.text,
      "INSERT INTO t SELECT a, 'FORMAT x' FROM file('/rows', 'TSV', 'a Int32, b String') WHERE b != 'input(' ",
    )
  })

  it('keeps data that begins with a line break or a space', () => {
    assert.equal(cut('INSERT INTO t FORMAT TSV\n\n x')?.data, '\n x')
    assert.equal(cut('INSERT INTO t FORMAT TSV  \r\n x')?.data, ' x')
  })

  it('is not found without rows of its own, or in comments and quotes', () => {
    for (const text of [
      'SELECT 1 FORMAT TSV',
      'INSERT INTO t SELECT 1',
      "/* INSERT */ SELECT 'INSERT INTO t FORMAT TSV'",
    ]) {
      assert.equal(cut(text), undefined, text)
    }
    assert.equal(cut('INSERT INTO `FORMAT x` /* FORMAT y */ FORMAT TSV\n1')?.data, '1')
  })

  it('waits for its end', () => {
    assert.equal(cut('INSERT INTO t FORMAT JSON', false), undefined)
    assert.equal(cut('INSERT INTO t FORMAT JSONEachRow ', false), undefined)
    assert.equal(cut('INSERT INTO t FORMAT JSONEachRow\n', false)?.data, '')
    assert.equal(cut('INSERT INTO t FORMAT TSV 1', false)?.data, '1')
  })
})
