// Builds the console into dist/console, unless it is up to date.
//   --if-possible  succeed without a build when the build tools are not installed (npm ci --omit=dev)
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { builtFolder, builtFromFile, isBuilt, sourceHash } from './source-hash.ts'

if (!isBuilt()) {
  // Vite takes most of the time, so it is not loaded for nothing.
  const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND' && process.argv.includes('--if-possible')) return undefined
    throw error
  })
  if (vite) await build(vite)
}

async function build(vite: typeof import('vite')): Promise<void> {
  const hash = sourceHash()
  mkdirSync(builtFolder, { recursive: true })
  // An interrupted build must not count as complete.
  rmSync(builtFromFile, { force: true })
  await vite.build({ configFile: join(import.meta.dirname, 'vite.config.ts'), logLevel: 'error' })
  for (const file of globSync('**/*.{js,css,svg}', { cwd: builtFolder })) {
    const bytes = readFileSync(join(builtFolder, file))
    writeFileSync(join(builtFolder, `${file}.gz`), gzipSync(bytes, { level: 9 }))
    const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }
    writeFileSync(join(builtFolder, `${file}.br`), brotliCompressSync(bytes, best))
  }
  writeFileSync(builtFromFile, hash)
}
