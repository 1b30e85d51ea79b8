import { readFileSync } from 'node:fs'

/** Version of this program. The relative path of package.json is the same in a checkout and in a package. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
