// SQLite connections (node:sqlite). One process owns the file: its writer thread writes (sqlite-writer.ts) and its main thread
// reads, so that a slow disk delays writes only.
import { closeSync, openSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Problem } from '../lib/problem.ts'
import { StartError } from '../lib/start-error.ts'
import type { Verdict, WriteConnection } from './group-commit.ts'
import { bind, type PreparedText, type SqlValues, type Statement } from './sql.ts'

const SQLITE_BUSY = 5
const SQLITE_READONLY = 8
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26
const SQLITE_IOERR_FSYNC = 1034
const SQLITE_IOERR_DIR_FSYNC = 1290

const timeoutMs = 5_000
/** Long enough for our own readers; a backup, which reads for longer, must not block writes. */
const restartTimeoutMs = 50
/**
 * A longer log is moved into the database file. A high limit means less to write, because more changes hit the same or adjacent
 * pages. A low limit means a faster restart after a crash.
 */
export const walLimitBytes = 64 * 1_048_576

/** Less than the log and its index need. */
const leastFreeBytes = 65_536

/** Error message for a database file that cannot be opened: disk full, or else `otherwise`. */
export function openFailure(file: string, error: unknown, otherwise = cannotBeWritten(file)): string {
  const isFull = isDiskFull(dirname(file), error)
  return isFull ? `The disk of ${file} is full. Free some space, and start again.` : otherwise
}

function cannotBeWritten(file: string): string {
  return `The database file ${file} cannot be opened: is it a Penstock database, and may it be written?`
}

/** Checks the error, then the free space: SQLite reports other codes too, for example when it cannot create its log. */
export function isDiskFull(folder: string, error: unknown, statfs = statfsSync): boolean {
  const { errcode, code } = error as { errcode?: number; code?: string }
  const primary = (errcode ?? 0) & 0xff
  if (primary === SQLITE_FULL || code === 'ENOSPC') return true
  if (primary === SQLITE_NOTADB || primary === SQLITE_CORRUPT) return false
  try {
    const { bavail, bsize, files, ffree } = statfs(folder)
    // Some file systems do not count files.
    return bavail * bsize < leastFreeBytes || (files > 0 && ffree === 0)
  } catch {
    return false
  }
}

export class SqliteConnection implements WriteConnection {
  readonly dialect = 'sqlite'
  readonly database: DatabaseSync
  changeCount = 0
  readonly #file: string
  readonly #prepared = new Map<string, StatementSync>()
  #descriptor: number | undefined

  constructor(file: string, options: { readOnly: boolean }) {
    this.#file = file
    this.database = new DatabaseSync(file, { readOnly: options.readOnly, timeout: timeoutMs })
    if (options.readOnly) return
    // A changed row writes its whole page to the log and later to the file, so small pages mean less to write. An existing file
    // keeps its page size.
    this.database.exec('PRAGMA page_size = 2048')
    this.#require('journal_mode', 'WAL', 'wal')
    this.#require('synchronous', 'FULL', 2)
    this.#require('foreign_keys', 'ON', 1)
    this.#require('secure_delete', 'ON', 1)
    this.#require('temp_store', 'MEMORY', 2)
    // 256 MiB, allocated only as pages are read.
    this.#require('cache_size', '-262144', -262144)
    // Checkpoints run in their own thread: see sqlite-checkpoint.ts.
    this.#require('wal_autocheckpoint', '0', 0)
    this.#require('journal_size_limit', String(walLimitBytes), walLimitBytes)
    this.#requireWritable()
  }

  async all<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]> {
    const prepared = statement.for('sqlite')
    return this.#prepare(prepared).all(...bind(prepared, values)) as Row[]
  }

  async first<Values extends SqlValues, Row>(
    statement: Statement<Values, Row>,
    values: Values,
  ): Promise<Row | undefined> {
    const prepared = statement.for('sqlite')
    return this.#prepare(prepared).get(...bind(prepared, values)) as Row | undefined
  }

  async run<Values extends SqlValues, Row>(statement: Statement<Values, Row>, values: Values): Promise<number> {
    this.changeCount++
    const prepared = statement.for('sqlite')
    return Number(this.#prepare(prepared).run(...bind(prepared, values)).changes)
  }

  beginRead(): void {
    this.#execute('BEGIN')
  }

  endRead(): void {
    // After some errors SQLite has already ended the transaction.
    if (this.database.isTransaction) this.#execute('COMMIT')
  }

  async begin(): Promise<void> {
    this.#execute('BEGIN IMMEDIATE')
  }

  async savepoint(): Promise<void> {
    this.#execute('SAVEPOINT one_write')
  }

  async release(): Promise<void> {
    this.#execute('RELEASE one_write')
  }

  async undo(): Promise<boolean> {
    // On some errors, such as a full disk, SQLite has already rolled back the whole transaction.
    if (!this.database.isTransaction) return false
    this.database.exec('ROLLBACK TO one_write; RELEASE one_write')
    return true
  }

  async commit(): Promise<void> {
    this.#execute('COMMIT')
  }

  async rollback(): Promise<void> {
    if (this.database.isTransaction) this.database.exec('ROLLBACK')
  }

  /**
   * File descriptor for fsync. Closing any descriptor of the file frees all locks of this process on it (POSIX), so it stays open
   * until this connection closes, which must be the last of the process.
   */
  descriptor(): number {
    this.#descriptor ??= openSync(this.#file, 'r')
    return this.#descriptor
  }

  /**
   * Moves the write-ahead log into the file as far as readers allow, while commits continue. SQLite does not sync the file if one
   * was committed during the checkpoint.
   */
  moveLog(): void {
    this.database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
  }

  /** Moves the rest and restarts the log. False when a reader still needs the log. */
  restartLog(): boolean {
    this.database.exec(`PRAGMA busy_timeout = ${restartTimeoutMs}`)
    try {
      const { busy } = this.database.prepare('PRAGMA wal_checkpoint(RESTART)').get() as { busy: number }
      return busy === 0
    } finally {
      this.database.exec(`PRAGMA busy_timeout = ${timeoutMs}`)
    }
  }

  classify(error: unknown): Verdict {
    if (error instanceof Problem) return 'write-failed'
    const code = (error as { errcode?: unknown }).errcode
    if (typeof code !== 'number') return 'write-failed'
    if (code === SQLITE_IOERR_FSYNC || code === SQLITE_IOERR_DIR_FSYNC) return 'fatal'
    const primary = code & 0xff
    const unavailableCodes = [SQLITE_BUSY, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN]
    return unavailableCodes.includes(primary) ? 'unavailable' : 'write-failed'
  }

  close(): void {
    this.#prepared.clear()
    if (this.database.isOpen) this.database.close()
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #execute(text: string): void {
    this.#prepare({ name: text, text }).run()
  }

  #prepare({ name, text }: Pick<PreparedText, 'name' | 'text'>): StatementSync {
    let prepared = this.#prepared.get(name)
    if (!prepared) {
      prepared = this.database.prepare(text)
      this.#prepared.set(name, prepared)
    }
    return prepared
  }

  // SQLite silently ignores settings that it does not accept, so each is read back.
  #require(pragma: string, value: string, expected: string | number): void {
    this.database.exec(`PRAGMA ${pragma} = ${value}`)
    const row = this.database.prepare(`PRAGMA ${pragma}`).get() as Record<string, unknown>
    const actual = Object.values(row)[0]
    if (actual !== expected) throw new Error(`SQLite did not accept ${pragma}=${value}: it is ${String(actual)}`)
  }

  // SQLite silently opens a file read-only when it cannot open it for writing, even temporarily. All writes of that connection
  // would then fail.
  #requireWritable(): void {
    try {
      this.database.exec('BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK')
    } catch (error) {
      this.close()
      throw error
    }
  }
}

/**
 * Ensures that this process is the only one on the file, with a lock that the operating system frees when the process
 * exits. Returns undefined when another process holds it.
 */
export function lockFile(file: string): { release(): void } | undefined {
  const refuse = (error: unknown): StartError => {
    const refusal = `${file} cannot be opened. May this user write to the data folder?`
    return new StartError(openFailure(file, error, refusal), { cause: error })
  }
  let lock: DatabaseSync
  try {
    lock = new DatabaseSync(file, { timeout: 0 })
  } catch (error) {
    throw refuse(error)
  }
  try {
    // The last statement is never committed. It fails where SQLite could only open the file read-only and has locked nothing.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1')
  } catch (error) {
    lock.close()
    const code = (error as { errcode?: unknown }).errcode
    if (typeof code === 'number' && (code & 0xff) === SQLITE_BUSY) return undefined
    throw refuse(error)
  }
  return { release: () => lock.close() }
}
