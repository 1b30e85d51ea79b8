// A moment of the source that several connections see alike, for as long as it is held. The tables that are read stay where they lie.
import { randomBytes } from 'node:crypto'
import { NotConnected, SourceChanged, type SourceAccess } from '../source.ts'
import type { PostgresAccess } from './postgres-access.ts'
import { lockFiles, type TableFiles } from './postgres-files.ts'
import { type PostgresLink, parseLsn } from './postgres-link.ts'
import type { MappedTable } from './postgres-tables.ts'
import { tableName } from './postgres-words.ts'

export interface HeldSnapshot {
  /** Exactly the transactions that were committed before it are in it; 0n where nothing is followed. */
  lsn: bigint
  /** Of all tables. */
  files: TableFiles
  /** A connection that sees it, to read one of the tables; the caller closes it. */
  open(table: MappedTable): Promise<PostgresLink>
  release(): Promise<void>
}

export interface SnapshotOptions {
  isFollowed: boolean
  tables: MappedTable[]
  /** To begin with, it may have to wait for all who are writing. */
  stopping: AbortSignal
  /** Runs what waits on this link. */
  whileWaiting?: <Result>(link: PostgresLink, work: () => Promise<Result>) => Promise<Result>
}

/** Tables are locked a little later than they are seen: somebody may come between. */
const mostAttempts = 5

export async function holdSnapshot(
  access: PostgresAccess,
  surroundings: SourceAccess,
  { isFollowed, tables, stopping, whileWaiting = (_, work) => work() }: SnapshotOptions,
): Promise<HeldSnapshot> {
  const whileWanted = { ...surroundings, signal: AbortSignal.any([surroundings.signal, stopping]) }
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const holder = await access.open(whileWanted, { isReplication: isFollowed })
    try {
      // It is held for as long as the largest load takes.
      await holder.query(stayIdle)
      const exporting = (): Promise<Exported> => (isFollowed ? exportWithSlot(holder) : exportPlain(holder))
      const { lsn, name } = await whileWaiting(holder, exporting)
      const locked = await openLocked(access, whileWanted, name, tables)
      if (locked) {
        return {
          lsn,
          files: locked.files,
          async open(table) {
            // Each holds what it reads, whatever becomes of the others.
            const own = await openLocked(access, surroundings, name, [table])
            if (!own) throw new NotConnected()
            return own.link
          },
          async release() {
            await Promise.all([locked.link.close(), holder.close()])
          },
        }
      }
    } catch (error) {
      await holder.close()
      throw access.judge(error)
    }
    await holder.close()
  }
  const names = tables.map(({ mapping }) => tableName(mapping)).join(', ')
  throw new SourceChanged(
    `TRUNCATE, VACUUM FULL, CLUSTER or ALTER TABLE rewrote a table each of the ${mostAttempts} times that ${names} ` +
      `${tables.length === 1 ? 'was' : 'were'} about to be loaded; the load begins again`,
  )
}

/** Undefined when the snapshot does not see the tables as they lie now. */
async function openLocked(
  access: PostgresAccess,
  surroundings: SourceAccess,
  snapshotName: string,
  tables: MappedTable[],
): Promise<{ link: PostgresLink; files: TableFiles } | undefined> {
  const link = await access.open(surroundings, { isReplication: false })
  let files: TableFiles | undefined
  try {
    await link.query(stayIdle)
    await link.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await link.query(`SET TRANSACTION SNAPSHOT '${snapshotName}'`)
    files = await lockFiles(link, tables)
    return files && { link, files }
  } catch (error) {
    throw access.judge(error)
  } finally {
    if (!files) await link.close()
  }
}

const stayIdle = 'SET idle_in_transaction_session_timeout = 0'

interface Exported {
  lsn: bigint
  name: string
}

/** A slot that goes with its connection knows exactly which transactions its snapshot has. */
async function exportWithSlot(holder: PostgresLink): Promise<Exported> {
  // It waits for all who are writing, which may take longer than anything else here may wait for a lock.
  await holder.query('SET lock_timeout = 0')
  const slot = `penstock_load_${randomBytes(6).toString('hex')}`
  const [created] = await holder.query(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT`)
  const [, lsn, name] = created ?? []
  return { lsn: parseLsn(lsn ?? ''), name: checkName(name) }
}

async function exportPlain(holder: PostgresLink): Promise<Exported> {
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const [exported] = await holder.query('SELECT pg_catalog.pg_export_snapshot()')
  return { lsn: 0n, name: checkName(exported?.[0]) }
}

function checkName(name: string | null | undefined): string {
  if (!name || !/^[0-9A-Fa-f-]+$/.test(name)) throw new Error('a server gave a snapshot a name that none has')
  return name
}
