// Access of a worker to PostgreSQL, with classified errors.
import { hostInUrl } from '../../lib/host.ts'
import type { PostgresSource } from '../../source-shapes/postgres-source.ts'
import { NotConnected, ProbeFailure } from '../../source-shapes/source-failure.ts'
import type { SourceSecrets } from '../../source-shapes/source-kind.ts'
import type { SourceAccess, SourceContext } from '../source.ts'
import { loginOf } from './postgres-connection.ts'
import { type DescribedSource, describeSource, type ReplicationNames } from './postgres-describe.ts'
import { isPassingState, postgresFailure } from './postgres-failure.ts'
import { openLink, PostgresError, type PostgresLink } from './postgres-link.ts'

/** All methods reject with a ProbeFailure for errors that only the user can fix, otherwise with NotConnected. */
export interface PostgresAccess {
  config: PostgresSource
  describe(connectOptions: SourceAccess, names: ReplicationNames): Promise<DescribedSource>
  open(connectOptions: SourceAccess, options: { isReplication: boolean }): Promise<PostgresLink>
  /** NotConnected or ProbeFailure for an error of the server; other errors unchanged. */
  classifyError(error: unknown): unknown
}

export function makePostgresAccess(
  config: PostgresSource,
  secrets: SourceSecrets,
  context: SourceContext,
): PostgresAccess {
  const { host, port, database } = config
  const login = loginOf(config, secrets)
  return {
    config,
    describe: (connectOptions, names) => describeSource(config, login, context, { ...connectOptions, names }),
    open: ({ egress, signal }, { isReplication }) => openLink(login, context, { egress, signal, isReplication }),
    classifyError(error) {
      if (!(error instanceof PostgresError)) return error
      const address = `${hostInUrl(host)}:${port}`
      const failure = postgresFailure(error, { address, database, step: 'read', isAborted: false })
      if (isPassingState(error.code)) return new NotConnected(undefined, failure)
      return failure ?? unknownFailure(address)
    },
  }
}

function unknownFailure(address: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'source_failed',
    reason: `${address} answers with an error that is not known`,
    remedy: 'look for it in the log of the server',
  })
}
