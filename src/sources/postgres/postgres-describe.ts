// What a worker needs to know of the tables that it replicates, with the judgement of a probe: what is wrong is told before
// anything is begun.

import pg from 'pg'
import { hostInUrl } from '../../lib/host.ts'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import { NotConnected, type ProbeFailure, type ProbeStep, type SourceContext, type SourceAccess } from '../source.ts'
import { loadServer, type Server } from './postgres-catalogue.ts'
import { type Login, openSession, type PostgresSession } from './postgres-connection.ts'
import { type FoundCoverage, loadCoverage } from './postgres-coverage.ts'
import { isPassingFailure, isPassingState, postgresFailure } from './postgres-failure.ts'
import { checkPublication, checkReplication, checkVersion } from './postgres-replication.ts'
import { loadMappedTables, type MappedTable } from './postgres-tables.ts'

export interface DescribedTable extends MappedTable {
  /** Undefined where no changes are followed. */
  coverage: FoundCoverage | undefined
}

export interface DescribedSource {
  server: Server
  /** In the order of the mappings. */
  tables: DescribedTable[]
}

/** Names of what the pipe reads the log with, which need not be there yet and may be in use. */
export interface ReplicationNames {
  slot: string
  publication: string
}

/** Rejects with a ProbeFailure for what the user must mend, and otherwise with NotConnected. */
export async function describeSource(
  config: PostgresSource,
  login: Login,
  context: SourceContext,
  { names, egress, signal }: SourceAccess & { names: ReplicationNames },
): Promise<DescribedSource> {
  let step: ProbeStep = 'connect'
  const begin = (next: ProbeStep): void => {
    step = next
  }
  try {
    const session = await openSession(login, context, { egress, signal, begin, maxRecords: 0 })
    try {
      return await describe(session, config, names)
    } finally {
      await session.close()
    }
  } catch (error) {
    const { host, port, database } = login
    const place = `${hostInUrl(host)}:${port}`
    const failure = postgresFailure(error, { place, database, step, isAborted: signal.aborted })
    throw failure && isPassing(failure, error) ? new NotConnected(undefined, failure) : (failure ?? error)
  }
}

/** What a server that is up refuses may be something that only its user can mend. */
function isPassing(failure: ProbeFailure, error: unknown): boolean {
  const state = error instanceof pg.DatabaseError ? error.code : undefined
  return state === undefined ? isPassingFailure(failure, error) : isPassingState(state)
}

async function describe(
  session: PostgresSession,
  config: PostgresSource,
  { slot, publication }: ReplicationNames,
): Promise<DescribedSource> {
  const server = await loadServer(session)
  checkVersion(server)
  const isFollowed = config.settings.replicationMode !== 'snapshot'
  if (isFollowed) await checkReplication(session, server, config, slot)
  const tables = await loadMappedTables(session, config)
  if (!isFollowed) return { server, tables: tables.map((table) => ({ ...table, coverage: undefined })) }
  await checkPublication(session, server, config, tables)
  const tableIds = [...new Set(tables.map(({ found }) => found.id))]
  const coverage = await loadCoverage(session, { publication, tableIds, serverVersion: server.version })
  return { server, tables: tables.map((table) => ({ ...table, coverage: coverage.get(table.found.id) })) }
}
