import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
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
  /** Returns the longest duration of a write. */
  async function write(bytes: number): Promise<number> {
    const insert = connection.database.prepare('INSERT INTO notes VALUES (?, ?)')
    let longestMs = 0
    for (const end = written + bytes / rowBytes; written < end; ) {
      const before = performance.now()
      await connection.begin()
      insert.run(++written, 'x'.repeat(rowBytes))
      await connection.commit()
      checkpoints.consider()
      await nextTurn()
      longestMs = Math.max(longestMs, performance.now() - before)
    }
    return longestMs
  }
  /** Slows the writes down, so that the thread gets enough time on a busy machine. */
  async function writeUntilCutBack(): Promise<void> {
    const size = () => sizeOf(`${file}-wal`)
    for (let tries = 0; size() > 2 * walLimitBytes && tries < 300; tries++) {
      await sleep(100)
      await write(rowBytes)
    }
    assert.ok(size() <= 2 * walLimitBytes, `the log stayed at ${size()} bytes`)
  }

  it('leaves a short log alone', async () => {
    await write(walLimitBytes / 2)
    await sleep(50)
    assert.ok(sizeOf(`${file}-wal`) > walLimitBytes / 2)
    assert.ok(sizeOf(file) < rowBytes)
  })

  it('moves a long log into the file while writes continue, and restarts it', async () => {
    let longest = 0
    for (let round = 0; round < 20; round++) {
      await write(walLimitBytes / 4)
      longest = Math.max(longest, sizeOf(`${file}-wal`))
      await sleep(20)
      await writeUntilCutBack()
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

  it('is blocked by a reader only while it reads', async () => {
    const reader = new SqliteConnection(file, { readOnly: true })
    reader.database.exec('BEGIN')
    reader.database.prepare('SELECT count(*) FROM notes').get()
    const heldMs = await write(2 * walLimitBytes)
    reader.database.exec('COMMIT')
    reader.close()
    // A write that waited for the reader would take 5 seconds.
    assert.ok(heldMs < 4_500, `a write took ${heldMs} ms beside a reader`)
    await sleep(1_100)
    await write(walLimitBytes / 2)
    await writeUntilCutBack()
    assert.deepEqual(failures, [])
  })

  it('starts another thread after a failure, without waiting for the ended one', async () => {
    const other = join(folder, 'other.db')
    const writer = new SqliteConnection(other, { readOnly: false })
    writer.database.exec('CREATE TABLE notes (number integer PRIMARY KEY, text text NOT NULL)')
    const insert = writer.database.prepare('INSERT INTO notes (text) VALUES (?)')
    while (!existsSync(`${other}-wal`) || sizeOf(`${other}-wal`) <= walLimitBytes) insert.run('x'.repeat(rowBytes))
    const verdicts: string[] = []
    const watched = new Checkpoints(other, writer, { onFailure: (verdict) => verdicts.push(verdict) })
    // The thread finds a folder instead of the file, which the writer has open.
    renameSync(other, `${other}.away`)
    mkdirSync(other)
    watched.consider()
    for (let tries = 0; verdicts.length === 0 && tries < 3_000; tries++) await sleep(10)
    assert.deepEqual(verdicts, ['unavailable'])

    rmdirSync(other)
    renameSync(`${other}.away`, other)
    await sleep(1_050)
    watched.consider()
    const isMoved = (): boolean => sizeOf(other) > walLimitBytes / 2
    for (let tries = 0; !isMoved() && tries < 3_000; tries++) await sleep(10)
    assert.ok(isMoved(), 'the log was not moved by another thread')
    await watched.close()
    writer.close()
  })
})
