// Short visits to the PostgreSQL of a pipe, beside the connections of its worker: how much log its slot keeps there, and what it has
// left behind. Nobody's connection is ended for it.
import pg from 'pg'
import { hostInUrl } from '../../lib/host.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import { NotConnected, ProbeFailure, type SourceContext, type SourceAccess } from '../source.ts'
import { loginOf } from './postgres-connection.ts'
import { postgresFailure } from './postgres-failure.ts'
import { openLink, PostgresError, type PostgresLink } from './postgres-link.ts'

export interface Visited {
  place: Pick<PostgresSource, 'host' | 'port' | 'database'>
  secrets: SourceSecrets
  context: SourceContext
}

/** What Penstock has made, by name. */
export interface OwnThings {
  slot?: string
  publication?: string
}

export interface RetainedLog {
  /** 0 of a slot that is gone, or that the server has given up. */
  retainedBytes: number
  /** Before the server gives the slot up; undefined when it never does, or does not say. */
  safeBytes: number | undefined
}

/** Says in our own words why it was in vain. */
export class VisitFailure extends Error {
  readonly reason: string

  constructor(reason: string) {
    super('a visit was in vain')
    this.name = 'VisitFailure'
    this.reason = reason
  }
}

/** Removes those of them that are there. Rejects with a VisitFailure; the same again does the rest. */
export async function removeOwn(visited: Visited, surroundings: SourceAccess, own: OwnThings): Promise<void> {
  await visit(visited, surroundings, async (link) => {
    // First what keeps the log.
    if (own.slot !== undefined) {
      await link.query(
        `SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
         WHERE slot_name = ${pg.escapeLiteral(own.slot)}`,
      )
    }
    if (own.publication !== undefined) {
      await link.query(`DROP PUBLICATION IF EXISTS ${pg.escapeIdentifier(own.publication)}`)
    }
  })
}

/** For people, who do the same by hand. */
export function removalStatements({ slot, publication }: OwnThings): string {
  const statements = [
    slot === undefined ? [] : `SELECT pg_drop_replication_slot(${pg.escapeLiteral(slot)})`,
    publication === undefined ? [] : `DROP PUBLICATION IF EXISTS ${pg.escapeIdentifier(publication)}`,
  ]
  return statements.flat().join('; ')
}

/** Rejects with a VisitFailure. */
export async function findRetained(visited: Visited, surroundings: SourceAccess, slot: string): Promise<RetainedLog> {
  const [found] = await visit(visited, surroundings, (link) =>
    link.query(
      `SELECT pg_catalog.pg_wal_lsn_diff(
         CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
           ELSE pg_catalog.pg_current_wal_lsn() END, slot.restart_lsn),
         to_jsonb(slot) ->> 'wal_status', to_jsonb(slot) ->> 'safe_wal_size'
       FROM pg_catalog.pg_replication_slots slot WHERE slot.slot_name = ${pg.escapeLiteral(slot)}`,
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

async function visit<Result>(
  { place, secrets, context }: Visited,
  { egress, signal }: SourceAccess,
  work: (link: PostgresLink) => Promise<Result>,
): Promise<Result> {
  try {
    const link = await openLink(loginOf(place, secrets), context, { egress, signal, isReplication: false })
    try {
      return await work(link)
    } finally {
      await link.close()
    }
  } catch (error) {
    throw new VisitFailure(reasonOf(error, place, signal.aborted))
  }
}

const knownReasons = new Map([
  ['55006', 'the replication slot is in use'],
  ['42501', 'the user may not do that'],
])

function reasonOf(error: unknown, { host, port, database }: Visited['place'], isAborted: boolean): string {
  const place = `${hostInUrl(host)}:${port}`
  if (error instanceof ProbeFailure) return error.reason
  if (error instanceof NotConnected) return `${place} cannot be reached, or broke the connection off`
  if (!(error instanceof PostgresError)) throw error
  const known = knownReasons.get(error.code)
  if (known !== undefined) return known
  const failure = postgresFailure(error, { place, database, step: 'read', isAborted })
  return failure?.reason ?? `${place} answers with an error that is not known`
}
