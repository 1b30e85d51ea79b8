// SQLite through node:sqlite. One process owns the file; in it one thread writes (sqlite-writer.ts) and the main thread
// reads, so that a slow disk stalls writes and nothing else.
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
/** Our own readers are gone in a moment; a backup that reads for longer must not hold up writes. */
const restartTimeoutMs = 50
/**
 * A log longer than this is due to be moved into the database file. The longer, the more often a page that changed is one that
 * had changed already, or its neighbour: less to write. The shorter, the sooner it is read again after a crash.
 */
export const walLimitBytes = 64 * 1_048_576

/** Less than an open log and its index take. */
const leastFreeBytes = 65_536

/** Why a database file cannot be opened, and what to do: `otherwise`, unless the disk is full. */
export function openFailure(file: string, error: unknown, otherwise = cannotBeWritten(file)): string {
  const isFull = isDiskFull(dirname(file), error)
  return isFull ? `The disk of ${file} is full. Free some space, and start again.` : otherwise
}

function cannotBeWritten(file: string): string {
  return `The database file ${file} cannot be opened: is it a Penstock database, and may it be written?`
}

/** By the error; what SQLite reports otherwise, such as a log that it cannot create, by what is left. */
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
    // A change of a row writes its whole page to the log and later to the file: small pages, less to write. A file that
    // exists keeps the size it was made with.
    this.database.exec('PRAGMA page_size = 2048')
    this.#require('journal_mode', 'WAL', 'wal')
    this.#require('synchronous', 'FULL', 2)
    this.#require('foreign_keys', 'ON', 1)
    this.#require('secure_delete', 'ON', 1)
    this.#require('temp_store', 'MEMORY', 2)
    // Room for the pages of a large store, taken only as they are read.
    this.#require('cache_size', '-262144', -262144)
    // Never in the middle of a commit: see sqlite-checkpoint.ts.
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
    // After some errors SQLite has ended it already.
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
    // SQLite rolls the whole transaction back by itself on some errors, such as a full disk.
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
   * A descriptor of the database file, to sync it by. To close one, whichever, frees all locks that this process has on the
   * file: it stays open until this connection is closed, which must be the last of the process.
   */
  descriptor(): number {
    this.#descriptor ??= openSync(this.#file, 'r')
    return this.#descriptor
  }

  /**
   * Moves what is in the write-ahead log into the file, as far as readers let it; commits go on meanwhile. When one did, SQLite
   * has not synced the file.
   */
  moveLog(): void {
    this.database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
  }

  /** The same, and lets the log start anew. False when a reader still needs the log. */
  restartLog(): boolean {
    this.database.exec(`PRAGMA busy_timeout = ${restartTimeoutMs}`)
    try {
      const { busy } = this.database.prepare('PRAGMA wal_checkpoint(RESTART)').get() as { busy: number }
      return busy === 0
    } finally {
      this.database.exec(`PRAGMA busy_timeout = ${timeoutMs}`)
    }
  }

  judge(error: unknown): Verdict {
    if (error instanceof Problem) return 'write-failed'
    const code = (error as { errcode?: unknown }).errcode
    if (typeof code !== 'number') return 'write-failed'
    if (code === SQLITE_IOERR_FSYNC || code === SQLITE_IOERR_DIR_FSYNC) return 'fatal'
    const primary = code & 0xff
    const away = [SQLITE_BUSY, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN]
    return away.includes(primary) ? 'unavailable' : 'write-failed'
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

  // A setting that SQLite silently did not take would be a promise broken in silence.
  #require(pragma: string, wanted: string, expected: string | number): void {
    this.database.exec(`PRAGMA ${pragma} = ${wanted}`)
    const row = this.database.prepare(`PRAGMA ${pragma}`).get() as Record<string, unknown>
    const actual = Object.values(row)[0]
    if (actual !== expected) throw new Error(`SQLite did not accept ${pragma}=${wanted}: it is ${String(actual)}`)
  }

  // A file that it cannot open for writing, if only for a moment, SQLite opens for reading, without a word: every write would
  // be refused for as long as the connection lives.
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
 * Makes sure that this process is the only one on the file, by a lock that the operating system frees when the process
 * dies. Returns undefined when another process holds it.
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
    // The last one is never committed. It is refused where SQLite could open the file for reading only, and locked nothing.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1')
  } catch (error) {
    lock.close()
    const code = (error as { errcode?: unknown }).errcode
    if (typeof code === 'number' && (code & 0xff) === SQLITE_BUSY) return undefined
    throw refuse(error)
  }
  return { release: () => lock.close() }
}
