// A ClickHouse of today: chDB, the same engine as a library, with its tables on disk and users with rights, behind the HTTP
// interface of chdb-server.py.
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type EngineServer, startEngine } from './engine.ts'
import { installedFolder } from './installed.ts'
import { findFreePort, makeServerFolder } from './server-process.ts'

export async function startModernEngine(): Promise<EngineServer> {
  const python = join(installedFolder('chdb'), 'environment', 'bin', 'python')
  const password = randomBytes(16).toString('hex')
  const port = await findFreePort()
  const folder = await makeServerFolder('chdb')
  const configFile = join(folder, 'config.xml')
  await writeFile(configFile, configuration(folder))
  await writeFile(join(folder, 'users.xml'), users)
  return startEngine({
    name: 'chDB',
    folder,
    port,
    command: [python, join(import.meta.dirname, 'chdb-server.py'), String(port), folder, configFile],
    environment: { ENGINE_PASSWORD: password },
    users: {
      user: { username: 'penstock', password },
      reader: { username: 'reader', password },
      powerless: { username: 'powerless', password },
    },
    loggedSettings: { names: 'mapKeys(Settings)', values: 'mapValues(Settings)' },
  })
}

function configuration(folder: string): string {
  return `
    <clickhouse>
      <logger><level>none</level></logger>
      <users_config>${folder}/users.xml</users_config>
      <mark_cache_size>67108864</mark_cache_size>
      <max_server_memory_usage>3000000000</max_server_memory_usage>
      <query_log>
        <database>system</database>
        <table>query_log</table>
        <flush_interval_milliseconds>200</flush_interval_milliseconds>
      </query_log>
    </clickhouse>`
}

// A session of chDB is always of the user `default`, and takes one of the roles.
const users = `
  <clickhouse>
    <profiles><default><log_queries>1</log_queries></default></profiles>
    <quotas><default/></quotas>
    <roles>
      <owner><grants><query>GRANT ALL ON *.*</query></grants></owner>
      <powerless><grants><query>GRANT SELECT ON system.one</query></grants></powerless>
    </roles>
    <users>
      <default>
        <password/>
        <networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile>
        <quota>default</quota>
        <grants><query>GRANT owner, powerless</query></grants>
      </default>
    </users>
  </clickhouse>`
