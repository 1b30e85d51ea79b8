// An exported snapshot of the source, shared by several connections. The tables are locked against rewrites while it is held.
import { randomBytes } from 'node:crypto'
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { type SourceAccess, SourceChanged } from '../source.ts'
import type { PostgresAccess } from './postgres-access.ts'
import { lockFiles, type TableFiles } from './postgres-files.ts'
import { type PostgresLink, parseLsn } from './postgres-link.ts'
import { tableName } from './postgres-names.ts'
import type { MappedTable } from './postgres-tables.ts'

export interface HeldSnapshot {
  /** The snapshot has exactly the transactions committed before this LSN; 0n without CDC. */
  lsn: bigint
  /** Of all tables. */
  files: TableFiles
  /** Opens a connection with this snapshot to read one of the tables; the caller closes it. */
  open(table: MappedTable): Promise<PostgresLink>
  release(): Promise<void>
}

export interface SnapshotOptions {
  isFollowed: boolean
  tables: MappedTable[]
  /** Ends the wait for running write transactions. */
  stopping: AbortSignal
  /** Runs `work`, which waits on this link. */
  whileWaiting?: <Result>(link: PostgresLink, work: () => Promise<Result>) => Promise<Result>
}

/** Tables are locked after the snapshot is taken; a rewrite in between needs another attempt. */
const mostAttempts = 5

export async function holdSnapshot(
  access: PostgresAccess,
  connectOptions: SourceAccess,
  { isFollowed, tables, stopping, whileWaiting = (_, work) => work() }: SnapshotOptions,
): Promise<HeldSnapshot> {
  const untilStopped = { ...connectOptions, signal: AbortSignal.any([connectOptions.signal, stopping]) }
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const holder = await access.open(untilStopped, { isReplication: isFollowed })
    try {
      // The snapshot is held until the longest load ends.
      await holder.query(stayIdle)
      const exporting = (): Promise<Exported> => (isFollowed ? exportWithSlot(holder) : exportPlain(holder))
      const { lsn, name } = await whileWaiting(holder, exporting)
      const locked = await openLocked(access, untilStopped, name, tables)
      if (locked) {
        return {
          lsn,
          files: locked.files,
          async open(table) {
            // Each connection locks its own table, independent of the others.
            const own = await openLocked(access, connectOptions, name, [table])
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
      throw access.classifyError(error)
    }
    await holder.close()
  }
  const names = tables.map(({ mapping }) => tableName(mapping)).join(', ')
  throw new SourceChanged(
    `TRUNCATE, VACUUM FULL, CLUSTER or ALTER TABLE rewrote a table each of the ${mostAttempts} times that ${names} ` +
      `${tables.length === 1 ? 'was' : 'were'} about to be loaded; the load begins again`,
  )
}

/** Undefined when a table was rewritten since the snapshot. */
async function openLocked(
  access: PostgresAccess,
  connectOptions: SourceAccess,
  snapshotName: string,
  tables: MappedTable[],
): Promise<{ link: PostgresLink; files: TableFiles } | undefined> {
  const link = await access.open(connectOptions, { isReplication: false })
  let files: TableFiles | undefined
  try {
    await link.query(stayIdle)
    await link.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await link.query(`SET TRANSACTION SNAPSHOT '${snapshotName}'`)
    files = await lockFiles(link, tables)
    return files && { link, files }
  } catch (error) {
    throw access.classifyError(error)
  } finally {
    if (!files) await link.close()
  }
}

const stayIdle = 'SET idle_in_transaction_session_timeout = 0'

interface Exported {
  lsn: bigint
  name: string
}

/** Creating a temporary slot exports a snapshot at an exact LSN. */
async function exportWithSlot(holder: PostgresLink): Promise<Exported> {
  // It waits for all running write transactions, which can take longer than lock_timeout.
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
  if (!name || !/^[0-9A-Fa-f-]+$/.test(name)) throw new Error('the server returned an invalid snapshot name')
  return name
}
