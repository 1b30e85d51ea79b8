// Folders outside the work tree where test/real/install.sh installs servers. The folder name ends in the digest of the file that
// pins its content, so a changed pin uses another folder.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type Installable = 'kafka' | 'versitygw' | 'moto' | 'azurite'

/** File with the pin; install.sh uses the same names. */
const pins: Record<Installable, string> = {
  kafka: 'pom.xml',
  versitygw: 'go.mod',
  moto: 'requirements.txt',
  azurite: 'package-lock.json',
}

export function installedFolder(name: Installable): string {
  const digest = createHash('sha256').update(readPin(name)).digest('hex').slice(0, 12)
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'penstock-test-servers', `${name}-${digest}`)
  if (!existsSync(join(folder, 'complete'))) throw new Error(`${name} is missing: run "npm run test:real:install"`)
  return folder
}

/** The pinned version, by a pattern with one group. */
export function pinnedVersion(name: Installable, pattern: RegExp): string {
  const version = readPin(name).match(pattern)?.[1]
  if (version === undefined) throw new Error(`${pins[name]} has no version of ${name}`)
  return version
}

/** A program of a Debian package, which may have one of several paths. */
export function debianProgram(debianPackage: string, ...files: string[]): string {
  const found = files.find((file) => existsSync(file))
  if (found === undefined) {
    throw new Error(
      `${files.join(' or ')} is missing: run "apt-get install ${debianPackage}" or "npm run test:real:install"`,
    )
  }
  return found
}

function readPin(name: Installable): string {
  return readFileSync(join(import.meta.dirname, '..', pins[name]), 'utf8')
}
