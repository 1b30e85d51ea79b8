// Hash of the console's sources, to rebuild it only when they change.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
export const builtFolder = join(root, 'dist/console')
export const builtFromFile = join(builtFolder, 'built-from')

export function sourceHash(): string {
  const files = ['package-lock.json', ...globSync(['console/**/*.*', 'src/client/*.ts'], { cwd: root }).sort()]
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

export function isBuilt(): boolean {
  try {
    return readFileSync(builtFromFile, 'utf8') === sourceHash()
  } catch {
    return false
  }
}
