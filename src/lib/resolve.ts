// The addresses of host names. The system's own resolver waits in one of a few threads for as long as it likes and cannot be
// stopped, so that names whose servers keep silent would hold up all others. For names that users give we ask ourselves, in the
// system's order: the hosts file, then DNS with the search domains.
import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { asciiLowerCase } from './ascii-case.ts'

/** Gives the addresses of a name, and no more than an empty list or an error when there are none. Ends with the signal. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>

export const resolveBySystem: Resolve = async (name) => {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

export interface ResolverSettings {
  hostsFile: string
  configurationFile: string
  /** Those of the system unless told. */
  servers?: string[]
}

/** For one question to one server; a server is asked twice. */
const questionTimeoutMs = 1_000

export function makeResolve({ hostsFile, configurationFile, servers }: ResolverSettings): Resolve {
  return async (name, signal) => {
    const known = addressesInHosts(await readText(hostsFile), name)
    if (known.length > 0) return known
    const searched = searchDomains(await readText(configurationFile)).map((domain) => `${name}.${domain}`)
    // One of its own for each name, because stopping it stops all that it was asked.
    const resolver = new Resolver({ timeout: questionTimeoutMs, tries: 2 })
    if (servers) resolver.setServers(servers)
    const stop = (): void => resolver.cancel()
    signal.addEventListener('abort', stop, { once: true })
    try {
      for (const candidate of name.includes('.') ? [name, ...searched] : [...searched, name]) {
        if (signal.aborted) break
        const answers = await Promise.allSettled([resolver.resolve4(candidate), resolver.resolve6(candidate)])
        const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
        if (addresses.length > 0) return addresses
      }
      return []
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

export const resolveWithLimit = makeResolve({ hostsFile: '/etc/hosts', configurationFile: '/etc/resolv.conf' })

function addressesInHosts(text: string, name: string): string[] {
  return wordsOfLines(text).flatMap(([address = '', ...names]) =>
    names.some((known) => asciiLowerCase(known) === asciiLowerCase(name)) ? [address] : [],
  )
}

/** The last line that names any counts. */
function searchDomains(text: string): string[] {
  const [, ...domains] = wordsOfLines(text).findLast(([word]) => word === 'search' || word === 'domain') ?? []
  return domains.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '')
}

function wordsOfLines(text: string): string[][] {
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  )
}

/** A system without the file has nothing in it. */
async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
