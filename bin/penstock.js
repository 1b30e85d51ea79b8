#!/usr/bin/env node
// Starts Penstock on Node 24, whatever Node runs this file: the machine's own if it is new enough,
// otherwise the one that npm installed beside us. Plain JavaScript, because an old Node must be able to read it.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runOnNode24 } from './node24.js'

const source = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const compiled = fileURLToPath(new URL('../dist/main.js', import.meta.url))

const fromSource = existsSync(source)
// From source, what Node made of the TypeScript files is kept, so that the next start is quicker and smaller.
if (fromSource)
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/penstock', import.meta.url))
runOnNode24([fromSource ? source : compiled, ...process.argv.slice(2)])
