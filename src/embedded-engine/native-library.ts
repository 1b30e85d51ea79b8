// Native chDB library: ClickHouse in this process, with its tables on disk. Statements run in threads of libuv's pool.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { quoteName, quoteText } from '../engine/names.ts'
import type { Library, LibraryOptions, LibraryResult, LibrarySession, QueryOptions } from './library.ts'

/** The part of the native add-on that is used here. */
interface AddOn {
  CreateConnection(folder: string, options: string[]): object
  CloseConnection(connection: object): void
  QueryAsyncConnection(
    connection: object,
    text: string,
    format: string,
    parameters?: Record<string, string>,
  ): Promise<{ bytes: Uint8Array; rowsRead: number; bytesRead: number }>
  /** The only call that returns the number of rows written. */
  InsertRawAsyncConnection(
    connection: object,
    text: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<{ rowsWritten: number }>
}

/** Role with all rights; a session of the library always has the user `default`, and takes a role. */
const ownerRole = 'owner'

export async function openNativeLibrary(options: LibraryOptions): Promise<Library> {
  const addOn: AddOn = createRequire(join(options.installedIn, 'package.json'))('@chdb/lib-linux-x64-gnu')
  const folder = join(options.folder, 'tables')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const connectionOptions = [`--config-file=${writeConfiguration(options)}`]
  const openSession = async () => new NativeSession(addOn, addOn.CreateConnection(folder, connectionOptions))
  // Stays open: without a session, the engine would stop after each request.
  const first = await openSession()
  const { bytes } = await first.query('SELECT version()')
  return { version: Buffer.from(bytes).toString().trim(), openSession }
}

class NativeSession implements LibrarySession {
  readonly #addOn: AddOn
  readonly #connection: object

  constructor(addOn: AddOn, connection: object) {
    this.#addOn = addOn
    this.#connection = connection
  }

  async set(settings: Record<string, string>): Promise<void> {
    const list = Object.entries(settings).map(([name, value]) => `${quoteName(name)} = ${quoteText(value)}`)
    if (list.length > 0) await this.query(`SET ${list.join(', ')}`)
  }

  async query(text: string, { format = 'TabSeparated', parameters = {} }: QueryOptions = {}): Promise<LibraryResult> {
    const result = await this.#addOn.QueryAsyncConnection(this.#connection, text, format, parameters)
    return { bytes: result.bytes, readRows: result.rowsRead, readBytes: result.bytesRead, writtenRows: 0 }
  }

  async insert(text: string): Promise<LibraryResult> {
    const { rowsWritten } = await this.#addOn.InsertRawAsyncConnection(this.#connection, text, Buffer.from('\n'), false)
    return { bytes: new Uint8Array(), readRows: rowsWritten, readBytes: 0, writtenRows: rowsWritten }
  }

  async provideFile(path: string): Promise<string> {
    return path
  }

  async close(): Promise<void> {
    this.#addOn.CloseConnection(this.#connection)
  }
}

function writeConfiguration({ folder, memoryBytes, roles = {} }: LibraryOptions): string {
  const usersFile = join(folder, 'users.xml')
  const configurationFile = join(folder, 'config.xml')
  writeFileSync(
    configurationFile,
    `
    <clickhouse>
      <logger><level>none</level></logger>
      <users_config>${escapeXml(usersFile)}</users_config>
      <timezone>UTC</timezone>
      <mark_cache_size>67108864</mark_cache_size>
      <uncompressed_cache_size>0</uncompressed_cache_size>
      <max_server_memory_usage>${memoryBytes}</max_server_memory_usage>
    </clickhouse>`,
    { mode: 0o600 },
  )
  const grants = { [ownerRole]: 'GRANT ALL ON *.*', ...roles }
  const roleList = Object.entries(grants).map(
    ([name, grant]) => `<${name}><grants><query>${escapeXml(grant)}</query></grants></${name}>`,
  )
  writeFileSync(
    usersFile,
    `
    <clickhouse>
      <profiles><default/></profiles>
      <quotas><default/></quotas>
      <roles>${roleList.join('')}</roles>
      <users>
        <default>
          <password/>
          <networks><ip>127.0.0.1</ip></networks>
          <profile>default</profile>
          <quota>default</quota>
          <grants><query>GRANT ${Object.keys(grants).join(', ')}</query></grants>
        </default>
      </users>
    </clickhouse>`,
    { mode: 0o600 },
  )
  return configurationFile
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
