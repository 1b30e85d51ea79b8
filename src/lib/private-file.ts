// Files with secrets, readable only by their owner.
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from './start-error.ts'

/** Writes the file atomically, also through a crash. `create` does not replace a file. */
export function writePrivateFile(file: string, text: string, mode: 'create' | 'replace'): void {
  const unfinished = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(unfinished, text, { mode: 0o600, flush: true })
    if (mode === 'create') {
      linkSync(unfinished, file)
      unlinkSync(unfinished)
    } else renameSync(unfinished, file)
    const folder = openSync(dirname(file), 'r')
    fsyncSync(folder)
    closeSync(folder)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw new StartError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/**
 * Explains a file mode that gives others access, and how to fix it. A file mounted into a container belongs to root and is read
 * through the group: only such a file may be readable by a group.
 */
export function explainFileMode(file: string, { mode, uid }: Stats): { found: string; remedy: string } | undefined {
  const userId = process.geteuid?.()
  if (userId === undefined) return undefined
  const isMounted = uid === 0 && userId !== 0
  if ((mode & (isMounted ? 0o037 : 0o077)) === 0) return undefined
  const found = `${file} is open to other users (mode ${(mode & 0o777).toString(8).padStart(4, '0')})`
  return { found, remedy: `run "chmod ${isMounted ? '440' : '600'} ${file}"` }
}
