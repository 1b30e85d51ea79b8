// Checks of the SQLite file, without changing or locking it, because a server may have it open.
import { existsSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SqliteConnection } from '../database/sqlite.ts'
import { inUnits } from './disk.ts'
import { dataFileIssues } from './files.ts'
import { type Finding, type Issue, problem, type Report, toFinding, warning } from './finding.ts'
import { checkSchema } from './schema.ts'
import { readSqliteFacts } from './store.ts'

/** Reports findings; true when this version can read the tables. */
export function examineSqlite(file: string, report: Report): boolean {
  if (!existsSync(file)) {
    const remedy = 'set PENSTOCK_DATA to the folder that has the data; a new Penstock is made by "penstock init"'
    report(toFinding('database', '', [problem(`there is no SQLite database at ${file}`, remedy)]))
    return false
  }
  const issues = ['', '-wal', '-shm', '.lock'].flatMap((ending) => dataFileIssues(`${file}${ending}`))
  let connection: SqliteConnection | undefined
  try {
    connection = new SqliteConnection(file, { readOnly: true })
    const { version, journalMode, applied } = readSqliteFacts(connection)
    report(toFinding('database', `SQLite ${version} at ${file} (${inUnits(sizeOf(file))})`, issues))
    report(checkDurability(file, journalMode))
    const schema = checkSchema(applied)
    report(schema)
    return schema.verdict === 'ok'
  } catch {
    const found = `${file} cannot be read: it is damaged, no database, or closed to this user`
    const remedy = 'run this as the user of the server; if that does not help, restore a backup into an empty folder'
    report(toFinding('database', '', [...issues, problem(found, remedy)]))
    return false
  } finally {
    connection?.close()
  }
}

/** Size including the write-ahead log. */
function sizeOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0)
}

function checkDurability(file: string, journalMode: string): Finding {
  const issues: Issue[] = []
  if (journalMode !== 'wal') {
    const remedy = 'start Penstock once, which sets it; if it stays, see what else opens the file'
    issues.push(warning(`journal_mode=${journalMode}: no Penstock had the file open last`, remedy))
  }
  if (!canBeMadeBeside(file)) {
    const found = `in ${dirname(file)} no database can be made with journal_mode=WAL and synchronous=FULL`
    const remedy = 'let this user write there, on a file system of a disk of this machine'
    issues.push(problem(found, remedy))
  }
  return toFinding('durability', 'journal_mode=WAL, synchronous=FULL', issues)
}

/** Creates a temporary database with the server's settings, which are read back. */
function canBeMadeBeside(file: string): boolean {
  const trial = join(dirname(file), `.doctor-${process.pid}.db`)
  try {
    new SqliteConnection(trial, { readOnly: false }).close()
    return true
  } catch {
    return false
  } finally {
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(`${trial}${ending}`, { force: true })
  }
}
