// Settings of the embedded engine's process, written by its parent. The file has passwords in it.
import type { EngineAccount } from './http-interface.ts'

export const engineHost = '127.0.0.1'
export const settingsFile = 'engine.json'

export interface EngineProcessSettings {
  library: 'native' | 'wasm'
  /** Folder of the installed package. */
  installedIn: string
  port: number
  accounts: EngineAccount[]
  /** The engine's own limit; its process needs about 200 MB more. */
  memoryBytes: number
}
