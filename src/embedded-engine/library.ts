// What the HTTP interface needs of ClickHouse as a library, native or WebAssembly.

export interface LibraryResult {
  bytes: Uint8Array
  readRows: number
  readBytes: number
  /** Of an insert. */
  writtenRows: number
}

export interface QueryOptions {
  /** Of a statement that names none. */
  format?: string
  /** Values of `{name:Type}`. */
  parameters?: Record<string, string>
}

/** One request's own: its settings end with it. */
export interface LibrarySession {
  set(settings: Record<string, string>): Promise<void>
  /** Rejects with an Error whose message begins with `Code: `. */
  query(text: string, options?: QueryOptions): Promise<LibraryResult>
  /** An INSERT that needs no data from the client any more. */
  insert(text: string): Promise<LibraryResult>
  /** The name by which the engine reads a file of this machine. */
  provideFile(path: string): Promise<string>
  close(): Promise<void>
}

export interface Library {
  readonly version: string
  openSession(): Promise<LibrarySession>
}

export interface LibraryOptions {
  /** Where the package of the library is installed. */
  installedIn: string
  /** For the tables; the wasm library keeps them in memory. */
  folder: string
  memoryBytes: number
  /** Beside `owner`, who may do everything: `GRANT … ON …` by name of the role. */
  roles?: Record<string, string>
}
