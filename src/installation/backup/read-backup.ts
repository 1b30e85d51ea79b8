// Reads a backup file and compares its content with the manifest.
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { StartError } from '../../lib/start-error.ts'
import { DamagedFile, readLines } from './backup-file.ts'
import { type BackupPart, formatVersion, type Manifest } from './manifest.ts'

export interface SealedManifest {
  manifest: Manifest
  seal: string
}

/** Receives the lines of a table in batches. */
export type RowTaker = (part: Pick<BackupPart, 'table' | 'columns'>, lines: Buffer[]) => Promise<void>

const linesAtOnce = 500

/** Throws DamagedFile when the content does not match, possibly after rows were passed to `take`. */
export async function readBackup(file: string, take: RowTaker = async () => undefined): Promise<SealedManifest> {
  const parts: OpenPart[] = []
  let last: SealedManifest | undefined
  let isFirst = true
  for await (const line of readLines(file)) {
    if (last) throw new DamagedFile()
    if (isFirst) mustBeKnown(parse(line) as { penstockBackup?: unknown })
    else if (line[0] === 0x5b) await parts.at(-1)?.add(line)
    else {
      await parts.at(-1)?.end()
      const entry = parse(line) as BackupPart | SealedManifest
      if ('manifest' in entry) last = entry
      else parts.push(openPart(entry, take))
    }
    isFirst = false
  }
  const met = parts.map(({ part }) => part)
  if (!last || !isDeepStrictEqual(met, last.manifest.parts)) throw new DamagedFile()
  return last
}

interface OpenPart {
  part: BackupPart
  add(line: Buffer): Promise<void>
  end(): Promise<void>
}

function openPart({ table, columns }: Pick<BackupPart, 'table' | 'columns'>, take: RowTaker): OpenPart {
  const part: BackupPart = { table, columns, rows: 0, sha256: '' }
  const digest = createHash('sha256')
  let lines: Buffer[] = []
  const give = async (): Promise<void> => {
    const given = lines
    lines = []
    if (given.length > 0) await take(part, given)
  }
  return {
    part,
    add: async (line) => {
      digest.update(line).update('\n')
      part.rows++
      lines.push(line)
      if (lines.length === linesAtOnce) await give()
    },
    end: async () => {
      part.sha256 = digest.digest('hex')
      await give()
    },
  }
}

function mustBeKnown({ penstockBackup }: { penstockBackup?: unknown }): void {
  if (typeof penstockBackup !== 'number') throw new DamagedFile()
  if (penstockBackup > formatVersion) {
    throw new StartError(
      'The backup was made by a newer Penstock, in a format that this one does not know. Use the newer version.',
    )
  }
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString()) as unknown
  } catch {
    throw new DamagedFile()
  }
}
