// Credentials of `penstock call`: from the environment, or from a file that only its owner can read.
import { mkdirSync, readFileSync, rmSync, type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { explainFileMode, writePrivateFile } from '../lib/private-file.ts'
import { CommandFailure, exitCodes } from './failure.ts'

export interface Credentials {
  url: string
  keyId: string
  keySecret: string
  organizationId?: string
}

/** With the origin of the key, for error messages. */
type FoundCredentials = Credentials & { keyOrigin: string }

const keyNames = ['PENSTOCK_URL', 'PENSTOCK_KEY_ID', 'PENSTOCK_KEY_SECRET'] as const

/** Environment variables that are set and replace the file. */
export function namesInEnvironment(): string[] {
  return keyNames.filter((name) => process.env[name]?.trim())
}

export function readCredentials(): FoundCredentials {
  const present = namesInEnvironment()
  const organizationId = process.env.PENSTOCK_ORGANIZATION_ID?.trim()
  // All or none: the key from the file must not be sent to a server that the environment names.
  const found = present.length > 0 ? fromEnvironment(present) : fromFile()
  return organizationId ? { ...found, organizationId } : found
}

function fromEnvironment(present: string[]): FoundCredentials {
  const missing = keyNames.filter((name) => !present.includes(name))
  if (missing.length > 0) {
    const isOrAre = present.length === 1 ? 'is' : 'are'
    throw noCredentials(`${present.join(' and ')} ${isOrAre} set in the environment; set ${missing.join(' and ')} too.`)
  }
  const [url, keyId, keySecret] = keyNames.map((name) => process.env[name]!.trim()) as [string, string, string]
  return { url, keyId, keySecret, keyOrigin: 'PENSTOCK_KEY_ID and PENSTOCK_KEY_SECRET of the environment' }
}

function fromFile(): FoundCredentials {
  const file = credentialsFile()
  let text: string
  let stats: Stats
  try {
    text = readFileSync(file, 'utf8')
    stats = statSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw noCredentials(`${file} cannot be read (${code}).`)
    throw noCredentials(`There are no credentials. Run "penstock login", or set ${keyNames.join(', ')}.`)
  }
  const open = explainFileMode(file, stats)
  if (open) throw noCredentials(`${open.found}: ${open.remedy}.`)
  const credentials = parse(text)
  if (!credentials) throw noCredentials(`${file} is damaged. Run "penstock login" again.`)
  return { ...credentials, keyOrigin: `${file} (made by "penstock login")` }
}

function parse(text: string): Credentials | undefined {
  try {
    const stored = JSON.parse(text) as Credentials
    const { url, keyId, keySecret } = stored
    return [url, keyId, keySecret].every((part) => typeof part === 'string' && part !== '') ? stored : undefined
  } catch {
    return undefined
  }
}

function noCredentials(sentence: string): CommandFailure {
  return new CommandFailure(sentence, exitCodes.authentication)
}

export function credentialsFile(): string {
  // Relative paths are ignored, so that every working directory uses the same file.
  const configured = process.env.XDG_CONFIG_HOME
  const folder = configured?.startsWith('/') ? configured : join(homedir(), '.config')
  return join(folder, 'penstock', 'credentials.json')
}

export function writeCredentials(credentials: Credentials): string {
  const file = credentialsFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writePrivateFile(file, `${JSON.stringify(credentials, null, 2)}\n`, 'replace')
  return file
}

/** False when there is no file. */
export function removeCredentials(): boolean {
  try {
    rmSync(credentialsFile())
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
