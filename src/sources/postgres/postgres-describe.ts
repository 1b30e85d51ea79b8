// Describes the tables that a worker replicates, with the same checks as a probe, so that errors are reported before it starts.

import { hostInUrl } from '../../lib/host.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { ProbeStep } from '../../source-shapes/probe.ts'
import { NotConnected, type ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { loadServer, type Server } from './postgres-catalog.ts'
import { type Login, openSession, type PostgresSession } from './postgres-connection.ts'
import { type FoundCoverage, loadCoverage } from './postgres-coverage.ts'
import { isPassingFailure, isPassingState, postgresFailure } from './postgres-failure.ts'
import { PostgresError } from './postgres-messages.ts'
import { checkPublication, checkReplication, checkVersion } from './postgres-replication.ts'
import { loadMappedTables, type MappedTable } from './postgres-tables.ts'

export interface DescribedTable extends MappedTable {
  /** Undefined without CDC. */
  coverage: FoundCoverage | undefined
}

export interface DescribedSource {
  server: Server
  /** In the order of the mappings. */
  tables: DescribedTable[]
}

/** Names of the pipe's slot and publication, which may not exist yet or may be in use. */
export interface ReplicationNames {
  slot: string
  publication: string
}

/** Rejects with a ProbeFailure for errors that the user must fix, otherwise with NotConnected. */
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
    const address = `${hostInUrl(host)}:${port}`
    const failure = postgresFailure(error, { address, database, step, isAborted: signal.aborted })
    throw failure && isPassing(failure, error) ? new NotConnected(undefined, failure) : (failure ?? error)
  }
}

/** An SQLSTATE decides first: errors of a running server are often ones that only its user can fix. */
function isPassing(failure: ProbeFailure, error: unknown): boolean {
  const state = error instanceof PostgresError ? error.code : undefined
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
