// Limits of PostgreSQL: the text of COPY, piped by psql into one insert of curl, and the WAL, read by pg_recvlogical and
// discarded.
import type { EngineServer } from '../../test/real/servers/engine.ts'
import { cleanEnvironment, run } from '../processes.ts'
import type { Measurement } from './measure.ts'
import type { PostgresFeed } from './postgres-feed.ts'

const timeoutMs = 300_000

/** `whole`: curl buffers all rows before sending; `streamed`: curl sends while reading. */
export type PipeKind = 'whole' | 'streamed'

const uploads: Record<PipeKind, string> = { whole: '--data-binary @-', streamed: '--request POST --upload-file -' }

export interface CopyMeasurement extends Measurement {
  bytes: number
}

export async function copyAll(
  feed: PostgresFeed,
  { url, user }: EngineServer,
  table: string,
  kind: PipeKind,
): Promise<CopyMeasurement> {
  const parameters = new URLSearchParams({ query: `INSERT INTO ${table} FORMAT TabSeparated` })
  const script = `
    psql --quiet --no-psqlrc --command 'COPY (SELECT *, 0, 0 FROM ${feed.table}) TO STDOUT' |
    curl --silent --show-error --fail-with-body --header "X-ClickHouse-User: $ENGINE_USER" \\
      --header "X-ClickHouse-Key: $ENGINE_PASSWORD" --header 'Expect:' --write-out '%{size_upload}' ${uploads[kind]} '${url}/?${parameters}'`
  const access = { ...accessOf(feed), ENGINE_USER: user.username, ENGINE_PASSWORD: user.password }
  const beganAtMs = performance.now()
  const printed = await run('sh', ['-ec', script], { env: cleanEnvironment(access), timeoutMs })
  return { seconds: (performance.now() - beganAtMs) / 1_000, bytes: Number(printed) }
}

/** Reads up to an LSN. */
export async function readLog(
  feed: PostgresFeed,
  { slot, publication, end }: { slot: string; publication: string; end: string },
): Promise<Measurement> {
  const beganAtMs = performance.now()
  await run(
    'pg_recvlogical',
    [
      '--start',
      '--no-loop',
      `--dbname=${feed.database}`,
      `--slot=${slot}`,
      `--endpos=${end}`,
      '--file=/dev/null',
      '--option=proto_version=1',
      `--option=publication_names=${publication}`,
    ],
    { env: cleanEnvironment(accessOf(feed)), timeoutMs },
  )
  return { seconds: (performance.now() - beganAtMs) / 1_000 }
}

function accessOf({ host, port, database, username, password, caFile }: PostgresFeed): Record<string, string> {
  return {
    PGHOST: host,
    PGPORT: String(port),
    PGDATABASE: database,
    PGUSER: username,
    PGPASSWORD: password,
    PGSSLMODE: 'verify-ca',
    PGSSLROOTCERT: caFile,
  }
}
