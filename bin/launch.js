// How Penstock's own process is started, by whatever starts it. Plain JavaScript, because an old Node must be able to read it.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runOnNode24 } from './node24.js'

const source = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const compiled = fileURLToPath(new URL('../dist/main.js', import.meta.url))

export const isFromSource = existsSync(source)
export const mainFile = isFromSource ? source : compiled

/** So that it can give back what only its start needed. */
export const nodeFlags = ['--expose-gc']

export const environment = {
  // Of glibc: what is read by megabytes goes back to the system when it is freed. Otherwise it stays with the process, in pieces.
  MALLOC_MMAP_THRESHOLD_: '1048576',
  // From source, what Node made of the TypeScript files is kept, so that the next start is quicker and smaller.
  ...(isFromSource
    ? { NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/penstock', import.meta.url)) }
    : {}),
}

/** Runs a file on Node 24 as Penstock runs. What the user has set wins. */
export function launch(file, fileArguments, options) {
  process.env = { ...environment, ...process.env }
  runOnNode24([...nodeFlags, file, ...fileArguments], options)
}
