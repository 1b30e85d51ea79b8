// How the embedded engine runs: written by whoever starts it, read by its process. The file has passwords in it.
import type { EngineAccount } from './http-interface.ts'

export const engineHost = '127.0.0.1'
export const settingsFile = 'engine.json'

export interface EngineProcessSettings {
  library: 'native' | 'wasm'
  /** Where the library's package is installed. */
  installedIn: string
  port: number
  accounts: EngineAccount[]
  /** The engine's own limit; its process needs about 200 MB more. */
  memoryBytes: number
}
