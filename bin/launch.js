// Starts the Penstock process. Plain JavaScript, because older versions of Node must be able to run it.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runOnNode24 } from './node24.js'

const source = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const compiled = fileURLToPath(new URL('../dist/main.js', import.meta.url))

export const isFromSource = existsSync(source)
export const mainFile = isFromSource ? source : compiled

/** Lets the process free the memory that only its start needed. */
export const nodeFlags = ['--expose-gc']

export const environment = {
  // glibc: blocks of 1 MiB and more go back to the system when freed, instead of fragmenting the heap.
  MALLOC_MMAP_THRESHOLD_: '1048576',
  // From source: caches the compiled TypeScript files, so that the next start is faster and needs less memory.
  ...(isFromSource
    ? { NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/penstock', import.meta.url)) }
    : {}),
}

/** Runs a file on Node 24 with Penstock's flags and environment. Variables that the user has set win. */
export function launch(file, fileArguments, options) {
  process.env = { ...environment, ...process.env }
  runOnNode24([...nodeFlags, file, ...fileArguments], options)
}
