// A moment of the source that several connections see alike, for as long as it is held.
import { randomBytes } from 'node:crypto'
import type { Surroundings } from '../source.ts'
import type { PostgresAccess } from './postgres-access.ts'
import { type PostgresLink, parseLsn } from './postgres-link.ts'

export interface HeldSnapshot {
  /** Exactly the transactions that were committed before it are in it; 0n where nothing is followed. */
  lsn: bigint
  /** A connection that sees it; the caller closes it. */
  open(): Promise<PostgresLink>
  release(): Promise<void>
}

export async function holdSnapshot(
  access: PostgresAccess,
  surroundings: Surroundings,
  { isFollowed }: { isFollowed: boolean },
): Promise<HeldSnapshot> {
  const holder = await access.open(surroundings, { isReplication: isFollowed })
  try {
    // It is held for as long as the largest load takes.
    await holder.query(stayIdle)
    const { lsn, name } = isFollowed ? await exportWithSlot(holder) : await exportPlain(holder)
    return {
      lsn,
      async open() {
        const link = await access.open(surroundings, { isReplication: false })
        try {
          await link.query(stayIdle)
          await link.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
          await link.query(`SET TRANSACTION SNAPSHOT '${name}'`)
          return link
        } catch (error) {
          await link.close()
          throw access.judge(error)
        }
      },
      release: () => holder.close(),
    }
  } catch (error) {
    await holder.close()
    throw access.judge(error)
  }
}

const stayIdle = 'SET idle_in_transaction_session_timeout = 0'

interface Exported {
  lsn: bigint
  name: string
}

/** A slot that goes with its connection knows exactly which transactions its snapshot has. */
async function exportWithSlot(holder: PostgresLink): Promise<Exported> {
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
