// The data folder and the file of the master keys: there, ours alone, and with keys that nobody guesses.
import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { readMasterKeys } from '../installation/master-keys.ts'
import { complainOfMode } from '../lib/private-file.ts'
import { StartError } from '../lib/start-error.ts'
import type { MasterKeys } from '../lib/vault.ts'
import { type Complaint, type Finding, judge, plural, problem, warning, withoutStop } from './finding.ts'
import { weaknessOf } from './key-strength.ts'

type Owner = number | undefined

export function checkDataFolder(folder: string, userId: Owner): Finding {
  let stats: Stats
  try {
    stats = statSync(folder)
  } catch (error) {
    const remedy =
      'set PENSTOCK_DATA to the folder of this Penstock, and run this as the user of the server; a new Penstock is made by "penstock init"'
    return judge('data folder', '', [problem(`${folder} cannot be looked at (${codeOf(error)})`, remedy)])
  }
  if (!stats.isDirectory()) {
    return judge('data folder', '', [problem(`${folder} is not a folder`, 'set PENSTOCK_DATA to a folder')])
  }
  const complaints: Complaint[] = []
  if ((stats.mode & 0o077) !== 0) {
    complaints.push(problem(`${folder} is open to other users (mode ${modeOf(stats)})`, `run "chmod 700 ${folder}"`))
  } else if ((stats.mode & 0o700) !== 0o700) {
    complaints.push(problem(`${folder} is closed to its owner (mode ${modeOf(stats)})`, `run "chmod 700 ${folder}"`))
  }
  complaints.push(...complainOfOwner(folder, stats, userId))
  return judge('data folder', `${folder}, mode ${modeOf(stats)}, owned by this user`, complaints)
}

/** The keys as well, when they can be read. `isSetUp` is asked only when they are missing: without data none are lost. */
export async function checkMasterKeyFile(
  file: string,
  userId: Owner,
  isSetUp: () => Promise<boolean>,
): Promise<{ finding: Finding; keys: MasterKeys | undefined }> {
  let keys: MasterKeys | undefined
  let stats: Stats
  try {
    keys = readMasterKeys(file, { mayBeOpen: true })
    if (!keys) {
      const complaint = (await isSetUp())
        ? problem(
            `${file} is missing`,
            'put back the file from your backup: without it nothing that is sealed can be opened',
          )
        : problem(
            `there is no ${file}, and no data: this Penstock has not been set up yet`,
            'run "penstock init", or correct PENSTOCK_DATA or DATABASE_URL',
          )
      return { finding: judge('master key file', '', [complaint]), keys }
    }
    stats = statSync(file)
  } catch (error) {
    const found =
      error instanceof StartError ? withoutStop(error.message) : `${file} cannot be looked at (${codeOf(error)})`
    const remedy = 'run this as the user of the server, on its data; a file that is damaged, put back from your backup'
    return { finding: judge('master key file', '', [problem(found, remedy)]), keys: undefined }
  }
  const complaints: Complaint[] = []
  const open = complainOfMode(file, stats)
  if (open) complaints.push(problem(open.found, open.remedy))
  // One that root has put there for us to read is what containers do with secrets.
  if (stats.uid !== 0) complaints.push(...complainOfOwner(file, stats, userId))
  const ids = Object.keys(keys.keys)
  const found = `${file}, mode ${modeOf(stats)}, ${plural(ids.length, 'key')}, current ${keys.current}`
  return { finding: judge('master key file', found, complaints), keys }
}

/** A file in the data folder that the owner of the folder, whose server it is, may not read and write. */
export function complainOfDataFile(file: string): Complaint[] {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) return []
  const { uid } = statSync(dirname(file))
  if (stats.uid !== uid) {
    const remedy = `run "chown ${uid} ${file}", and commands of Penstock as the user of the server`
    return [problem(`${file} belongs to user ${stats.uid}, and its folder to user ${uid}`, remedy)]
  }
  if ((stats.mode & 0o600) === 0o600) return []
  return [problem(`${file} is closed to its owner (mode ${modeOf(stats)})`, `run "chmod 600 ${file}"`)]
}

export function checkKeyStrength({ current, keys, pepper }: MasterKeys): Finding {
  const complaints: Complaint[] = []
  const seen = new Map<string, string>()
  for (const [id, text] of Object.entries(keys)) {
    const weakness = weaknessOf(text)
    const twin = seen.get(text)
    seen.set(text, id)
    const replace = `run "penstock keys add", copy the file to every machine, run "penstock keys rotate", then "penstock keys remove ${id}"`
    if (weakness !== undefined) complaints.push(problem(`the master key ${id} ${weakness}`, replace))
    if (twin !== undefined) complaints.push(problem(`the master keys ${twin} and ${id} are the same`, replace))
  }
  const weakness = weaknessOf(pepper)
  if (weakness !== undefined) {
    const remedy =
      'put back the file that "penstock init" made; the pepper of a Penstock that is in use cannot be changed'
    complaints.push(problem(`the pepper ${weakness}`, remedy))
  }
  if (seen.has(pepper)) {
    complaints.push(problem('the pepper is the same as a master key', 'put back the file that "penstock init" made'))
  }
  return judge('key strength', `every key has 32 bytes that look random; ${current} seals`, complaints)
}

function complainOfOwner(path: string, { uid }: Stats, userId: Owner): Complaint[] {
  if (userId === undefined || uid === userId) return []
  if (userId === 0) {
    const remedy = 'run this as the user of the server: what root may do says little about what the server may do'
    return [warning(`${path} belongs to user ${uid}, and this is run by root`, remedy)]
  }
  const remedy = `run this as the user of the server, or have root run "chown ${userId} ${path}"`
  return [problem(`${path} belongs to user ${uid}, not to this user (${userId})`, remedy)]
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}
