// The process of the embedded engine: `main.ts <folder>`, with its settings in the folder. Whoever starts it holds the other end of
// its channel; when that closes, it dies at once, which its tables survive.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHttpInterface } from './http-interface.ts'
import { type EngineProcessSettings, engineHost, settingsFile } from './settings.ts'

const dieAtOnce = (): never => process.kill(process.pid, 'SIGKILL') as never

process.on('disconnect', dieAtOnce)
// Ctrl+C reaches every process of a terminal; the pipes still have rows to store.
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
  .on('error', (error: NodeJS.ErrnoException) => process.send?.({ failed: error.code ?? error.message }, dieAtOnce))
  .listen(port, engineHost, () => process.send?.({ isReady: true }))
