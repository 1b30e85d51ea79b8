// SQLite as the server would open it, looked at beside a server that may have it open: nothing of it is changed or locked.
import { existsSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SqliteConnection } from '../database/sqlite.ts'
import { inUnits } from './disk.ts'
import { complainOfDataFile } from './files.ts'
import { type Complaint, type Finding, judge, problem, type Tell, warning } from './finding.ts'
import { checkSchema } from './schema.ts'
import { readSqliteFacts } from './store.ts'

/** Tells what it finds; true when the tables can be read by this version. */
export function examineSqlite(file: string, tell: Tell): boolean {
  if (!existsSync(file)) {
    const remedy = 'set PENSTOCK_DATA to the folder that has the data; a new Penstock is made by "penstock init"'
    tell(judge('database', '', [problem(`there is no SQLite database at ${file}`, remedy)]))
    return false
  }
  const complaints = ['', '-wal', '-shm', '.lock'].flatMap((ending) => complainOfDataFile(`${file}${ending}`))
  let connection: SqliteConnection | undefined
  try {
    connection = new SqliteConnection(file, { readOnly: true })
    const { version, journalMode, applied } = readSqliteFacts(connection)
    tell(judge('database', `SQLite ${version} at ${file} (${inUnits(sizeOf(file))})`, complaints))
    tell(checkDurability(file, journalMode))
    const schema = checkSchema(applied)
    tell(schema)
    return schema.verdict === 'ok'
  } catch {
    const found = `${file} cannot be read: it is damaged, no database, or closed to this user`
    const remedy = 'run this as the user of the server; if that does not help, restore a backup into an empty folder'
    tell(judge('database', '', [...complaints, problem(found, remedy)]))
    return false
  } finally {
    connection?.close()
  }
}

/** With the log that has not been moved into it yet. */
function sizeOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0)
}

function checkDurability(file: string, journalMode: string): Finding {
  const complaints: Complaint[] = []
  if (journalMode !== 'wal') {
    const remedy = 'start Penstock once, which sets it; if it stays, see what else opens the file'
    complaints.push(warning(`journal_mode=${journalMode}: no Penstock had the file open last`, remedy))
  }
  if (!canBeMadeBeside(file)) {
    const found = `in ${dirname(file)} no database can be made with journal_mode=WAL and synchronous=FULL`
    const remedy = 'let this user write there, on a file system of a disk of this machine'
    complaints.push(problem(found, remedy))
  }
  return judge('durability', 'journal_mode=WAL, synchronous=FULL', complaints)
}

/** Opened as the server opens its own, which reads every setting back. */
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
