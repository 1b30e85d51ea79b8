// Interface to the ClickHouse library, native or WebAssembly.

export interface LibraryResult {
  bytes: Uint8Array
  readRows: number
  readBytes: number
  /** Only for inserts. */
  writtenRows: number
}

export interface QueryOptions {
  /** For a statement without a FORMAT clause. */
  format?: string
  /** Values of `{name:Type}`. */
  parameters?: Record<string, string>
}

/** Session of one request: its settings end with it. */
export interface LibrarySession {
  set(settings: Record<string, string>): Promise<void>
  /** Rejects with an Error whose message begins with `Code: `. */
  query(text: string, options?: QueryOptions): Promise<LibraryResult>
  /** An INSERT that needs no more data from the client. */
  insert(text: string): Promise<LibraryResult>
  /** Makes a local file readable for the engine; returns its name there. */
  provideFile(path: string): Promise<string>
  close(): Promise<void>
}

export interface Library {
  readonly version: string
  openSession(): Promise<LibrarySession>
}

export interface LibraryOptions {
  /** Folder of the installed package. */
  installedIn: string
  /** Folder for the tables; the WebAssembly library keeps them in memory. */
  folder: string
  memoryBytes: number
  /** Besides `owner`, which may do everything: `GRANT … ON …` statements by role name. */
  roles?: Record<string, string>
}
