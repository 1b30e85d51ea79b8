import { readFileSync } from 'node:fs'

/** Of this program: package.json is as far from here in a checkout as in a package. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
