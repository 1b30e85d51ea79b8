// Probe of a PostgreSQL source: checks for initial load and change data capture (CDC), and samples of the first rows.
import { hostInUrl } from '../../lib/host.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import type { ProbeResult, ProbeStep } from '../../source-shapes/probe.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { ProbeOptions, Source, SourceContext } from '../source.ts'
import { listTables, loadServer } from './postgres-catalog.ts'
import { type Login, loginOf, openSession, type PostgresSession } from './postgres-connection.ts'
import { postgresFailure } from './postgres-failure.ts'
import { checkPublication, checkReplication, checkVersion } from './postgres-replication.ts'
import { readRows, toSample } from './postgres-sample.ts'
import { loadMappedTables, type MappedTable } from './postgres-tables.ts'

const mostTables = 1_000

/** Without mappings, a probe only lists the tables and does not check the replication setup. */
export function makePostgresSource(config: PostgresSource, secrets: SourceSecrets, context: SourceContext): Source {
  const { host, port, database } = config
  const login = loginOf(config, secrets)
  return {
    async probe(options) {
      let step: ProbeStep = 'connect'
      const begin = (next: ProbeStep): void => {
        step = next
        options.begin(next)
      }
      try {
        return await probe(config, login, context, { ...options, begin })
      } catch (error) {
        const address = `${hostInUrl(host)}:${port}`
        const failure = postgresFailure(error, { address, database, step, isAborted: options.signal.aborted })
        // The server reports a missing database after it accepted the password, so the failure belongs to a later step.
        if (failure && failure.step !== step) begin(failure.step)
        throw failure ?? error
      }
    },
  }
}

async function probe(
  config: PostgresSource,
  login: Login,
  context: SourceContext,
  options: ProbeOptions,
): Promise<ProbeResult> {
  const { settings } = config
  const { begin, maxRecords } = options
  const session = await openSession(login, context, options)
  try {
    const mapped = await describe(session, config)
    const tables = await listTables(session, settings.replicationMode !== 'snapshot', mostTables)
    begin('read')
    const printed = await readRows(session, mapped, maxRecords)
    begin('decode')
    return { samples: mapped.map((table, index) => toSample(table, printed[index] ?? [], settings)), tables }
  } finally {
    await session.close()
  }
}

async function describe(session: PostgresSession, config: PostgresSource): Promise<MappedTable[]> {
  const { tableMappings, settings } = config
  const server = await loadServer(session)
  checkVersion(server)
  if (tableMappings.length === 0) return []
  const isFollowed = settings.replicationMode !== 'snapshot'
  if (isFollowed) await checkReplication(session, server, config)
  const mapped = await loadMappedTables(session, config)
  if (isFollowed) await checkPublication(session, server, config, mapped)
  return mapped
}
