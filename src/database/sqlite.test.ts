import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, type StatsFs, type statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { isDiskFull, openFailure, SqliteConnection } from './sqlite.ts'
import { openSqliteReadOnly } from './sqlite-read-only.ts'

describe('the error for a database file that cannot be opened', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-sqlite-'))
  after(() => rmSync(folder, { recursive: true }))

  const failureOf = (work: () => unknown): Error => {
    try {
      work()
    } catch (error) {
      return error as Error
    }
    return assert.fail('it should have failed')
  }
  const left =
    (more: Partial<StatsFs>): typeof statfsSync =>
    () =>
      ({ bsize: 4_096, bavail: 1_000_000, files: 1_000, ffree: 500, ...more }) as never

  it('is a full disk when SQLite reports it, whatever is free now', () => {
    const database = new DatabaseSync(join(folder, 'limited.db'))
    database.exec('PRAGMA max_page_count = 2; CREATE TABLE t (text)')
    const full = failureOf(() => database.exec('INSERT INTO t VALUES (hex(zeroblob(100000)))'))
    database.close()
    assert.equal((full as { errcode?: number }).errcode, 13)
    assert.equal(isDiskFull(folder, full, left({})), true)
    assert.match(openFailure(join(folder, 'limited.db'), full), /^The disk of \S+ is full\. Free some space/)
  })

  it('is a full disk when no space or no inode is left', () => {
    const cannotOpen = failureOf(() => new SqliteConnection(join(folder, 'nowhere', 'x.db'), { readOnly: false }))
    assert.equal(isDiskFull(folder, cannotOpen, left({})), false)
    assert.equal(isDiskFull(folder, cannotOpen, left({ bavail: 15 })), true)
    assert.equal(isDiskFull(folder, cannotOpen, left({ ffree: 0 })), true)
    assert.equal(isDiskFull(folder, cannotOpen, left({ files: 0, ffree: 0 })), false, 'files are not counted there')
  })

  it('is not the disk when the file is not a database', () => {
    const file = join(folder, 'other.db')
    writeFileSync(file, 'x'.repeat(4_096))
    const notDatabase = failureOf(() => new SqliteConnection(file, { readOnly: false }))
    assert.equal(isDiskFull(folder, notDatabase, left({ bavail: 0, ffree: 0 })), false)
    assert.match(
      openFailure(file, notDatabase),
      /cannot be opened: is it a Penstock database, and may it be written\?$/,
    )
    assert.throws(() => openSqliteReadOnly(file), /cannot be read: is it a Penstock database, and may it be read\?$/)
  })
})
