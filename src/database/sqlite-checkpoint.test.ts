import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { SqliteConnection, walLimitBytes } from './sqlite.ts'
import { Checkpoints } from './sqlite-checkpoint.ts'

const rowBytes = 65_536

describe('checkpoints', () => {
  let folder: string
  let file: string
  let connection: SqliteConnection
  let checkpoints: Checkpoints
  const failures: string[] = []

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
    file = join(folder, 'test.db')
    connection = new SqliteConnection(file, { readOnly: false })
    connection.database.exec('CREATE TABLE notes (number integer PRIMARY KEY, text text NOT NULL)')
    checkpoints = new Checkpoints(file, connection, { onFailure: (verdict) => failures.push(verdict) })
  })
  after(async () => {
    await checkpoints.close()
    connection.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const sizeOf = (name: string): number => statSync(name).size
  let written = 0
  async function write(bytes: number): Promise<void> {
    const insert = connection.database.prepare('INSERT INTO notes VALUES (?, ?)')
    for (const end = written + bytes / rowBytes; written < end; ) {
      await connection.begin()
      insert.run(++written, 'x'.repeat(rowBytes))
      await connection.commit()
      checkpoints.consider()
      await nextTurn()
    }
  }

  it('leaves a short log alone', async () => {
    await write(walLimitBytes / 2)
    await sleep(50)
    assert.ok(sizeOf(`${file}-wal`) > walLimitBytes / 2)
    assert.ok(sizeOf(file) < rowBytes)
  })

  it('moves a long log into the file while writes go on, and starts it anew', async () => {
    let longest = 0
    for (let round = 0; round < 20; round++) {
      await write(walLimitBytes / 4)
      longest = Math.max(longest, sizeOf(`${file}-wal`))
      await sleep(20)
    }
    assert.ok(longest < 4 * walLimitBytes, `the log grew to ${longest} bytes`)
    assert.ok(sizeOf(file) > 2 * walLimitBytes)
    assert.deepEqual(failures, [])
  })

  it('lost nothing', () => {
    const reader = new SqliteConnection(file, { readOnly: true })
    const row = reader.database.prepare('SELECT count(*) AS count, min(length(text)) AS length FROM notes').get()
    reader.close()
    assert.deepEqual({ ...row }, { count: written, length: rowBytes })
    assert.deepEqual({ ...connection.database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  })

  it('is held up by a reader only as long as that reads', async () => {
    const reader = new SqliteConnection(file, { readOnly: true })
    reader.database.exec('BEGIN')
    reader.database.prepare('SELECT count(*) FROM notes').get()
    const before = performance.now()
    await write(2 * walLimitBytes)
    const heldMs = performance.now() - before
    reader.database.exec('COMMIT')
    reader.close()
    assert.ok(heldMs < 5_000, `writes took ${heldMs} ms beside a reader`)
    await sleep(1_100)
    await write(walLimitBytes / 2)
    await sleep(200)
    await write(rowBytes)
    assert.ok(sizeOf(`${file}-wal`) <= 2 * walLimitBytes, `the log stayed at ${sizeOf(`${file}-wal`)} bytes`)
    assert.deepEqual(failures, [])
  })
})
