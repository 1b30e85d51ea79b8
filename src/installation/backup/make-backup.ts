// Writes a consistent snapshot of the database to a backup file.
import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Snapshot } from '../../database/snapshot.ts'
import type { SqlValue } from '../../database/sql.ts'
import { StartError } from '../../lib/start-error.ts'
import { keyIdOf, type Vault } from '../../lib/vault.ts'
import { sealedColumns } from '../sealed/store.ts'
import { type DataSettings, withSnapshot } from '../stored-data.ts'
import { writeLines } from './backup-file.ts'
import { type BackupPart, formatVersion, type Manifest, sealOfManifest, tablesLeftOut } from './manifest.ts'

export interface MadeBackup {
  file: string
  sizeBytes: number
  manifest: Manifest
  /** Ids of master keys that values are sealed with but that are missing from the key file. */
  lostKeyIds: string[]
}

/** `target` is a new file, or a folder to create one in. */
export async function makeBackup(settings: DataSettings, target: string): Promise<MadeBackup> {
  // Taken before the snapshot: everything confirmed until then is in the backup.
  const createdAt = new Date().toISOString()
  return withSnapshot(settings, ({ snapshot, vault }) =>
    writeBackup({ snapshot, vault, createdAt, file: fileFor(target, createdAt) }),
  )
}

interface BackupOrder {
  snapshot: Snapshot
  vault: Vault
  createdAt: string
  file: string
}

async function writeBackup({ snapshot, vault, createdAt, file }: BackupOrder): Promise<MadeBackup> {
  const unfinished = `${file}.${process.pid}.tmp`
  const found: Found = { parts: [], keyIds: new Set() }
  const manifestOf = (): Manifest => ({
    formatVersion,
    schema: snapshot.schema,
    createdAt,
    database: snapshot.dialect,
    parts: found.parts,
    masterKeys: [...found.keyIds].sort().flatMap((id) => {
      const check = vault.checkOfKey(id)
      return check === undefined ? [] : [{ id, check }]
    }),
  })
  async function* lines() {
    yield `${JSON.stringify({ penstockBackup: formatVersion })}\n`
    for (const table of snapshot.tables) {
      if (!tablesLeftOut.includes(table)) yield* linesOf(snapshot, table, found)
    }
    const manifest = manifestOf()
    yield `${JSON.stringify({ manifest, seal: sealOfManifest(vault, manifest) })}\n`
  }
  try {
    await writeLines(unfinished, lines())
    renameSync(unfinished, file)
    const folder = openSync(dirname(file), 'r')
    fsyncSync(folder)
    closeSync(folder)
  } catch (error) {
    rmSync(unfinished, { force: true })
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StartError(`The backup ${file} cannot be written (${code}).`, { cause: error })
  }
  const manifest = manifestOf()
  const known = new Set(manifest.masterKeys.map(({ id }) => id))
  const lostKeyIds = [...found.keyIds].filter((id) => !known.has(id))
  return { file, sizeBytes: statSync(file).size, manifest, lostKeyIds }
}

interface Found {
  parts: BackupPart[]
  keyIds: Set<string>
}

async function* linesOf(snapshot: Snapshot, table: string, found: Found): AsyncGenerator<string> {
  const { columns, portions } = await snapshot.read(table)
  const sealedAt = sealedColumns.flatMap((sealed) => (sealed.table === table ? columns.indexOf(sealed.column) : []))
  const digest = createHash('sha256')
  let rows = 0
  yield `${JSON.stringify({ table, columns })}\n`
  for await (const portion of portions) {
    for (const row of portion) {
      row.forEach(mustBeExact)
      for (const at of sealedAt) {
        const keyId = typeof row[at] === 'string' ? keyIdOf(row[at]) : undefined
        if (keyId !== undefined) found.keyIds.add(keyId)
      }
    }
    const text = portion.map((row) => `${JSON.stringify(row)}\n`).join('')
    digest.update(text)
    rows += portion.length
    yield text
  }
  found.parts.push({ table, columns, rows, sha256: digest.digest('hex') })
}

/** JSON preserves only these types exactly. */
function mustBeExact(value: SqlValue): void {
  const isExact = value === null || typeof value === 'string' || Number.isSafeInteger(value)
  if (!isExact) throw new Error(`a backup cannot hold a value of type ${typeof value}`)
}

function fileFor(target: string, createdAt: string): string {
  const found = statSync(target, { throwIfNoEntry: false })
  if (!found) {
    if (statSync(dirname(target), { throwIfNoEntry: false })?.isDirectory()) return target
    throw new StartError(`The folder ${dirname(target)} for the backup does not exist.`)
  }
  if (found.isDirectory()) return join(target, `penstock-${createdAt.replaceAll(/[:.]/g, '-')}.backup.gz`)
  throw new StartError(`${target} exists already. Name a new file for the backup, or a folder.`)
}
