// Short connections to the PostgreSQL of a pipe, beside those of its worker: measure the WAL retained by its slot, and remove slot and
// publication. A slot that is in use is not removed.
import { hostInUrl } from '../../lib/host.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { loginOf } from './postgres-connection.ts'
import { postgresFailure } from './postgres-failure.ts'
import { openLink, PostgresError, type PostgresLink } from './postgres-link.ts'
import { escapeIdentifier, escapeLiteral } from './postgres-names.ts'

export interface MaintenanceTarget {
  source: Pick<PostgresSource, 'host' | 'port' | 'database'>
  secrets: SourceSecrets
  context: SourceContext
}

/** Names of objects that Penstock has created. */
export interface OwnObjects {
  slot?: string
  publication?: string
}

export interface RetainedLog {
  /** 0 for a missing or lost slot. */
  retainedBytes: number
  /** `safe_wal_size`: bytes until the slot can be lost; undefined without a limit. */
  safeBytes: number | undefined
}

/** `reason` is a text for users, without messages of the server. */
export class MaintenanceFailure extends Error {
  readonly reason: string

  constructor(reason: string) {
    super('maintenance at the source failed')
    this.name = 'MaintenanceFailure'
    this.reason = reason
  }
}

/** Removes the objects that exist. Rejects with a MaintenanceFailure; can be repeated. */
export async function removeOwnObjects(
  target: MaintenanceTarget,
  connectOptions: SourceAccess,
  own: OwnObjects,
): Promise<void> {
  await withLink(target, connectOptions, async (link) => {
    // The slot first, because it retains WAL.
    if (own.slot !== undefined) {
      await link.query(
        `SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
         WHERE slot_name = ${escapeLiteral(own.slot)}`,
      )
    }
    if (own.publication !== undefined) {
      await link.query(`DROP PUBLICATION IF EXISTS ${escapeIdentifier(own.publication)}`)
    }
  })
}

/** The same as SQL for users. */
export function removalStatements({ slot, publication }: OwnObjects): string {
  const statements = [
    slot === undefined ? [] : `SELECT pg_drop_replication_slot(${escapeLiteral(slot)})`,
    publication === undefined ? [] : `DROP PUBLICATION IF EXISTS ${escapeIdentifier(publication)}`,
  ]
  return statements.flat().join('; ')
}

/** Rejects with a MaintenanceFailure. */
export async function findRetained(
  target: MaintenanceTarget,
  connectOptions: SourceAccess,
  slot: string,
): Promise<RetainedLog> {
  const [found] = await withLink(target, connectOptions, (link) =>
    link.query(
      `SELECT pg_catalog.pg_wal_lsn_diff(
         CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
           ELSE pg_catalog.pg_current_wal_lsn() END, slot.restart_lsn),
         to_jsonb(slot) ->> 'wal_status', to_jsonb(slot) ->> 'safe_wal_size'
       FROM pg_catalog.pg_replication_slots slot WHERE slot.slot_name = ${escapeLiteral(slot)}`,
    ),
  )
  const [retained, status, safe] = found ?? []
  const isKept = status !== 'lost'
  return {
    retainedBytes: isKept ? bytesOf(retained ?? '0') : 0,
    safeBytes: isKept && safe ? bytesOf(safe) : undefined,
  }
}

function bytesOf(text: string): number {
  const bytes = Number(text)
  return Number.isSafeInteger(bytes) ? Math.max(0, bytes) : 0
}

async function withLink<Result>(
  { source, secrets, context }: MaintenanceTarget,
  { egress, signal }: SourceAccess,
  work: (link: PostgresLink) => Promise<Result>,
): Promise<Result> {
  try {
    const link = await openLink(loginOf(source, secrets), context, { egress, signal, isReplication: false })
    try {
      return await work(link)
    } finally {
      await link.close()
    }
  } catch (error) {
    throw new MaintenanceFailure(reasonOf(error, source, signal.aborted))
  }
}

const knownReasons = new Map([
  ['55006', 'the replication slot is in use'],
  ['42501', 'the user may not do that'],
])

function reasonOf(error: unknown, { host, port, database }: MaintenanceTarget['source'], isAborted: boolean): string {
  const address = `${hostInUrl(host)}:${port}`
  if (error instanceof ProbeFailure) return error.reason
  if (error instanceof NotConnected) return `${address} cannot be reached, or broke the connection off`
  if (!(error instanceof PostgresError)) throw error
  const known = knownReasons.get(error.code)
  if (known !== undefined) return known
  const failure = postgresFailure(error, { address, database, step: 'read', isAborted })
  return failure?.reason ?? `${address} answers with an error that is not known`
}
