// ClickHouse 18.16 of Debian: missing features are tested as well.
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePorts } from '../../../src/lib/free-port.ts'
import { type EngineServer, startEngine } from './engine.ts'
import { debianProgram } from './installed.ts'
import { readQueryLog } from './query-log.ts'
import { makeServerFolder } from './server-process.ts'

/** `logFlushMs`: flush interval of the query log; short for tests. */
export async function startClickHouse({ logFlushMs = 200 } = {}): Promise<EngineServer> {
  const program = debianProgram('clickhouse-server', '/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server')
  const password = randomBytes(16).toString('hex')
  const [port, nativePort] = await findFreePorts(2)
  const folder = await makeServerFolder('clickhouse')
  await writeFile(
    join(folder, 'config.xml'),
    configuration(folder, { port: port!, nativePort: nativePort!, logFlushMs }),
  )
  await writeFile(join(folder, 'users.xml'), users(password))
  return startEngine({
    name: 'ClickHouse of Debian',
    folder,
    port: port!,
    command: [program, '--config-file=config.xml'],
    users: {
      user: { username: 'penstock', password },
      reader: { username: 'reader', password },
      powerless: { username: 'powerless', password },
    },
    listQueries: readQueryLog,
  })
}

function configuration(
  folder: string,
  { port, nativePort, logFlushMs }: { port: number; nativePort: number; logFlushMs: number },
): string {
  return `
    <yandex>
      <logger><level>warning</level><console>1</console></logger>
      <listen_host>127.0.0.1</listen_host>
      <http_port>${port}</http_port>
      <tcp_port>${nativePort}</tcp_port>
      <path>${folder}/data/</path>
      <tmp_path>${folder}/tmp/</tmp_path>
      <user_files_path>${folder}/files/</user_files_path>
      <format_schema_path>${folder}/schemas/</format_schema_path>
      <users_config>users.xml</users_config>
      <default_profile>default</default_profile>
      <default_database>default</default_database>
      <mark_cache_size>67108864</mark_cache_size>
      <timezone>UTC</timezone>
      <query_log>
        <database>system</database>
        <table>query_log</table>
        <flush_interval_milliseconds>${logFlushMs}</flush_interval_milliseconds>
      </query_log>
    </yandex>`
}

function users(password: string): string {
  const user = (name: string, profile: string, more = '') => `
    <${name}>
      <password>${password}</password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>${profile}</profile>
      <quota>default</quota>
      ${more}
    </${name}>`
  return `
    <yandex>
      <profiles>
        <default><log_queries>1</log_queries><max_memory_usage>2000000000</max_memory_usage></default>
        <readonly><readonly>1</readonly></readonly>
      </profiles>
      <quotas><default/></quotas>
      <users>
        ${user('penstock', 'default')}
        ${user('reader', 'readonly')}
        ${user('powerless', 'default', '<allow_databases><database>nothing</database></allow_databases>')}
      </users>
    </yandex>`
}
