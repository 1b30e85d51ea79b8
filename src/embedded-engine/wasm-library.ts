// chDB for WebAssembly, for machines without the native library: one shared session, and all tables in memory.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { quoteName, quoteText } from '../engine/names.ts'
import type { Library, LibraryOptions, LibraryResult, LibrarySession, QueryOptions } from './library.ts'

/** The part of the package `chdb-wasm` that is used here. */
interface Chdb {
  connect(): Promise<Connection>
  /** Writes into the engine's in-memory file system. Transfers the bytes from the caller. */
  putFile(path: string, bytes: Uint8Array): Promise<void>
}

interface Connection {
  query(text: string, format?: string): Promise<QueryResult>
}

interface QueryResult {
  data: Uint8Array
  /** Rows of the answer; for INSERT FROM INFILE, rows of the file. */
  rowsRead: number
  scannedRows: number
  scannedBytes: number
}

/** Where the engine reads the rows of an insert. */
const rowsFile = '/penstock-rows'

export async function openWasmLibrary({ installedIn, memoryBytes }: LibraryOptions): Promise<Library> {
  const main = createRequire(join(installedIn, 'package.json')).resolve('chdb-wasm')
  const { AsyncChdb } = await import(pathToFileURL(main).href)
  const chdb: Chdb = await AsyncChdb.create({ moduleUrl: new URL('chdb.mjs', pathToFileURL(main)).href })
  const connection = await chdb.connect()
  const { data } = await connection.query('SELECT version()', 'TabSeparated')
  await connection.query(`SET max_memory_usage = ${memoryBytes}`)
  let last: Promise<void> = Promise.resolve()
  return {
    version: Buffer.from(data).toString().trim(),
    async openSession() {
      const before = last
      const { promise, resolve } = Promise.withResolvers<void>()
      last = promise
      await before
      return new WasmSession(chdb, connection, resolve)
    },
  }
}

class WasmSession implements LibrarySession {
  readonly #chdb: Chdb
  readonly #connection: Connection
  readonly #onClose: () => void
  readonly #settings = new Set<string>()
  #hasFile = false

  constructor(chdb: Chdb, connection: Connection, onClose: () => void) {
    this.#chdb = chdb
    this.#connection = connection
    this.#onClose = onClose
  }

  async set(settings: Record<string, string>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) {
      this.#settings.add(name)
      await this.query(`SET ${quoteName(name)} = ${quoteText(value)}`)
    }
  }

  async query(text: string, { format = 'TabSeparated', parameters = {} }: QueryOptions = {}): Promise<LibraryResult> {
    for (const [name, value] of Object.entries(parameters)) await this.set({ [`param_${name}`]: value })
    const { data, scannedRows, scannedBytes } = await this.#connection.query(withoutSync(text), format)
    return { bytes: data, readRows: scannedRows, readBytes: scannedBytes, writtenRows: 0 }
  }

  async insert(text: string): Promise<LibraryResult> {
    const { rowsRead, scannedRows, scannedBytes } = await this.#connection.query(text, 'TabSeparated')
    const rows = Math.max(rowsRead, scannedRows)
    return { bytes: new Uint8Array(), readRows: rows, readBytes: scannedBytes, writtenRows: rows }
  }

  async provideFile(path: string): Promise<string> {
    this.#hasFile = true
    await this.#chdb.putFile(rowsFile, new Uint8Array(await readFile(path)))
    return rowsFile
  }

  async close(): Promise<void> {
    try {
      if (this.#hasFile) await this.#chdb.putFile(rowsFile, new Uint8Array())
      for (const name of this.#settings) {
        await this.query(`SET ${quoteName(name)} = DEFAULT`).catch(() => undefined)
      }
    } finally {
      this.#onClose()
    }
  }
}

/** Removes SYNC: this engine has no background thread to drop the table, and would wait forever. */
function withoutSync(text: string): string {
  return /^\s*DROP\s+TABLE\b/i.test(text) ? text.trimEnd().replace(/\sSYNC$/i, '') : text
}
