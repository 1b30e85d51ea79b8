// Checks of the data folder and the master key file: existence, owner, mode and key strength.
import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { readMasterKeys } from '../installation/master-keys.ts'
import { explainFileMode } from '../lib/private-file.ts'
import { StartError } from '../lib/start-error.ts'
import type { MasterKeys } from '../lib/vault.ts'
import { type Finding, type Issue, plural, problem, toFinding, warning, withoutStop } from './finding.ts'
import { weaknessOf } from './key-strength.ts'

type Owner = number | undefined

export function checkDataFolder(folder: string, userId: Owner): Finding {
  let stats: Stats
  try {
    stats = statSync(folder)
  } catch (error) {
    const remedy =
      'set PENSTOCK_DATA to the folder of this Penstock, and run this as the user of the server; a new Penstock is made by "penstock init"'
    return toFinding('data folder', '', [problem(`${folder} cannot be looked at (${codeOf(error)})`, remedy)])
  }
  if (!stats.isDirectory()) {
    return toFinding('data folder', '', [problem(`${folder} is not a folder`, 'set PENSTOCK_DATA to a folder')])
  }
  const issues: Issue[] = []
  if ((stats.mode & 0o077) !== 0) {
    issues.push(problem(`${folder} is open to other users (mode ${modeOf(stats)})`, `run "chmod 700 ${folder}"`))
  } else if ((stats.mode & 0o700) !== 0o700) {
    issues.push(problem(`${folder} is closed to its owner (mode ${modeOf(stats)})`, `run "chmod 700 ${folder}"`))
  }
  issues.push(...ownerIssues(folder, stats, userId))
  return toFinding('data folder', `${folder}, mode ${modeOf(stats)}, owned by this user`, issues)
}

/** Also returns the keys when they can be read. `isSetUp` is called only when they are missing: without data no keys are lost. */
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
      const issue = (await isSetUp())
        ? problem(
            `${file} is missing`,
            'put back the file from your backup: without it nothing that is sealed can be opened',
          )
        : problem(
            `there is no ${file}, and no data: this Penstock has not been set up yet`,
            'run "penstock init", or correct PENSTOCK_DATA or DATABASE_URL',
          )
      return { finding: toFinding('master key file', '', [issue]), keys }
    }
    stats = statSync(file)
  } catch (error) {
    const found =
      error instanceof StartError ? withoutStop(error.message) : `${file} cannot be looked at (${codeOf(error)})`
    const remedy = 'run this as the user of the server, on its data; a file that is damaged, put back from your backup'
    return { finding: toFinding('master key file', '', [problem(found, remedy)]), keys: undefined }
  }
  const issues: Issue[] = []
  const open = explainFileMode(file, stats)
  if (open) issues.push(problem(open.found, open.remedy))
  // Containers mount secrets as files of root.
  if (stats.uid !== 0) issues.push(...ownerIssues(file, stats, userId))
  const ids = Object.keys(keys.keys)
  const found = `${file}, mode ${modeOf(stats)}, ${plural(ids.length, 'key')}, current ${keys.current}`
  return { finding: toFinding('master key file', found, issues), keys }
}

/** Issues of a file in the data folder that the owner of the folder, the user of the server, cannot read and write. */
export function dataFileIssues(file: string): Issue[] {
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
  const issues: Issue[] = []
  const seen = new Map<string, string>()
  for (const [id, text] of Object.entries(keys)) {
    const weakness = weaknessOf(text)
    const twin = seen.get(text)
    seen.set(text, id)
    const replace = `run "penstock keys add", copy the file to every machine, run "penstock keys rotate", then "penstock keys remove ${id}"`
    if (weakness !== undefined) issues.push(problem(`the master key ${id} ${weakness}`, replace))
    if (twin !== undefined) issues.push(problem(`the master keys ${twin} and ${id} are the same`, replace))
  }
  const weakness = weaknessOf(pepper)
  if (weakness !== undefined) {
    const remedy =
      'put back the file that "penstock init" made; the pepper of a Penstock that is in use cannot be changed'
    issues.push(problem(`the pepper ${weakness}`, remedy))
  }
  if (seen.has(pepper)) {
    issues.push(problem('the pepper is the same as a master key', 'put back the file that "penstock init" made'))
  }
  return toFinding('key strength', `every key has 32 bytes that look random; ${current} seals`, issues)
}

function ownerIssues(path: string, { uid }: Stats, userId: Owner): Issue[] {
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
