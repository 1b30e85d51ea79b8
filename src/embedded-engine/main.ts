// Process of the embedded engine: `main.ts <folder>`, with its settings in the folder. When the channel to its parent closes, it is
// killed at once, which its tables survive.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHttpInterface } from './http-interface.ts'
import { type EngineProcessSettings, engineHost, settingsFile } from './settings.ts'

const killSelf = (): never => process.kill(process.pid, 'SIGKILL') as never

process.on('disconnect', killSelf)
// Ctrl+C reaches every process of a terminal, but the pipes still have rows to insert.
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => undefined)

const folder = process.argv[2]!
const settings: EngineProcessSettings = JSON.parse(readFileSync(join(folder, settingsFile), 'utf8'))
const { library: kind, installedIn, port, accounts, memoryBytes } = settings
const options = { installedIn, folder, memoryBytes }
const library =
  kind === 'native'
    ? await (await import('./native-library.ts')).openNativeLibrary(options)
    : await (await import('./wasm-library.ts')).openWasmLibrary(options)
createHttpInterface(library, accounts, folder)
  .on('error', (error: NodeJS.ErrnoException) => process.send?.({ failed: error.code ?? error.message }, killSelf))
  .listen(port, engineHost, () => process.send?.({ isReady: true }))
