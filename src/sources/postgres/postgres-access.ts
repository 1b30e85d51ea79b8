// How the worker of a pipe reaches PostgreSQL, and what the errors of the server mean for it.
import { hostInUrl } from '../../lib/host.ts'
import type { SourceSecrets } from '../../pipes/pipe-source.ts'
import type { PostgresSource } from '../../pipes/postgres-source.ts'
import { NotConnected, ProbeFailure, type SourceContext, type SourceAccess } from '../source.ts'
import { loginOf } from './postgres-connection.ts'
import { type DescribedSource, describeSource, type ReplicationNames } from './postgres-describe.ts'
import { isPassingState, postgresFailure } from './postgres-failure.ts'
import { openLink, PostgresError, type PostgresLink } from './postgres-link.ts'

/** All methods, and those of their links, reject with NotConnected, or with a ProbeFailure for what only the user can mend. */
export interface PostgresAccess {
  config: PostgresSource
  describe(surroundings: SourceAccess, names: ReplicationNames): Promise<DescribedSource>
  open(surroundings: SourceAccess, options: { isReplication: boolean }): Promise<PostgresLink>
  /** What an error of a link means. */
  judge(error: unknown): unknown
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
    describe: (surroundings, names) => describeSource(config, login, context, { ...surroundings, names }),
    open: ({ egress, signal }, { isReplication }) => openLink(login, context, { egress, signal, isReplication }),
    judge(error) {
      if (!(error instanceof PostgresError)) return error
      const place = `${hostInUrl(host)}:${port}`
      const failure = postgresFailure(error, { place, database, step: 'read', isAborted: false })
      if (isPassingState(error.code)) return new NotConnected(undefined, failure)
      return failure ?? unknownFailure(place)
    },
  }
}

function unknownFailure(place: string): ProbeFailure {
  return new ProbeFailure({
    step: 'read',
    code: 'source_failed',
    reason: `${place} answers with an error that is not known`,
    remedy: 'look for it in the log of the server',
  })
}
